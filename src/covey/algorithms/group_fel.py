"""Group-FEL: edges form balanced groups, the cloud samples groups by how balanced they are.

Liu et al., "Group Formation and Sampling in Group-based Hierarchical Federated Learning", Algorithm 1. Symbols: K is
`group_rounds`, E `local_epochs`, MinGS `min_size`, MaxCoV `max_cov`, S the share `sample` of the groups.
With other groupings and uniform sampling it is the frame of the paper's baselines, which are registered below.

SHARE's grouping does not control sizes and is asked for as many groups as MinGS allows; all others are asked for MinGS.
With `drop` groups below MinGS are left out, as in the authors' code; without it nobody is.

What departs: lines 8 to 16 hand on x_E, x_K and x_T where the letter names x_{E-1} and so on. Groups are drawn without
replacement, as the authors do; Eq. 4 is unbiased only with it (`replacement`; who is drawn twice trains once and counts
twice). Eq. 4's weights add up to one only on average; they are applied to the groups' updates, x + sum w (x_g - x),
since as a sum of models (`unbiased-models`) they would scale the model itself. An edge with fewer than MinGS clients is
one group.
"""

from __future__ import annotations

from collections import Counter
from inspect import signature
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, settings
from covey.errors import BadValue, RunFailed
from covey.fleet import Fleet
from covey.grouping import GROUPINGS, group, missing, options
from covey.grouping.measures import cov_of
from covey.plan import Star, Train, edge
from covey.sampling import SAMPLINGS, Floats, group_odds, sample_groups

Members = list[list[int]]
Aggregation = Literal["plain", "unbiased", "unbiased-models", "stabilised"]
UNSIZED = ("kldg",)  # groupings that would no longer be themselves with a least size
LARGEST = 1000.0  # an update times more than this is no step any more


@ALGORITHMS.register("group-fel", paper="Group-FEL")
@settings
class GroupFEL(Algorithm):
    """Balanced groups at the edges, sampled by their balance; each averages K times, then the cloud averages."""

    sketch: ClassVar[str] = "Star(Star(Train))"

    grouping: Annotated[str, Field(description="how every edge groups its clients")] = "cov"
    min_size: Annotated[int, Field(ge=1, description="least clients of a group (MinGS)")] = 5
    max_cov: Annotated[
        float | None, Field(ge=0, description="CoV at which cov stops growing a group (MaxCoV); 1 unless given")
    ] = None
    explore: Annotated[
        float | None, Field(ge=0, description="lambda of qcid: how evenly the first clients are drawn; 10 unless given")
    ] = None
    drop: Annotated[
        bool, Field(description="leave out groups below MinGS, as the authors do, and close them early")
    ] = False
    sampling: Annotated[str, Field(description="how the cloud draws groups")] = "esrcov"
    sample: Annotated[float, Field(gt=0, le=1, description="share of the groups that take part in a round")] = 0.2
    replacement: Annotated[bool, Field(description="draw groups with replacement")] = False
    aggregation: Annotated[Aggregation, Field(description="by samples, by Eq. 4 (of updates or models), by Eq. 39")] = (
        "plain"
    )
    group_rounds: Annotated[int, Field(ge=1, description="rounds of a group in a global round (K)")] = 5
    local_epochs: Annotated[int | None, Field(ge=1, description="local epochs (E); the run's unless given")] = None
    regroup: Annotated[int, Field(ge=0, description="rounds between regroupings; 0 is never")] = 0

    def __post_init__(self) -> None:
        SAMPLINGS.entry(self.sampling)
        for name, value in self._extras().items():
            if name not in options(self.grouping):
                raise BadValue(name, value, f"a setting of other groupings than {self.grouping!r}")

    def plan(self, round: int, fleet: Fleet, state: State, rng: np.random.Generator) -> Star:
        """Sample groups; each averages K times at its edge, then the cloud averages the groups."""
        groups: Members = state["groups"]
        odds = group_odds(cov_of([fleet.labels[g].sum(axis=0) for g in groups]), self.sampling)
        count = max(1, int(self.sample * len(groups) + 0.5))
        drawn = Counter(sample_groups(odds, count, rng, replacement=self.replacement))
        stars = [group_star(groups[k], fleet, self.group_rounds, self.local_epochs) for k in drawn]
        samples = np.array([times * fleet.sizes[groups[k]].sum() for k, times in drawn.items()])
        if self.aggregation == "plain":
            return Star(stars, weights=samples.tolist() if self.replacement else None)
        with np.errstate(divide="ignore"):  # a group without samples has the weight 0
            logs = np.log(samples / fleet.sizes.sum()) - odds[list(drawn)] - np.log(count)
        return self._corrected(stars, logs, round)

    def _corrected(self, stars: list[Star], logs: Floats, round: int) -> Star:
        """Weights n_g / (n p_g S), which is Eq. 4, or these over their sum, which is Eq. 39.

        They come as logarithms, since 1 / p_g may be larger than any number.
        """
        if self.aggregation == "stabilised":
            from scipy.special import softmax  # here, for it takes half a second to import

            return Star(stars, weights=softmax(logs).tolist())
        if logs.max() > np.log(LARGEST):
            raise RunFailed(
                f"round {round}: by Eq. 4 the update of a group that was unlikely to be sampled would be multiplied by "
                f"10^{logs.max() / np.log(10):.0f}; set aggregation to plain or stabilised, or sampling to rcov"
            )
        return Star(stars, weights=np.exp(logs).tolist(), merge="updates" if self.aggregation == "unbiased" else "sum")

    def start(self, fleet: Fleet, rng: np.random.Generator) -> State:
        """Form groups, unless the grouping has to wait for the clients' gradients."""
        return {"groups": [] if self._waits() else self._form(fleet, rng)}

    def learn(self, state: State, outcome: Outcome, rng: np.random.Generator) -> State:
        """Form groups anew where the time has come."""
        due = outcome.round > 0 and self.regroup > 0 and outcome.round % self.regroup == 0
        if state["groups"] and not due:
            return state
        gradients = None
        if self._waits():
            gradients = outcome.gradients()
            outcome.traffic += Counter({("client", "edge"): outcome.fleet.clients})
        return {"groups": self._form(outcome.fleet, rng, gradients)}

    def _waits(self) -> bool:
        return "updates" in missing(self.grouping, {})

    def _form(self, fleet: Fleet, rng: np.random.Generator, gradients: NDArray[np.float32] | None = None) -> Members:
        return form_groups(self.grouping, fleet, self.min_size, rng, gradients=gradients, **self._extras())

    def _extras(self) -> dict[str, float]:
        """The options of the grouping that were given."""
        given = {"max_cov": self.max_cov, "explore": self.explore, "drop": self.drop or None}
        return {name: value for name, value in given.items() if value is not None}

    def parts(self) -> dict[str, str]:
        """The cost of Eq. 5 is counted, with secure aggregation as the group operation."""
        return {"prices": "cifar-secure"}


