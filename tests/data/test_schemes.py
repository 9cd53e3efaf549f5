from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.data import dirichlet, iid, natural, normal_sizes, power_law, schemes, shards
from covey.errors import BadValue


def rng(seed=0):
    return np.random.default_rng(seed)


def labels(classes=10, each=100):
    return rng(9).permutation(np.repeat(np.arange(classes), each))


def counts(y, parts, classes=10):
    return np.stack([np.bincount(y[part], minlength=classes) for part in parts])


@given(st.integers(1, 200), st.data())
def test_iid_uses_everything_in_equal_parts(samples, data):
    clients = data.draw(st.integers(1, samples))
    parts, _ = iid()(np.zeros(samples, np.int64), clients=clients, rng=rng())
    sizes = [len(part) for part in parts]
    assert sum(sizes) == samples
    assert max(sizes) - min(sizes) <= 1


def test_normal_sizes_have_the_mean_and_spread_asked_for():
    parts, _ = normal_sizes(60, 10)(np.zeros(40_000, np.int64), clients=500, rng=rng())
    sizes = np.array([len(part) for part in parts])
    # standard errors: 10 / sqrt(500) = 0.45 of the mean, 10 / sqrt(1000) = 0.32 of the deviation
    assert abs(sizes.mean() - 60) < 4 * 0.45
    assert abs(sizes.std() - 10) < 4 * 0.32


@given(st.floats(1, 5), st.floats(0.1, 50))
def test_normal_sizes_leave_nobody_empty(mean, sd):
    parts, _ = normal_sizes(mean, sd)(np.zeros(600, np.int64), clients=60, rng=rng())
    assert all(len(part) >= 1 for part in parts)


def test_normal_sizes_that_ask_for_too_much_are_refused():
    with pytest.raises(
        BadValue, match=r"partition is 'normal:60,1'; .* 100 samples suffice for; 2 clients would take 1\d\d"
    ):
        normal_sizes(60, 1)(np.zeros(100, np.int64), clients=2, rng=rng())


