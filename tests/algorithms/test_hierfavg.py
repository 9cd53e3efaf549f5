import numpy as np
from tests.algorithms.tiny import close, fleet_of, mean, run, step

from covey.algorithms import HierFAVG
from covey.fleet import Fleet
from covey.plan import Star, Train, edge

P, Q, R = (1.0, 0), (2.0, 1), (3.0, 0)


def test_a_round_by_hand():
    # edge 0 has P and Q, edge 1 has R twice; two averages at the edge, then one at the cloud by 1 + 1 and 2 samples
    fleet = fleet_of([P], [Q], [R, R], edge_of=[0, 0, 1])
    first = mean((1, step((0, 0), P)), (1, step((0, 0), Q)))
    # from (0, 0): P gives (.5, -.5), Q gives (-1, 1), so the edge's first mean is (-.25, .25)
    assert first == (-0.25, 0.25)
    second = mean((1, step(first, P)), (1, step(first, Q)))
    alone = step(step((0, 0), R, R), R, R)
    expected = mean((2, second), (2, alone))
    progress = run(HierFAVG(tau2=2), fleet)
    assert close(progress.models[0], expected)


def test_its_plan_and_traffic():
    fleet = fleet_of([P], [Q], [R, R], edge_of=[0, 0, 1])
    progress = run(HierFAVG(tau2=3), fleet, rounds=2)
    # 2 rounds x 3 averages x 3 clients between clients and edges, 2 rounds x 2 edges between edges and cloud
    assert progress.traffic[("client", "edge")] == progress.traffic[("edge", "client")] == 2 * 3 * 3
    assert progress.traffic[("edge", "cloud")] == progress.traffic[("cloud", "edge")] == 2 * 2


def test_one_edge_is_fedavg_of_the_same_epochs():
    from covey.algorithms import FedAvg

    fleet = fleet_of([P], [Q], [R, R])
    hier = run(HierFAVG(tau2=1), fleet, rounds=3)
    flat = run(FedAvg(), fleet, rounds=3)
    assert hier.models[0].equal(flat.models[0])


def test_a_plan_names_its_epochs_edges_and_sample():
    fleet = Fleet(np.ones((6, 1)), edge_of=[4, 4, 1, 1, 2, 2])
    plan = HierFAVG(tau1=3, tau2=2).plan(1, fleet, {}, np.random.default_rng(0))
    members = {1: (2, 3), 2: (4, 5), 4: (0, 1)}
    assert plan == Star(Star((Train(i, 3) for i in m), rounds=2, at=edge(e)) for e, m in members.items())
    for seed in range(8):  # one client is one edge's: the others sit the round out
        taken = HierFAVG(sample=1 / 6).plan(1, fleet, {}, np.random.default_rng(seed))
        assert [len(star.children) for star in taken.children] == [1]


def test_clients_may_send_to_the_cloud_themselves():
    fleet = fleet_of([P], [Q], [R, R], edge_of=[0, 0, 1])
    usual, direct = (run(HierFAVG(tau2=3, direct=direct), fleet, rounds=2) for direct in (False, True))
    assert close(usual.models[0], direct.models[0].tolist())
    # two of three averages at the edges, the third at the cloud, which all three clients get and send a model for
    assert direct.traffic[("client", "edge")] == 2 * 2 * 3
    assert direct.traffic[("client", "cloud")] == direct.traffic[("cloud", "client")] == 2 * 3
    flat = HierFAVG(tau2=1, direct=True).plan(1, fleet, {}, np.random.default_rng(0))
    assert {child.at.kind for child in flat.children if isinstance(child, Star)} == {"cloud"}
