"""How long one aggregation takes on a network: the delays d_group and d_global of FedAvg-IC.

"Accurate and Fast Federated Learning via IID and Communication-Aware Grouping", Eq. 5. What the papers' prices come to
in closed form is in `covey.theory`; this is the simulated figure that goes into them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from covey.network.flows import FlowSimulator
from covey.network.routing import Ties
from covey.network.topology import Network, Node


def aggregation_seconds(
    network: Network,
    gatherings: Iterable[tuple[Sequence[Node], Node]],
    size: float,
    *,
    ties: Ties = "spread",
    seed: int = 0,
) -> float:
    """Seconds of one aggregation: d_group with the groups as gatherings, d_global with one gathering of all.

    `gatherings`: members and their server, of every one. All members send `size` bytes to their server; a server that
    has heard all sends as much back to each. `ties` and `seed` say which of several shortest paths is taken, as in
    `Router`.

    >>> from covey.network.topology import Link, star
    >>> hub = star(4, link=Link(10e6, 0.0))
    >>> aggregation_seconds(hub, [(hub.hosts[1:], hub.hosts[0])], 10e6)  # 3 x 10 MB in at 10 MB/s, and out again
    6.0
    """
    simulator = FlowSimulator(network, ties=ties, seed=seed)

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
