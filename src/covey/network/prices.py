"""What the papers say a round costs, in closed form: the figures that the clock's count must come to.

FedAvg-IC: "Accurate and fast federated learning via IID and communication-aware grouping", Eq. 5. TornadoAggregate:
"Accurate and scalable federated learning via the ring-based architecture", App. B and Table 1, which count a model once
per aggregation and not its broadcast. IHC-FL: "Information-exchangeable hierarchical clustering for federated learning
with non-IID data", Eq. 1a. Group-FEL, Eq. 5. FedGSP, Eq. 15 to 17.

Departures: IHC-FL's (1a) counts a link between heads twice and its Fig. 1 once: here once, `both_ways` is the letter.
FedGSP's 567 Mbps repeat its 567 GFLOPS and are a setting here, in bytes per second, so its factor 8 is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from covey.errors import UnknownName
from covey.network.devices import Device
from covey.network.flows import FlowSimulator
from covey.network.topology import Network, Node

_MODELS_SENT: dict[str, Callable[[int, float, int], float]] = {
    # (clients |N|, groups |G|, tau2) -> models sent in one global round
    "STAR": lambda n, g, tau2: n,
    "RING": lambda n, g, tau2: 1,
    "STAR-stars": lambda n, g, tau2: n * tau2,
    "STAR-rings": lambda n, g, tau2: g * tau2,
    "RING-stars": lambda n, g, tau2: n / g * tau2,
    "RING-rings": lambda n, g, tau2: tau2,
    "stars": lambda n, g, tau2: n,
    "rings": lambda n, g, tau2: g,
}


def traffic(
    architecture: str, *, model_bytes: float, clients: int, rounds: int, groups: int = 1, group_rounds: int = 1
) -> float:
    """TornadoAggregate, App. B: bytes of aggregations and hand-overs in so many global rounds.

    `rounds` is tau_f, tau_c or tau_p, `group_rounds` tau2.

    >>> traffic("STAR-stars", model_bytes=4, clients=100, rounds=3, groups=5, group_rounds=10)  # M |N| tau2 tau_c
    12000.0
    """
    if architecture not in _MODELS_SENT:
        raise UnknownName("architecture", architecture, _MODELS_SENT)
    return float(model_bytes * rounds * _MODELS_SENT[architecture](clients, groups, group_rounds))


def interval_seconds(*, group_seconds: float, global_seconds: float, group_rounds: int) -> float:
    """FedAvg-IC, Eq. 5: communication in one global interval, d_group (tau2 - 1) + d_global."""
    return group_seconds * (group_rounds - 1) + global_seconds


def aggregation_seconds(
    network: Network, gatherings: Iterable[tuple[Sequence[Node], Node]], size: float, *, seed: int = 0
) -> float:
    """One aggregation on a network, FedAvg-IC's d_group (all groups at once) or d_global (one gathering of all).

    All members send `size` bytes to their server; a server that has heard all sends as much back to each.

    >>> from covey.network.topology import Link, star
    >>> hub = star(4, link=Link(10e6, 0.0))
    >>> aggregation_seconds(hub, [(hub.hosts[1:], hub.hosts[0])], 10e6)  # 3 x 10 MB in at 10 MB/s, and out again
    6.0
    """
    simulator = FlowSimulator(network, seed=seed)

    def gather(members: Sequence[Node], server: Node) -> None:
        missing = len(members)

        def heard(_: float) -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                for member in members:
                    simulator.start(server, member, size)

        for member in members:
            simulator.start(member, server, size, then=heard)

    for members, server in gatherings:
        gather(members, server)
    return simulator.run_until_idle()


def link_cost(
    costs: NDArray[np.float64], head_of: Sequence[int], links: Iterable[tuple[int, int]], *, both_ways: bool = False
) -> float:
    """IHC-FL, Eq. 1a: the costs of all links from a member to its head and between heads.

    `costs[i, j]` is the cost from node i to node j, `head_of[i]` the head of node i, itself where it is one.

    >>> link_cost(np.array([[0, 2.0, 3], [2, 0, 5], [3, 5, 0]]), [0, 0, 2], [(0, 2)])
    5.0
    """
    members = sum(float(costs[i, head]) for i, head in enumerate(head_of) if i != head)
    heads = sum(float(costs[a, b] + (costs[b, a] if both_ways else 0.0)) for a, b in links)
    return members + heads


def group_fel_cost(
    groups: Iterable[Sequence[int]],
    *,
    device: Device,
    group_rounds: int,
    epochs: int,
    flops: float = 0.0,
    operation: str = "secure-aggregation",
    rule: str = "sgd",
) -> float:
    """Group-FEL, Eq. 5: seconds of all clients of the sampled groups in one global round.

    `groups` holds the sample counts n_i of every group's clients; `group_rounds` is K, `epochs` E; `flops` per sample
    only count on a device without measured training.
    """
    return sum(
        group_rounds
        * (device.group_seconds(operation, len(group)) + device.train_seconds(n, flops=flops, epochs=epochs, rule=rule))
        for group in groups
        for n in group
    )


def fedgsp_compute_seconds(
    groups: Iterable[int],
    *,
    clients: int,
    samples: float,
    epochs: int = 1,
    kappa: float = 0.3,
    sample_flops: float = 96e6,
    merge_flops: float = 6.3e6,
    speed: float = 567e9,
) -> float:
    """FedGSP, Eq. 15: training along the chains and merging, over rounds with f(r) = `groups`."""
    return sum(
        sample_flops / speed * samples * epochs * clients / min(clients, f) + merge_flops / speed * (kappa * f - 1)
        for f in groups
    )


def fedgsp_traffic(*, rounds: int, clients: int, kappa: float = 0.3, model_bytes: float = 25.2e6) -> float:
    """FedGSP, Eq. 17: bytes between clients and group managers."""
    return 2 * kappa * clients * model_bytes * rounds


def fedgsp_communication_seconds(
    *,
    rounds: int,
    clients: int,
    kappa: float = 0.3,
    model_bytes: float = 25.2e6,
    rate_in: float = 567e6 / 8,
    rate_out: float = 567e6 / 8,
) -> float:
    """FedGSP, Eq. 16: the same bytes through the group managers' link, in and out at bytes per second."""
    return kappa * clients * model_bytes * rounds * (1 / rate_in + 1 / rate_out)
