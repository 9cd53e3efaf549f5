"""The grouping playground: a fleet from a CSV or a built-in one, a grouping with its settings, and what comes of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from covey.errors import BadData, BadValue, CoveyError, UnknownName
from covey.grouping.measures import cov_of
from covey.grouping.table import ClientTable, read_clients
from covey.registry import refuse_code
from covey.report.bars import label_bars

MOST_CLIENTS = 20_000
MOST_SECONDS = 15.0
KNEE_CLIENTS = 400  # beyond, the cost by least size would take too long to be seen at once
SHOWN = 200  # groups that are listed


class Built(BaseModel):
    """A fleet on built-in data."""

    model_config = ConfigDict(extra="forbid")

    clients: int = Field(50, ge=2, le=2000)
    partition: str = Field("dirichlet:0.1", max_length=60)
    edges: int = Field(1, ge=1, le=100)
    seed: int = Field(0, ge=0, le=10**9)


class Asked(BaseModel):
    """What to group, and how."""

    model_config = ConfigDict(extra="forbid")

    csv: str | None = None
    fleet: Built = Field(default_factory=lambda: Built.model_validate({}))
    method: str = Field("cov", max_length=60)
    groups: int | Literal["auto"] | None = None
    min_size: int | None = Field(None, ge=1)
    max_size: int | None = Field(None, ge=1)
    within_edges: bool | None = None
    seed: int = Field(0, ge=0, le=10**9)
    epsilon: float | None = Field(None, gt=0)
    prices: Literal["cifar-secure"] | None = "cifar-secure"


def methods() -> list[str]:
    """The groupings that need nothing but labels, sizes and edges come first."""
    from covey.grouping import GROUPINGS

    return list(GROUPINGS.names)


def regroup(asked: Asked) -> dict[str, Any]:
    """Group, measure and draw."""
    from covey.cli.group_job import Job

    if asked.method not in methods():
        raise UnknownName("grouping", asked.method, methods())
    fleet = _fleet(asked)
    if len(fleet.names) > MOST_CLIENTS:
        raise BadValue("clients", len(fleet.names), f"at most {MOST_CLIENTS:,} here; covey group takes a million")
    job = Job(
        fleet=fleet,
        min_size=asked.min_size,
        max_size=asked.max_size,
        groups=None if asked.groups is None else str(asked.groups),
        within_edges=asked.within_edges,
        distances=None,
        updates=None,
        chosen={},
        epsilon=asked.epsilon,
        seed=asked.seed,
    )
    if (expected := job.seconds(asked.method)) > MOST_SECONDS:
        raise BadValue(
            "grouping", asked.method, f"one that is done in {MOST_SECONDS:g} s; this takes about {expected:.0f}"
        )
    result = job.run(asked.method)
    groups = result.grouping.groups
    sums = result.grouping.sums(fleet.labels)
    names = [f"{k} ({len(members)})" for k, members in enumerate(groups)]
    return {
        "clients": len(fleet.names),
        "before": label_bars(fleet.labels, fleet.names, what="clients", label_names=fleet.label_names).svg(),
        "after": label_bars(sums, names, what="groups", label_names=fleet.label_names, by_evenness=True).svg(),
        "cov_before": float(np.mean(cov_of(fleet.labels))),
        "figures": result.figures,
        "cost": _cost(asked, job, result),
        "groups": [[fleet.names[i] for i in members[:SHOWN]] for members in groups[:SHOWN]],
        "left_out": [fleet.names[i] for i in result.grouping.left_out[:SHOWN]],
    }


def _fleet(asked: Asked) -> ClientTable:
    if asked.csv is None:
        refuse_code({"partition": asked.fleet.partition}, "the page")
        from covey.data import load_fleet

        made = load_fleet(
            "digits",
            clients=asked.fleet.clients,
            partition=asked.fleet.partition,
            edges=asked.fleet.edges,
            seed=asked.fleet.seed,
        )
        edges = np.array([made.edge(i) for i in range(made.clients)]) if asked.fleet.edges > 1 else None
        names = [str(i) for i in range(made.clients)]
        return ClientTable(names, tuple(str(j) for j in range(made.classes)), made.labels, edges)
    with tempfile.TemporaryDirectory(prefix="covey-") as folder:
        path = Path(folder) / "upload.csv"
        path.write_text(asked.csv, encoding="utf-8", newline="")
        try:
            return read_clients(path)
        except BadData as error:
            raise BadData(str(error).replace(str(path), "the file")) from None


def _cost(asked: Asked, job: Any, result: Any) -> dict[str, Any] | None:
    """What secure aggregation costs these groups, and where there is time, what other least sizes would cost."""
    if asked.prices is None:
        return None
    from covey.cli.group_cost import group_cost, seconds
    from covey.profile import make_prices

    found: dict[str, Any] = {"seconds": seconds(result.grouping, make_prices(asked.prices)), "by_min_size": []}
    if len(job.fleet.names) <= KNEE_CLIENTS and job.seconds(asked.method) < 0.3:
        try:
            found = group_cost(result.grouping, asked.prices, job.formed(asked.method))
        except CoveyError as error:  # a handful of clients has no choice of sizes
            found["why"] = str(error)
    return found
