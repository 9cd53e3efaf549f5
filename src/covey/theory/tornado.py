"""TornadoAggregate's comparison of eight architectures: how far a model can stray and how many models travel.

"TornadoAggregate: Accurate and Scalable Federated Learning via the Ring-Based Architecture", Table 1, Eq. 15 to 21 and
appendix B.

Every bound has one form, rho/beta (a h(tau1) + b h(tau1 tau2)) with h(t) = (eta beta + 1)^t - 1, and every count of
models has one form, senders x T / tau1. Architectures differ in a, b and the senders.

What departs: STAR, RING, stars and rings have a single interval tau, which is `tau1` here, with `tau2` = 1. Appendix B
leaves four architectures to the reader, and chains; `senders` follows Table 1, and a ring with C chains sends C times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from covey.errors import BadValue, UnknownName
from covey.grouping.divergence import Divergences
from covey.theory.check import count, positive
from covey.theory.fedavg_ic import drift


def _nothing(_: Divergences) -> float:
    return 0.0


@dataclass(frozen=True)
class Architecture:
    """One row of Table 1.

    `bound` and `scalability` are the table's formulas as text. `local` is the divergence by which models part for tau1
    steps, `group` the one by which they part for tau1 tau2 steps; both are 0 where a ring is taken for an unbiased
    estimate of training on all its data, which makes the bound approximate. `senders(nodes, groups)` is how many nodes
    send a model every tau1 steps. A `nested` architecture has group steps within a global step; a `ringed` one can have
    chains.
    """

    bound: str
    scalability: str
    senders: Callable[[int, int], float]
    local: Callable[[Divergences], float] = _nothing
    group: Callable[[Divergences], float] = _nothing
    nested: bool = False
    ringed: bool = False


ARCHITECTURES: Mapping[str, Architecture] = {
    "star": Architecture("D h(tau)", "|N|", lambda n, g: n, local=lambda v: v.D),
    "ring": Architecture("0, approximately", "1", lambda n, g: 1, ringed=True),
    "star-stars": Architecture(
        "Delta h(tau1 tau2) + delta h(tau1)",
        "|N|",
        lambda n, g: n,
        local=lambda v: v.delta,
        group=lambda v: v.Delta,
        nested=True,
    ),
    "star-rings": Architecture(
        "D h(tau1 tau2), approximately", "|G|", lambda n, g: g, group=lambda v: v.D, nested=True, ringed=True
    ),
    "ring-stars": Architecture(
        "D h(tau1), approximately", "|N|/|G|", lambda n, g: n / g, local=lambda v: v.D, nested=True, ringed=True
    ),
    "ring-rings": Architecture("0, approximately", "1", lambda n, g: 1, nested=True, ringed=True),
    "stars": Architecture("delta h(tau)", "|N|", lambda n, g: n, local=lambda v: v.delta),
    "rings": Architecture("0, approximately", "|G|", lambda n, g: g, ringed=True),
}
"""Table 1, in its order; `bound` is without the factor rho/beta that all have."""


def tornado_bound(
    architecture: str, measured: Divergences, *, tau1: int, tau2: int = 1, eta: float, beta: float, rho: float
) -> float:
    """How much worse than training on all data at one place the loss can be within a global interval.

    `architecture`: a name in `ARCHITECTURES`. Eq. 15 is STAR-stars, 16 STAR, 17 stars, 19 STAR-rings, 21 RING-stars; it
    is 0 for the rest. `measured`: delta, Delta and D; `tau1`, `tau2`: epochs per group step and group steps per global
    step; `eta`: learning rate; `beta`: smoothness; `rho`: Lipschitz constant. For stars and rings, "all data" is that
    of the group.

    >>> measured = Divergences(delta=1, Delta=2, D=3)
    >>> tornado_bound("star-stars", measured, tau1=1, tau2=2, eta=1, beta=1, rho=1)  # 1 (2 - 1) + 2 (4 - 1)
    7.0
    >>> tornado_bound("star", measured, tau1=2, eta=1, beta=1, rho=1)  # 3 (4 - 1)
    9.0
    """
    row = _row(architecture)
    count(tau1=tau1, tau2=tau2)
    positive(rho=rho)
    if tau2 != 1 and not row.nested:
        raise BadValue("tau2", tau2, f"1: {architecture} has one interval, tau1")
    local = drift(row.local(measured), tau1, eta=eta, beta=beta)
    return rho * (local + drift(row.group(measured), tau1 * tau2, eta=eta, beta=beta))


def tornado_traffic(architecture: str, *, nodes: int, groups: int = 1, steps: int, tau1: int, chains: int = 1) -> float:
    """How many models travel in `steps` epochs (appendix B, in models instead of bytes), one way.

    `architecture`: a name in `ARCHITECTURES`; `nodes`: |N|; `groups`: |G|, of equal size; `steps`: T; `tau1`: epochs
    between two transfers; `chains`: C.

    One way: a model sent to where models meet counts once and so does one handed on along a ring; what is sent back
    down is not counted, so both ways of STAR, STAR-stars and stars are twice this. How many group steps a global step
    has does not matter: a global step takes the place of a group step.

    >>> tornado_traffic("star-stars", nodes=100, groups=10, steps=1000, tau1=10)
    10000.0
    >>> tornado_traffic("star-rings", nodes=100, groups=10, steps=1000, tau1=10)
    1000.0
    """
    row = _row(architecture)
    count(nodes=nodes, groups=groups, steps=steps, tau1=tau1, chains=chains)
    if groups > nodes:
        raise BadValue("groups", groups, f"at most {nodes}, the number of nodes")
    if chains != 1 and not row.ringed:
        raise BadValue("chains", chains, f"1: {architecture} has no ring")
    return row.senders(nodes, groups) * chains * steps / tau1


def _row(architecture: str) -> Architecture:
    if architecture not in ARCHITECTURES:
        raise UnknownName("architecture", architecture, ARCHITECTURES)
    return ARCHITECTURES[architecture]
