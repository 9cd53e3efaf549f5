import numpy as np
import pytest
from tests.algorithms.tiny import close, fleet_of, mean, run, step

from covey.algorithms import FLHC, make_algorithm
from covey.grouping import group
from covey.plan import Forest, Mesh, clients

P, Q = (1.0, 0), (3.0, 1)
WARM = mean((2, step((0, 0), P)), (1, step((0, 0), Q)))


def hfl(**given):
    return make_algorithm("hfl", given)


def fleet():
    return fleet_of([P], [Q], [P])


def test_a_common_round_then_clusters_by_hand():
    # round 1 is FedAvg; P's updates are alike and Q's is not, so two clusters go on from the common model
    progress = run(FLHC(after=1, clusters=2), fleet())
    assert progress.home[0] == progress.home[2] != progress.home[1]
    assert all(close(model, WARM) for model in progress.models)
    progress = run(FLHC(after=1, clusters=2), fleet(), rounds=2)
    assert close(progress.models[progress.home[0]], step(WARM, P))
    assert close(progress.models[progress.home[1]], step(WARM, Q))


def test_hfl_averages_all_clusters_now_and_then():
    progress = run(hfl(after=1, clusters=2, global_every=2), fleet(), rounds=2)
    together = mean((2, step(WARM, P)), (1, step(WARM, Q)))
    assert len(progress.models) == 2
    assert all(close(model, together) for model in progress.models)
    # at the cloud, where the clusters' models are anyway: no more traffic than without
    assert progress.traffic == run(FLHC(after=1, clusters=2), fleet(), rounds=2).traffic
    progress = run(hfl(after=1, clusters=2, global_every=2), fleet(), rounds=3)
    assert close(progress.models[progress.home[1]], step(together, Q))


def test_plans():
    algorithm = hfl(after=1, global_every=3)
    state = {"clusters": [[0, 2], [1]]}
    rng = np.random.default_rng(0)
    assert isinstance(algorithm.plan(2, fleet(), state, rng), Forest)
    mixed = algorithm.plan(3, fleet(), state, rng)
    assert isinstance(mixed, Mesh)
    assert mixed.links == ((0, 1),)
    assert mixed.weights == "samples"


def test_a_threshold_decides_how_many_clusters():
    far = run(FLHC(after=1, metric="l2", threshold=100.0), fleet())
    near = run(FLHC(after=1, metric="l2", threshold=0.1), fleet())
    assert (len(far.models), len(near.models)) == (1, 2)


def test_all_train_in_the_round_whose_updates_are_clustered():
    algorithm, state = FLHC(after=3, sample=0.34), {"clusters": [[0, 1, 2]]}
    taken = [len(clients(algorithm.plan(r, fleet(), state, np.random.default_rng(r)))) for r in (1, 2, 3, 4)]
    assert taken == [1, 1, 3, 1]


@pytest.mark.parametrize("global_every", [0, 1])
def test_clusters_of_whom_nobody_is_sampled_keep_their_models(global_every):
    algorithm, state = FLHC(after=1, sample=0.34, global_every=global_every), {"clusters": [[0, 2], [1]]}
    for seed in range(10):
        plan = algorithm.plan(2, fleet(), state, np.random.default_rng(seed))
        (slot,), (child,) = plan.slots, plan.children
        assert clients(child) <= set(state["clusters"][slot])


def test_the_settings_of_the_clustering_reach_it(monkeypatch):
    asked = []

    def noted(name, labels, **given):
        asked.append(given)
        return group(name, labels, **given)

    monkeypatch.setattr("covey.algorithms.fl_hc.group", noted)
    run(FLHC(after=1, metric="l2", linkage="ward", clusters=99), fleet())
    assert (asked[0]["metric"], asked[0]["linkage"], asked[0]["groups"]) == ("l2", "ward", 3)
