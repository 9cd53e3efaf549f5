"""The secure mean as a merge: the plain mean, for whoever is missing; and what it refuses."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadPlan, BadValue
from covey.merge import CannotMerge, Gathering, Mean, Merges, Secure, make_merge, meets_clients
from covey.plan import Ring, Star, Train, edge


def secured(merge, models, weights, *, missing=(), start=None, key=1):
    counts: Counter[str] = Counter()
    start = torch.zeros(len(models[0])) if start is None else start
    members = tuple((j,) for j in range(len(models)))
    gathering = Gathering(
        members, start, key=key, weights=tuple(weights), count=lambda name, amount: counts.update({name: amount})
    )
    merging = merge.open(gathering)
    for member, (model, weight) in enumerate(zip(models, weights, strict=True)):
        if member not in missing:
            merging.add(member, model, weight)
    return merging.close(tuple(missing)), counts


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.5, 500), min_size=3, max_size=8), st.integers(0, 100), st.data())
def test_it_is_the_mean_of_those_who_answered(weights, seed, data):
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(20, generator=generator)
    models = [start + 0.1 * torch.randn(20, generator=generator) for _ in weights]
    most = (len(weights) - 1) // 2  # more than half have to answer
    missing = data.draw(st.sets(st.integers(0, len(weights) - 1), max_size=most))
    found, counts = secured(Secure(threshold=0.5), models, weights, missing=missing, start=start)
    here = [j for j in range(len(weights)) if j not in missing]
    mean = sum(weights[j] * models[j].double() for j in here) / sum(weights[j] for j in here)
    # a level is 16 / 2^29 at 7 clients; weights down to a thousandth of the largest make it as much coarser
    assert torch.allclose(found.double(), mean, atol=2e-4)
    assert counts["clipped_values"] == counts["refused_clients"] == 0


def test_updates_beyond_the_clip_are_clipped_and_counted():
    models = [torch.tensor([5.0, 0.0]), torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0])]
    found, counts = secured(Secure(clip=2.0), models, [1.0, 1.0, 1.0])
    assert torch.allclose(found, torch.tensor([1.0, 0.0]), atol=1e-6)  # (2 + 1 + 0) / 3
    assert counts["clipped_values"] == 1
    assert counts["secure_bytes"] > 3 * 4 * 4


def test_below_the_threshold_there_is_no_model():
    models = [torch.ones(3)] * 4
    with pytest.raises(CannotMerge, match="at least 3"):
        secured(Secure(), models, [1.0] * 4, missing=(0, 1))


def test_a_group_of_one_is_refused():
    with pytest.raises(CannotMerge, match="a group of 1 has nobody to hide among"):
        secured(Secure(), [torch.ones(3)], [1.0])


def test_a_client_that_claims_more_weight_than_the_plan_gives_it_is_refused():
    counted = Counter[str]()

    def count(name, amount):
        counted[name] += amount

    gathering = Gathering(((0,), (1,), (2,), (3,)), torch.zeros(1), weights=(1.0,) * 4, count=count)
    merging = make_merge("secure").open(gathering)
    for member in range(4):
        merging.add(member, torch.tensor([1.0]) if member else torch.tensor([-8.0]), 1.0 if member else 100.0)
    assert torch.allclose(merging.close(()), torch.ones(1))
    assert counted["refused_clients"] == 1


def test_seeded_sessions_repeat_to_the_bit():
    models = [torch.randn(50, generator=torch.Generator().manual_seed(j)) for j in range(5)]
    noisy = Secure(noise=1.0)
    once, again, other = (secured(noisy, models, [1.0] * 5, key=key)[0] for key in (1, 1, 2))
    assert torch.equal(once, again)
    assert not torch.equal(once, other)


def test_noise_is_shared_by_all_who_have_to_answer():
    """5 clients, 4 of which have to answer: everybody adds 1 / sqrt(4) of the noise; 5 together sqrt(5/4)."""
    models = [torch.zeros(4000)] * 5
    found, _ = secured(Secure(norm=2.0, noise=3.0), models, [7.0] * 5)
    deviation = 3.0 * 2.0 * np.sqrt(5 / 4) / 5
    assert abs(float(found.std()) / deviation - 1) < 0.05
    assert abs(float(found.mean())) < 0.1 * deviation


def test_with_noise_everybody_counts_alike_and_is_cut_to_the_norm():
    models = [torch.tensor([30.0, 40.0]), torch.zeros(2), torch.zeros(2)]
    found, _ = secured(Secure(norm=5.0, noise=1e-9), models, [1.0, 100.0, 100.0])
    assert torch.allclose(found, torch.tensor([1.0, 4 / 3]), atol=1e-3)  # (3, 4) / 3


def test_on_a_sparse_graph_it_is_the_mean_too():
    models = [torch.full((3,), float(j) / 10) for j in range(12)]
    for word in ("secure:neighbours=6", "secure:neighbours=log"):
        found, _ = secured(make_merge(word), models, [1.0] * 12, missing=(3,))
        assert torch.allclose(found, torch.full((3,), (66 - 3) / 110), atol=1e-5)


def test_two_neighbours_are_the_least():
    assert Secure(neighbours=2).neighbours == 2


def test_the_systems_own_randomness_gives_the_same_mean():
    models = [torch.tensor([0.5]), torch.tensor([1.5]), torch.tensor([1.0])]
    found, _ = secured(make_merge("secure:seeded=false"), models, [1.0] * 3)
    assert torch.allclose(found, torch.ones(1), atol=1e-6)


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("secure:clip=0", "clip"),
        ("secure:threshold=0.3", "threshold"),
        ("secure:threshold=1", "threshold"),
        ("secure:neighbours=3", "neighbours"),
        ("secure:neighbours=0", "neighbours"),
        ("secure:neighbours=few", "neighbours"),
        ("secure:noise=-1", "noise"),
        ("secure:noise=1,norm=0", "norm"),
        ("secure:noise=1,delta=0", "delta"),
        ("secure:noise=1,levels=1024", "levels"),
        ("secure+flame", "cannot compare"),
        ("krum+secure", "cannot compare"),
    ],
)
def test_settings_that_mean_nothing_are_refused(word, fault):
    with pytest.raises(BadValue, match=fault):
        make_merge(word)


def test_it_is_the_merge_of_clients_and_the_mean_that_of_groups():
    group = Star([Train(0), Train(1)], at=edge(0))
    chains = Star([Ring([Train(0), Train(1)]), Ring([Train(2), Train(3)])])
    assert meets_clients(group)
    assert meets_clients(chains)
    assert not meets_clients(Star([group, group]))
    merges = Merges("secure")
    assert isinstance(merges(None, True), Secure)
    assert merges(None, False) == Mean()
    both = Merges("median", clients="secure")
    assert (both(None, True), both(None, False)) == (Secure(), make_merge("median"))
    assert Merges("ida")(None, True) == Merges("ida")(None, False) == make_merge("ida")


def test_a_star_that_names_another_merge_would_show_what_is_hidden():
    with pytest.raises(BadPlan, match="'ida', which would see"):
        Merges("secure")("ida", True)
    assert Merges("secure")("ida", False) == make_merge("ida")
