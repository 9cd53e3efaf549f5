"""What it costs to send a model from client to client: hops on a network, or costs drawn as IHC-FL does.

hops                  hops on the run's network; without one, on a fat-tree with a pod an edge
hops:jellyfish:20,4   hops on that network
similar               IHC-FL, Section IV-A: 1 to 1.5 between clients with similar labels, 1 to 2 between others
plane                 as IHC-FL's Fig. 1: as far as points of a plane are apart, here at random in a square of side 10
"""

from __future__ import annotations

from itertools import count

import numpy as np
from numpy.typing import NDArray

from covey.errors import BadValue
from covey.fleet import Fleet
from covey.network.placement import place
from covey.network.spec import network_from
from covey.seeds import generator

Floats = NDArray[np.float64]

MOST = 16_000  # clients; a table of 16,000 by 16,000 numbers takes 2 GB
WORDS = "hops, hops:NETWORK such as hops:jellyfish:20,4, similar, or plane"
SIDE = 10.0  # of the square


def distances_from(word: str, fleet: Fleet, *, network: str | None = None, seed: int = 0) -> Floats:
    """The table that `word` names, clients by clients; `network` is the run's, `seed` seeds what is drawn.

    >>> fleet = Fleet(np.ones((4, 2)), edge_of=[0, 0, 1, 1])
    >>> distances_from("hops", fleet)[0].tolist()  # itself, a client of its edge, two of the other
    [0.0, 2.0, 6.0, 6.0]
    """
    if fleet.clients > MOST:
        raise BadValue("clients", fleet.clients, f"at most {MOST:,} where distances are {word!r}: one number per pair")
    name, _, rest = word.partition(":")
    if name == "hops":
        return hops(fleet, rest or network or "fat-tree")
    if word == "similar":
        return similar_costs(fleet.labels, generator(seed, "distances"))
    if word == "plane":
        points = SIDE * generator(seed, "distances").random((fleet.clients, 2))
        apart: Floats = np.linalg.norm(points[:, None] - points[None], axis=-1)
        return apart
    raise BadValue("distances", word, WORDS)


def hops(fleet: Fleet, network: str) -> Floats:
    """Hops between every two clients on that network; a `fat-tree` without a number has room for all, a pod an edge."""
    edge_of = [fleet.edge(i) for i in range(fleet.clients)]
    if network == "fat-tree":
        pods = next(p for p in count(max(edge_of) + 1) if p * ((p + 1) // 2) ** 2 >= fleet.clients)
        network = f"fat-tree:{pods}"
    return place(network_from(network, edge_of), edge_of).hops().astype(np.float64)


def similar_costs(labels: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Costs that are the same both ways, uniform in 1 to 1.5 between similar clients and in 1 to 2 between others.

    Two clients are similar whose label shares are no farther apart (1 - cos) than the farthest client is from the
    client most like it.

    >>> costs = similar_costs(np.array([[9, 0], [9, 1], [0, 9], [1, 9]]), np.random.default_rng(0))
    >>> costs.shape, bool((costs == costs.T).all()), bool((costs[[0, 2], [1, 3]] <= 1.5).all())
    ((4, 4), True, True)
    """
    rows = labels / np.maximum(np.linalg.norm(labels, axis=1, keepdims=True), 1)
    apart = 1 - rows @ rows.T
    np.fill_diagonal(apart, np.inf)
    similar = apart <= apart.min(axis=1).max() + 1e-12
    drawn = np.triu(1 + rng.random(similar.shape) * np.where(similar, 0.5, 1.0), 1)
    costs: Floats = drawn + drawn.T
    return costs
