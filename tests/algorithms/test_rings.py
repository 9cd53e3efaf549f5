import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from covey.algorithms.base import Outcome
from covey.algorithms.rings import evaluate_mean, samples_of, visited
from covey.fleet import Fleet


@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 9))
def test_a_pass_visits_everybody_once_and_chains_never_meet(length, laps, seed):
    nodes = list(range(length))
    chains = [visited(nodes, first=laps * length, count=length, chain=c, key=[seed]) for c in nodes]
    assert all(sorted(chain) == nodes for chain in chains)
    assert all(len(set(here)) == length for here in zip(*chains, strict=True))


@given(st.lists(st.integers(0, 2), min_size=1, max_size=8), st.integers(0, 3))
def test_rings_follow_the_sun(windows, chain):
    windows = np.array(windows)
    passed = visited(range(len(windows)), first=0, count=len(windows), chain=chain, key=[7], windows=windows)
    assert windows[passed].tolist() == sorted(windows)
    assert sorted(passed) == list(range(len(windows)))


def test_a_ring_is_reshuffled_after_a_pass():
    laps = {tuple(visited(range(6), first=6 * lap, count=6, key=[0])) for lap in range(5)}
    assert len(laps) == 5


def test_the_mean_of_chains_is_tested_and_chains_live_on():
    outcome = Outcome(1, Fleet(np.ones((3, 1))), [torch.tensor([1.0]), torch.tensor([4.0])], [], np.zeros(3, np.int64))
    evaluate_mean(outcome, 2)
    assert [m.item() for m in outcome.models] == [1.0, 4.0, (1.0 + 4.0) / 2]
    assert outcome.home.tolist() == [2, 2, 2]


def test_before_the_first_round_all_chains_are_the_initial_model():
    outcome = Outcome(0, Fleet(np.ones((2, 1))), [torch.tensor([3.0])], [], np.zeros(2, np.int64))
    evaluate_mean(outcome, 3)
    assert [m.item() for m in outcome.models] == [3.0] * 4


def test_nobody_with_samples_leaves_the_weights_to_the_star():
    assert samples_of([[0], [1]], Fleet(np.zeros((2, 1), dtype=int))) is None
    assert samples_of([[0], [1]], Fleet(np.array([[0], [2]]))) == [0, 2]


def test_chain_c_is_c_places_ahead():
    first, second = (visited(range(5), first=0, count=5, chain=c, key=[3]) for c in (0, 2))
    assert second == first[2:] + first[:2]