def form_groups(
    grouping: str,
    fleet: Fleet,
    min_size: int,
    rng: np.random.Generator,
    *,
    gradients: NDArray[np.float32] | None = None,
    **extras: Any,
) -> Members:
    """Every edge groups its own clients; unless the fleet knows their distances, all are two hops apart.

    Groups from a file are as they are, and have to lie inside edges.
    """
    if grouping.startswith("file:"):
        return _inside_edges(grouping, fleet, rng)
    groups: Members = []
    near = "distances" in signature(GROUPINGS[grouping]).parameters
    by_number = grouping in UNSIZED and not extras.get("drop")
    for members in map(np.array, fleet.by_edge):
        least = min(min_size, len(members))
        size: dict[str, Any] = {"groups": len(members) // least} if by_number else {"min_size": least}
        found = group(
            grouping,
            fleet.labels[members],
            **size,
            rng=rng,
            edges=np.zeros_like(members),
            sizes=fleet.sizes[members],
            distances=_between(members, fleet) if near else None,
            updates=None if gradients is None else gradients[members],
            **extras,
        )
        groups += [members[list(inside)].tolist() for inside in found]
    return groups


def _inside_edges(grouping: str, fleet: Fleet, rng: np.random.Generator) -> Members:
    groups = [list(members) for members in group(grouping, fleet.labels, rng=rng, names=fleet.called)]
    for k, members in enumerate(groups):
        if len({fleet.edge(i) for i in members}) > 1:
            two = f"group {k + 1}, with {fleet.called[members[0]]} and clients of another edge"
            raise BadValue("grouping", two, "groups inside edges, as covey group --within-edges forms them")
    return groups


def _between(members: NDArray[np.int64], fleet: Fleet) -> Floats:
    if fleet.distances is None:
        return 2 - 2 * np.eye(len(members))
    return fleet.distances[np.ix_(members, members)]


def group_star(members: list[int], fleet: Fleet, rounds: int, epochs: int | None) -> Star:
    """One group: its clients train, their edge averages, again and again."""
    return Star((Train(i, epochs) for i in members), rounds=rounds, at=edge(fleet.edge(members[0])))


ALGORITHMS.add(
    "ouea",
    GroupFEL,
    summary="OUEA's grouping in Group-FEL's frame: clusters of similar clients are dealt over the groups.",
    paper="Mhaisen et al., OUEA; Group-FEL",
    settings={"grouping": "cdg", "sampling": "uniform"},
    fixed=("grouping",),
)
ALGORITHMS.add(
    "share",
    GroupFEL,
    summary="SHARE's grouping in Group-FEL's frame: the next client is the one that least raises KL to even labels.",
    paper="Deng et al., SHARE; Group-FEL",
    settings={"grouping": "kldg", "sampling": "uniform"},
    fixed=("grouping",),
)
ALGORITHMS.add(
    "fed-cbs",
    GroupFEL,
    summary="Fed-CBS's sampling in Group-FEL's frame: groups are drawn anew every round, with odds for balance.",
    paper="Zhang et al., Fed-CBS; Group-FEL",
    settings={"grouping": "qcid", "sampling": "uniform", "regroup": 1, "explore": 1.0},
    fixed=("grouping",),
)
