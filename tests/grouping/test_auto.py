import numpy as np
import pytest
from tests.grouping.test_same_groups import fleet

from covey.errors import BadValue
from covey.grouping import group
from covey.grouping.auto import choose_groups
from covey.grouping.measures import hops_of
from covey.theory import divergences


def rng(seed=0):
    return np.random.default_rng(seed)


def places(count, labels, far=9.0):
    """Every place holds one client of every label; 1 hop inside a place, `far` across."""
    counts = np.tile(30 * np.eye(labels, dtype=int), (count, 1))
    at = np.repeat(np.arange(count), labels)
    return counts, np.where(at[:, None] == at, 1.0, far) * (1 - np.eye(len(at)))


@pytest.mark.parametrize(("count", "labels"), [(2, 6), (4, 5), (7, 4)])
def test_the_number_that_was_planted_is_found(count, labels):
    # with one group a place, groups are like the whole (Delta = 0) and near: both fewer and more groups are worse
    counts, hops = places(count, labels)
    choice = choose_groups(counts, method="kmedoids", distances=hops, repeats=5, rng=rng())
    assert choice.groups == count


def test_the_score_by_hand():
    # two clients of one label each, in one group: delta = D, Delta = 0, d_group = d_global
    choice = choose_groups([[5, 0], [0, 5]], method="random", distances=[[0, 3], [3, 0]], rng=rng(), price=2.0)
    (only,) = choice.candidates
    assert choice.groups == only.groups == 1
    assert only.delta == pytest.approx(np.sqrt(0.5))  # (1, 0) and (0, 1) from (1/2, 1/2)
    assert only.Delta == 0
    assert only.divergence == pytest.approx(0.1 / (1.1**5 - 1))  # h(1) / h(5)
    assert only.communication == 1
    assert only.score == pytest.approx(only.divergence + 2.0 * 1)


@pytest.mark.parametrize("method", ["cov", "icg", "emd-iid", "random"])
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_near_the_best_of_an_exhaustive_scan(fleet, method, alpha):
    labels = fleet(48, 10, alpha)
    choice = choose_groups(labels, method=method, repeats=2, rng=rng(3))
    scores = [scored(labels, method, k) for k in range(1, 25)]
    assert len(choice.candidates) < 20
    lowest, highest = min(scores), max(scores)
    assert scores[choice.groups - 1] <= lowest + 0.1 * (highest - lowest)


def scored(labels, method, count):
    """The score of one number alone, on the draws that `choose_groups` makes."""
    price = 1.0
    shares, sizes = labels / labels.sum(axis=1, keepdims=True), labels.sum(axis=1)
    seeds = rng(3).integers(2**63, size=2).tolist()
    divergence = communication = 0.0

    def seconds(g):  # of all clients of a group in one secure aggregation, Group-FEL's polynomial
        return g * (0.01629675 * g**2 - 0.02373668 * g + 0.55442565)

    for seed in seeds:
        found = group(method, labels, groups=count, rng=rng(seed))
        measured = divergences(shares, sizes, found.groups)
        h1, h5 = 0.1, 1.1**5 - 1
        divergence += (measured.delta * h1 + measured.Delta * h5) / (measured.D * h5) / 2
        ours = sum(seconds(g) for g in found.sizes.tolist())
        communication += (4 * ours / seconds(len(labels)) + 1) / 5 / 2
    return divergence + price * communication


def test_dearer_communication_asks_for_more_groups(fleet):
    labels = fleet(24)
    at = np.arange(24) // 4
    hops = np.where(at[:, None] == at, 1.0, 6.0) * (1 - np.eye(24))
    numbers = [
        choose_groups(labels, method="kmedoids", distances=hops, price=price, rng=rng()).groups
        for price in (0.0, 0.5, 4.0)
    ]
    assert numbers[0] == 1  # a single group is the whole fleet
    assert numbers == sorted(numbers)
    assert numbers[2] > numbers[0]


