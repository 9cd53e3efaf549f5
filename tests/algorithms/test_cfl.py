import numpy as np
import pytest
import torch
from tests.algorithms.tiny import close, fleet_of, mean, run, step

from covey.algorithms import CFL, FedAvg
from covey.algorithms.base import Outcome
from covey.experiment import Experiment
from covey.experiment.assembly import assemble

P, Q = (1.0, 0), (1.0, 1)


def test_a_split_by_hand():
    # from (0, 0) P moves by (.5, -.5) and Q by (-.5, .5): the mean of two each is 0, every update is .71 long
    fleet = fleet_of([P], [Q], [P], [Q])
    progress = run(CFL(after=0, eps1=0.1, eps2=0.5), fleet)
    assert len(progress.models) == 2
    assert progress.home[0] == progress.home[2] != progress.home[1] == progress.home[3]
    assert close(progress.models[progress.home[0]], (0.5, -0.5))
    assert close(progress.models[progress.home[1]], (-0.5, 0.5))
    # the next round trains each half on its own
    progress = run(CFL(after=0, eps1=0.1, eps2=0.5), fleet, rounds=2)
    assert close(progress.models[progress.home[0]], step((0.5, -0.5), P))
    assert close(progress.models[progress.home[1]], step((-0.5, 0.5), Q))


def test_halves_take_their_own_mean_by_samples():
    big = (2.0, 0)
    fleet = fleet_of([P], [big, big], [Q], [Q], [Q])
    progress = run(CFL(after=0, eps1=10, eps2=0.5), fleet)
    half = mean((1, step((0, 0), P)), (2, step((0, 0), big, big)))
    assert close(progress.models[progress.home[0]], half)


@pytest.mark.parametrize(
    "gate",
    [
        {"eps1": 0.1, "eps2": 0.8},  # no update is longer than .71
        {"eps1": 0.0, "eps2": 0.5},  # no mean is shorter than 0
        {"eps1": 0.1, "eps2": 0.5, "after": 1},  # only after round 1
        {"eps1": 0.1, "eps2": 0.5, "gamma": 1.0},  # sqrt((1 - cos) / 2) = 1 across the halves, not above 1
    ],
)
def test_gates(gate):
    fleet = fleet_of([P], [Q], [P], [Q])
    assert len(run(CFL(**{"after": 0, **gate}), fleet).models) == 1


def test_two_do_not_split_and_an_open_gate_lets_four():
    assert len(run(CFL(after=0, eps1=0.1, eps2=0.5), fleet_of([P], [Q])).models) == 1
    fleet = fleet_of([P], [Q], [P], [Q])
    assert len(run(CFL(after=0, eps1=0.1, eps2=0.5, gamma=0.9), fleet).models) == 2


def test_never_splitting_is_fedavg():
    settings = {"data": "digits", "clients": 6, "samples": 30, "model": "softmax-regression", "rounds": 3}
    found = []
    for algorithm in (CFL(eps1=0.0), FedAvg()):
        loop = assemble(Experiment.make({**settings, "mode": "stacked"}), algorithm=algorithm)
        found.append(loop.go(loop.begin())["model_sha256"])
    assert found[0] == found[1]


def test_a_cluster_with_somebody_missing_waits():
    fleet = fleet_of([P], [Q], [P], [Q])
    models = [torch.zeros(2)]
    updates = {0: torch.tensor([0.5, -0.5]), 1: torch.tensor([-0.5, 0.5]), 2: torch.tensor([0.5, -0.5])}
    for missing, clusters in ((None, 2), (3, 1)):
        given = updates if missing else {**updates, 3: updates[1]}
        outcome = Outcome(1, fleet, list(models), models, np.zeros(4, np.int64), updates=given)
        state = CFL(after=0, eps1=0.1, eps2=0.5).learn({"clusters": [[0, 1, 2, 3]]}, outcome, np.random.default_rng(0))
        assert len(state["clusters"]) == len(outcome.models) == clusters


def learned(updates, *, sizes=None, clusters=None, before=None, home=None, **settings):
    """The state and the outcome after a round with these updates."""
    count = len(sizes) if sizes is not None else 4
    fleet = fleet_of(*[[P] * (sizes[i] if sizes is not None else 1) for i in range(count)])
    before = before or [torch.zeros(2)]
    given = {i: torch.tensor(update) for i, update in updates.items()}
    outcome = Outcome(1, fleet, list(before), before, np.array(home or [0] * count), updates=given)
    algorithm = CFL(**{"after": 0, "eps1": 0.1, "eps2": 0.5, **settings})
    state = algorithm.learn({"clusters": clusters or [list(range(count))]}, outcome, np.random.default_rng(0))
    return state, outcome


def test_an_absentee_keeps_a_cluster_together_though_the_others_would_split():
    # 0 and 1 against 2 and 3, as long as 4 is there too; the mean that stands in for 4 must not decide
    there = {0: [0.5, -0.5], 1: [0.5, -0.5], 2: [-0.5, 0.5], 3: [-0.5, 0.5]}
    assert learned(there, sizes=[1] * 5)[0]["clusters"] == [[0, 1, 2, 3, 4]]
    assert len(learned({**there, 4: [0.5, -0.5]}, sizes=[1] * 5, eps1=0.2)[0]["clusters"]) == 2


def test_the_mean_update_is_weighted_by_samples():
    # plainly (.5 - .5 + .5 - .5) / 4 = 0; by samples (9 x .5 - .5 + .5 - .5) / 12 = 4/12, twice: .47 long
    updates = {0: [0.5, -0.5], 1: [-0.5, 0.5], 2: [0.5, -0.5], 3: [-0.5, 0.5]}
    assert len(learned(updates, sizes=[9, 1, 1, 1], eps1=0.4)[0]["clusters"]) == 1
    assert len(learned(updates, sizes=[9, 1, 1, 1], eps1=0.5)[0]["clusters"]) == 2


def test_the_longest_update_counts_and_must_be_longer():
    updates = {0: [3.0, 0.0], 1: [-3.0, 0.0], 2: [0.1, 0.0], 3: [-0.1, 0.0]}
    assert len(learned(updates, eps2=2.9)[0]["clusters"]) == 2
    assert len(learned(updates, eps2=3.0)[0]["clusters"]) == 1


def test_a_later_cluster_splits_into_its_own_clients_and_from_its_own_model():
    # cluster 1, of clients 1, 3, 4 and 5 on model (10, 10), splits; cluster 0 has agreed and stays
    updates = {0: [0.6, 0.0], 2: [0.6, 0.0], 1: [0.5, -0.5], 3: [0.5, -0.5], 4: [-0.5, 0.5], 5: [-0.5, 0.5]}
    before = [torch.zeros(2), torch.tensor([10.0, 10.0])]
    state, outcome = learned(
        updates, sizes=[1] * 6, clusters=[[0, 2], [1, 3, 4, 5]], before=before, home=[0, 1, 0, 1, 1, 1]
    )
    assert sorted(map(sorted, state["clusters"])) == [[0, 2], [1, 3], [4, 5]]
    for members, model in ((state["clusters"][1], outcome.models[1]), (state["clusters"][2], outcome.models[2])):
        sign = 1 if 1 in members else -1
        assert close(model, (10 + sign * 0.5, 10 - sign * 0.5))
    assert [state["clusters"][outcome.home[i]].count(i) for i in range(6)] == [1] * 6
