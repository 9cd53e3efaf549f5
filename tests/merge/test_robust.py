"""Merges that bear attackers: each by hand, and a mean that one client cannot drag away."""

from collections import Counter

import pytest
import torch

from covey.errors import BadValue
from covey.merge import CannotMerge, Gathering, make_merge
from covey.merge.flame import majority
from covey.merge.kept import expected
from covey.merge.krum import krum

ROBUST = ["median", "trimmed-mean", "krum", "geometric-median", "flame"]


def merged(word, models, *, start=None, weights=None, trained=None):
    """The merged model of lists of numbers, and what the merge counted."""
    rows = [torch.tensor(model, dtype=torch.float32) for model in models]
    counts: Counter[str] = Counter()
    start = torch.zeros_like(rows[0]) if start is None else torch.tensor(start)
    members = tuple((j,) for j in range(len(rows)))
    gathering = Gathering(members, start, key=5, trained=trained, count=lambda k, n: counts.update({k: n}))
    merging = make_merge(word).open(gathering)
    for member, row in enumerate(rows):
        merging.add(member, row, 1.0 if weights is None else weights[member])
    return merging.close(()), counts


def test_median_of_an_odd_and_an_even_number():
    assert merged("median", [[1.0, 5.0], [2.0, 4.0], [9.0, -9.0]])[0].tolist() == [2.0, 4.0]
    assert merged("median", [[1.0], [2.0], [4.0], [90.0]])[0].tolist() == [3.0]  # (2 + 4) / 2


def test_median_takes_no_weights():
    assert merged("median", [[1.0], [2.0], [3.0]], weights=[1.0, 1.0, 1e9])[0].tolist() == [2.0]


def test_trimmed_mean_leaves_out_the_ends_of_every_value():
    models = [[0.0, 50.0], [1.0, 4.0], [2.0, 5.0], [3.0, 6.0], [100.0, -50.0]]
    found, counts = merged("trimmed-mean:0.2", models)
    assert found.tolist() == [2.0, 5.0]  # (1 + 2 + 3) / 3, (4 + 5 + 6) / 3
    assert not counts["unguarded_merges"]


@pytest.mark.parametrize("word", ["trimmed-mean:0.2", "krum:0.2"])
def test_a_merge_too_small_for_its_share_says_that_nobody_is_kept_out(word):
    found, counts = merged(word, [[0.0], [3.0], [6.0], [9.0]])  # 0.2 x 4 is less than one
    assert found.tolist() == [4.5]
    assert counts["unguarded_merges"] == 1


def test_krum_by_hand():
    """Five models of which one may be an attacker's: the sum of squared distances to the 5 - 1 - 2 = 2 nearest."""
    models = torch.tensor([[0.0], [1.0], [1.5], [2.0], [9.0]])
    assert krum(models, 1, keep=1) == [2]  # 0.5^2 + 0.5^2 is the smallest
    found, counts = merged("krum:0.2", models.tolist())
    assert found.tolist() == [(0 + 1 + 1.5 + 2) / 4]
    assert counts["rejected_models"] == 1


def test_krum_refuses_what_its_guarantee_does_not_cover():
    with pytest.raises(CannotMerge, match="krum needs 7 models where 2 may be attackers'; 6 came in"):
        merged("krum:0.4", [[float(j)] for j in range(6)])


def test_clip_scales_long_updates_down():
    """From start (1, 0): updates (3, 4) of length 5 and (0, 1) of length 1, clipped to 1, weights 1 and 3."""
    found, counts = merged("clip:1.0", [[4.0, 4.0], [1.0, 1.0]], start=[1.0, 0.0], weights=[1.0, 3.0])
    # (0.6 x 1 + 0 x 3) / 4, (0.8 x 1 + 1 x 3) / 4
    assert torch.allclose(found, torch.tensor([1.0 + 0.15, 0.95]))
    assert counts["clipped_models"] == 1