def test_it_helps_to_train():
    """The least error at equal hops; clients have the loss sum_j a_ij (w_j - c_ij)^2 / 2, a and c by their label."""
    counts, hops = places(4, 6)
    chosen = choose_groups(counts, method="kmedoids", distances=hops, repeats=5, rng=rng()).groups
    errors = {k: error_at_equal_hops(counts, hops, k) for k in (1, 2, chosen, 8, 12)}
    assert chosen == 4
    assert errors[chosen] == min(errors.values())
    assert errors[chosen] < 0.5 * max(errors.values())


def error_at_equal_hops(counts, hops, groups, *, budget=12_000, tau2=5, rate=0.2):
    """Distance to the best common model once that many hops are spent, each counted twice: models go and come."""
    draw = rng(5)
    kinds = counts.argmax(axis=1)
    curve = 0.2 + 2.0 * draw.random((counts.shape[1], 8))[kinds]
    centre = draw.normal(size=(counts.shape[1], 8))[kinds]
    best = (curve * centre).sum(axis=0) / curve.sum(axis=0)
    found = group("kmedoids", counts, groups=groups, distances=hops, rng=rng())
    flat = hops.sum(axis=0).min()
    interval = 2 * (hops_of(found, hops) * (tau2 - 1) + flat)
    model = np.full(8, 3.0)
    for _ in range(int(budget // interval)):
        models = np.tile(model, (len(counts), 1))
        for _ in range(tau2):
            models = models - rate * curve * (models - centre)
            for members in found:
                models[list(members)] = models[list(members)].mean(axis=0)
        model = models.mean(axis=0)
    return float(np.linalg.norm(model - best))


def test_methods_that_cannot_make_every_number_are_asked_for_what_they_can(fleet):
    labels, edges = fleet(24), np.repeat([0, 1, 2], 8)
    assert choose_groups(labels, method="edge", edges=edges, rng=rng()).groups == 3
    assert choose_groups(labels, method="cov", edges=edges, rng=rng()).groups >= 3
    with pytest.raises(BadValue, match=r"^edges is None"):
        choose_groups(labels, method="edge", rng=rng())


def test_no_number_makes_groups_too_small(fleet):
    choice = choose_groups(fleet(30), method="random", min_size=10, price=100.0, rng=rng())
    assert [c.groups for c in choice.candidates] == [1, 2, 3]


@pytest.mark.parametrize("labels", [[[3, 4]], [[1, 0]] * 6, np.zeros((6, 2), dtype=int)])
def test_odd_fleets_get_a_number(labels):
    choice = choose_groups(labels, method="kmedoids", rng=rng())
    assert 1 <= choice.groups <= max(1, len(labels) // 2)


@pytest.mark.parametrize("how", [{"price": -1}, {"repeats": 0}, {"min_size": 0}, {"min_size": 9}])
def test_options_out_of_range_are_refused(how):
    with pytest.raises(BadValue, match=f"^{next(iter(how))} is "):
        choose_groups(np.ones((8, 2), int), method="random", rng=rng(), **how)


def test_the_same_numbers_are_tried_and_found_from_version_to_version():
    given = fleet()
    labels = given.pop("labels")
    found = choose_groups(
        labels, method="kmedoids", distances=given["distances"], updates=given["updates"], rng=np.random.default_rng(3)
    )
    assert found.groups == 10
    told = [(c.groups, c.delta, c.Delta, c.divergence, c.communication, c.score) for c in found.candidates]
    expected = [
        [1, 1.706, 0.0, 0.164, 1.0, 1.164],
        [2, 1.706, 0.055, 0.196, 0.968, 1.164],
        [3, 1.699, 0.109, 0.227, 0.931, 1.157],
        [4, 1.7, 0.148, 0.25, 0.898, 1.147],
        [6, 1.678, 0.244, 0.304, 0.827, 1.131],
        [7, 1.665, 0.299, 0.335, 0.795, 1.13],
        [8, 1.607, 0.378, 0.375, 0.729, 1.104],
        [9, 1.603, 0.401, 0.389, 0.707, 1.096],
        [10, 1.532, 0.468, 0.421, 0.665, 1.086],
        [11, 1.485, 0.545, 0.462, 0.638, 1.1],
        [12, 1.417, 0.627, 0.503, 0.604, 1.107],
    ]
    np.testing.assert_allclose(told, expected, atol=1e-3)