@pytest.mark.parametrize("alpha", [0.001, 0.1, 1.0, 100.0])
def test_dirichlet_gives_equal_sizes_and_a_mix_of_its_own(alpha):
    y = labels()
    parts, _ = dirichlet(alpha)(y, clients=30, rng=rng())
    assert {len(part) for part in parts} == {1000 // 30}
    shares = counts(y, parts) / 33
    # E sum_c p_c^2 for p ~ Dir(alpha) in m classes is (alpha + 1) / (m alpha + 1): 0.99 for 0.001, 0.10 for 100
    concentration = (shares**2).sum(axis=1).mean()
    assert abs(concentration - (alpha + 1) / (10 * alpha + 1)) < 0.12


def test_small_alpha_few_labels():
    y = labels()
    held = [
        (counts(y, dirichlet(alpha)(y, clients=30, rng=rng())[0]) > 0).sum(axis=1).mean() for alpha in (0.01, 0.3, 10)
    ]
    assert held[0] < held[1] < held[2]


def test_dirichlet_sizes_in_a_range():
    y = labels(each=2000)
    parts, _ = dirichlet(0.1, min=20, max=80)(y, clients=300, rng=rng())
    sizes = np.array([len(part) for part in parts])
    assert sizes.min() >= 20
    assert sizes.max() <= 80
    # mean (20 + 80) / 2 = 50, deviation (80 - 20) / 6 = 10, standard error 10 / sqrt(300) = 0.58
    assert abs(sizes.mean() - 50) < 4 * 0.58


def test_one_size_for_all_when_the_range_is_a_point():
    parts, _ = dirichlet(0.1, min=7, max=7)(labels(), clients=20, rng=rng())
    assert {len(part) for part in parts} == {7}


@given(st.floats(0.001, 10), st.integers(1, 40), st.integers(0, 5))
def test_dirichlet_always_fills_everybody(alpha, clients, seed):
    y = labels(classes=4, each=10)
    parts, _ = dirichlet(alpha)(y, clients=clients, rng=rng(seed))
    assert [len(part) for part in parts] == [40 // clients] * clients


@pytest.mark.parametrize(
    ("partition", "sentence"),
    [
        (dirichlet(1, min=51), "min is 51; allowed is at most 50 for 20 clients of 1000 samples"),
        (dirichlet(1, min=100, max=100), "partition is 'dirichlet:1,min=100,max=100'.* 20 clients would take 2000"),
    ],
)
def test_dirichlet_that_asks_for_too_much_is_refused(partition, sentence):
    with pytest.raises(BadValue, match=sentence):
        partition(labels(), clients=20, rng=rng())


def test_shards_hold_few_labels():
    y = labels()
    parts, _ = shards(2)(y, clients=50, rng=rng())
    # 100 shards of 10 samples, none crosses a class of 100: at most 2 labels a client
    assert {len(part) for part in parts} == {20}
    assert (counts(y, parts) > 0).sum(axis=1).max() == 2


def test_shards_use_everything():
    parts, _ = shards(3)(labels(each=101), clients=7, rng=rng())
    assert sorted(np.concatenate(parts).tolist()) == list(range(1010))


def test_more_shards_than_samples_may_leave_somebody_empty():
    with pytest.raises(BadValue, match="partition is 'shards'; allowed is one that leaves no client empty, but"):
        shards(2)(np.zeros(10, np.int64), clients=10, rng=rng(3))


OWNERS = np.array([4, 2, 4, 9, 2, 4])


def test_natural_gives_everybody_their_own():
    parts, _ = natural()(np.zeros(6, np.int64), clients=None, owners=OWNERS, rng=rng())
    assert [part.tolist() for part in parts] == [[1, 4], [0, 2, 5], [3]]


def test_natural_takes_the_first_or_some():
    y = np.zeros(6, np.int64)
    first, _ = natural("first")(y, clients=2, owners=OWNERS, rng=rng())
    assert [part.tolist() for part in first] == [[1, 4], [0, 2, 5]]
    picked = {tuple(part[0] for part in natural()(y, clients=2, owners=OWNERS, rng=rng(seed))[0]) for seed in range(20)}
    assert picked == {(1, 0), (1, 3), (0, 3)}


def test_natural_needs_owners_and_enough_of_them():
    with pytest.raises(BadValue, match="partition is 'natural'; allowed is for data stored by owner only"):
        natural()(np.zeros(6, np.int64), clients=2, rng=rng())
    with pytest.raises(BadValue, match="clients is 4; allowed is at most 3, the owners in this data"):
        natural()(np.zeros(6, np.int64), clients=4, owners=OWNERS, rng=rng())
    with pytest.raises(BadValue, match="edges is 4; allowed is at most 3, one client each"):
        natural()(np.zeros(6, np.int64), clients=None, edges=4, owners=OWNERS, rng=rng())


@given(st.integers(0, 99), st.integers(1, 60), st.integers(1, 6), st.sampled_from([0.01, 0.3, 5]), st.integers(1, 70))
def test_drawing_for_many_clients_at_once_is_drawing_for_one_after_another(seed, clients, classes, alpha, block):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 15, clients)
    left = np.bincount(rng.integers(0, classes, sizes.sum() + seed % 7), minlength=classes)
    mixes = rng.dirichlet(np.full(classes, alpha), clients)
    one_by_one, rest, steady = [], left.copy(), np.random.default_rng(seed)
    for mix, size in zip(mixes, sizes, strict=True):
        one_by_one.append(schemes._draw(mix, size, rest, steady))
        rest -= one_by_one[-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schemes, "MOST_AT_ONCE", block)
        found = schemes._draws(mixes, sizes, left, np.random.default_rng(seed))
    np.testing.assert_array_equal(found, one_by_one)


def test_even_sizes_as_group_fels_authors_draw_them():
    y = np.repeat(np.arange(10), 6000)
    parts, _ = dirichlet(0.5, min=20, max=200, sizes="uniform")(y, clients=400, rng=np.random.default_rng(0))
    assert 20 <= parts.sizes.min() < 25
    assert 195 < parts.sizes.max() <= 200
    sd = (200 - 20) / np.sqrt(12)  # of an even distribution; the normal one has (200 - 20) / 6 = 30
    assert parts.sizes.std() == pytest.approx(sd, rel=0.1)
    with pytest.raises(BadValue, match="sizes is 'uniform'; allowed is normal unless max is given"):
        dirichlet(0.5, sizes="uniform")
    with pytest.raises(BadValue, match="sizes is 'even'"):
        dirichlet(0.5, max=9, sizes="even")


def test_few_clients_hold_most_of_a_power_law():
    y = np.repeat(np.arange(10), 600)
    parts, _ = power_law(2)(y, clients=100, rng=np.random.default_rng(0))
    labels = np.stack([np.bincount(y[part], minlength=10) for part in parts])
    assert labels.sum() == 6000
    assert (np.flatnonzero(labels[7]) == [7, 8]).all()
    assert (np.flatnonzero(labels[19]) == [0, 9]).all()  # the last class and the first
    assert labels[labels > 0].min() >= 5
    largest = np.sort(parts.sizes)[::-1]
    assert largest[:10].sum() > 0.3 * 6000  # a tenth of the clients has a third of the samples
    with pytest.raises(BadValue, match="least is 40; allowed is at most 30 for 20 holders of a class"):
        power_law(2, least=40)(y, clients=100, rng=np.random.default_rng(0))
    with pytest.raises(BadValue, match="labels is 11; allowed is at most 10"):
        power_law(11)(y, clients=100, rng=np.random.default_rng(0))