def test_clip_to_the_median_length_and_buffers_as_they_are():
    found, counts = merged("clip", [[1.0, 7.0], [2.0, 8.0], [100.0, 9.0]], trained=1)
    assert torch.allclose(found, torch.tensor([(1 + 2 + 2) / 3, 8.0]))
    assert counts["clipped_models"] == 1


def test_geometric_median_of_a_triangle():
    """The point from which the corners (0, 0), (4, 0), (2, 3) are seen at 120 degrees: (2, 2 / sqrt(3))."""
    found, _ = merged("geometric-median", [[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
    assert torch.allclose(found, torch.tensor([2.0, 2 / 3**0.5]), atol=1e-3)


def test_geometric_median_takes_weights():
    found, _ = merged("geometric-median", [[0.0], [1.0], [2.0]], weights=[5.0, 1.0, 1.0])
    assert abs(float(found)) < 1e-3  # more than half of the weight is at 0


def directions(count, spread, seed=0):
    """Models of 50 values that all point nearly the same way."""
    noise = torch.randn(count, 50, generator=torch.Generator().manual_seed(seed))
    return torch.ones(count, 50) + spread * noise


def test_flame_keeps_the_majority_that_points_one_way():
    models = torch.cat([directions(6, 0.1), -directions(3, 0.1, seed=1)])
    kept = majority(models)
    assert set(kept) <= set(range(6))
    assert len(kept) >= 5


def test_flame_clips_to_the_median_and_averages_who_is_kept():
    """Lengths sqrt(50) x (1, 1, 1, 1, 10): the fifth points the same way and is cut to the length of the others."""
    models = [[1.0] * 50] * 4 + [[10.0] * 50]
    found, counts = merged("flame:noise=0", models)
    assert torch.allclose(found, torch.ones(50), atol=1e-5)
    assert counts["rejected_models"] <= 2


def test_flame_adds_noise_of_the_median_length():
    models = directions(5, 0.01).tolist()
    plain, noisy = (merged(word, models)[0] for word in ("flame:noise=0", "flame:noise=0.1"))
    median = torch.tensor(models).norm(dim=1).median()
    assert 0.7 < float((noisy - plain).std() / (0.1 * median)) < 1.4
    assert torch.equal(noisy, merged("flame:noise=0.1", models)[0])  # the same merge draws the same noise


def test_flame_on_updates_sees_what_models_hide():
    """Models far from the origin all point the same way; their updates do not."""
    start = [100.0] * 50
    updates = torch.cat([directions(6, 0.3), -directions(2, 0.3, seed=1)])
    models = (torch.tensor(start) + updates).tolist()
    found, counts = merged("flame:noise=0,of=updates", models, start=start)
    assert counts["rejected_models"] >= 2
    assert float((found - 100).mean()) > 0.8


def test_flame_averages_buffers_of_those_it_keeps_as_they_are():
    """Parameters in two columns, a buffer in the third; the fourth model points elsewhere and is left out."""
    models = [[1.0, 0.0, 6.0], [1.0, 0.0, 7.0], [1.0, 0.0, 8.0], [0.0, -1.0, 900.0]]
    found, counts = merged("flame:noise=0", models, trained=2)
    assert torch.allclose(found, torch.tensor([1.0, 0.0, 7.0]))
    assert counts["rejected_models"] == 1
    noisy, _ = merged("flame:noise=0.5", models, trained=2)
    assert noisy[2] == found[2]
    assert (noisy[:2] != found[:2]).all()


def test_flame_takes_no_weights():
    models = directions(5, 0.2).tolist()
    assert torch.equal(merged("flame", models, weights=[1.0, 2.0, 3.0, 4.0, 1e9])[0], merged("flame", models)[0])


def test_flame_clips_to_the_median_of_all_and_not_of_those_it_keeps():
    """Lengths 1, 2, 3 point one way and 4, 5 another: the median of all is 3, so that nobody who is kept is cut."""
    models = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [0.0, -4.0], [0.0, -5.0]]
    assert merged("flame:noise=0", models)[0].tolist() == [2.0, 0.0]


def test_a_model_of_nothing_but_zeros_points_nowhere_and_breaks_nothing():
    assert majority(torch.tensor([[1.0, 0.0], [1.0, 0.1], [1.0, 0.05], [0.0, 0.0]])) == [0, 1, 2]


def test_where_no_majority_points_one_way_all_are_kept():
    around = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    assert majority(torch.tensor(around)) == [0, 1, 2, 3]


def test_krum_looks_at_parameters_and_takes_no_weights():
    models = [[0.0, 900.0], [0.1, 0.0], [0.2, 0.0], [0.3, 0.0], [9.0, 0.0]]
    found, _ = merged("krum:0.2", models, weights=[1.0, 1.0, 1.0, 1.0, 1e9], trained=1)
    assert torch.allclose(found, torch.tensor([0.15, 225.0]))


def test_krum_keeps_no_more_than_there_are():
    models = torch.tensor([[0.0], [1.0], [1.5], [2.0], [9.0]])
    assert krum(models, 1, keep=9) == [0, 1, 2, 3, 4]
    assert krum(models, 1, keep=2) == [1, 2]
    assert merged("krum:share=0.2,keep=1", models.tolist())[0].tolist() == [1.5]


def test_krum_of_a_few_looks_at_one_neighbour_at_least():
    assert krum(torch.tensor([[0.0], [5.0], [5.5]]), 1) == [1, 2]


def test_trimmed_mean_takes_no_weights():
    models = [[0.0], [1.0], [2.0], [3.0], [100.0]]
    assert merged("trimmed-mean:0.2", models, weights=[1.0, 1.0, 1.0, 1e9, 1.0])[0].tolist() == [2.0]


def test_geometric_median_looks_at_parameters_and_merges_buffers_with_the_same_weights():
    """On a line two models at 0 outweigh one at 6; their buffers 1 and 3 count alike, the third hardly."""
    found, _ = merged("geometric-median", [[0.0, 1.0], [0.0, 3.0], [6.0, 900.0]], trained=1)
    assert torch.allclose(found, torch.tensor([0.0, 2.0]), atol=0.01)


def test_a_share_of_models_is_not_lost_to_rounding():
    assert expected(0.29, 100, Gathering()) == 29  # 0.29 x 100 is 28.999999999999996
    assert expected(0.2, 14, Gathering()) == 2


def test_clip_counts_nobody_who_is_just_as_long_as_allowed():
    found, counts = merged("clip:5.0", [[3.0, 4.0], [0.0, 0.0]])
    assert found.tolist() == [1.5, 2.0]
    assert not counts["clipped_models"]


@pytest.mark.parametrize("word", ROBUST)
def test_one_client_cannot_drag_the_merge_away(word):
    honest = directions(9, 0.1)
    attacked = torch.cat([honest, torch.full((1, 50), -1000.0)])
    found, _ = merged(word, attacked.tolist())
    assert float((found - honest.mean(dim=0)).abs().max()) < 0.3
    mean, _ = merged("mean", attacked.tolist())
    assert float((mean - honest.mean(dim=0)).abs().max()) > 90


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("trimmed-mean:0.5", "share"),
        ("krum:0", "share"),
        ("krum:keep=-1", "keep"),
        ("clip:-1", "norm"),
        ("flame:-0.1", "noise"),
        ("flame:of=weights", "of"),
        ("geometric-median:0", "steps"),
        ("geometric-median:smoothing=0", "smoothing"),
        ("geometric-median:smoothing=1", "smoothing"),
        ("geometric-median:tolerance=1.5", "tolerance"),
    ],
)
def test_settings_that_mean_nothing_are_refused(word, fault):
    with pytest.raises(BadValue, match=fault):
        make_merge(word)
