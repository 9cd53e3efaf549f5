"""A stored run made visible again: its fleet, its groups, its next plan and what that costs, its clients' accuracies.

A store keeps settings, rounds and the newest checkpoint. Everything random in a run comes from (seed, round, purpose),
so the fleet and the plan are made again from these exactly as they were; nothing is trained. What cannot be made again
(a fleet that was an object, code that is not allowed) is told with its reason.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey.compare.fleets import Fleets
from covey.errors import BadData, CoveyError
from covey.execute.evaluate import LocalEvaluator
from covey.experiment import Experiment
from covey.experiment.assembly import assemble, make_fleet
from covey.experiment.settings import GIVEN
from covey.loop import Loop
from covey.network.price import Ledger, price
from covey.network.site import Site
from covey.plan import Plan, Train, clients
from covey.progress import Progress, check, unpack
from covey.registry import refuse_code
from covey.report.story import Story, plain_story
from covey.store import Store

LARGEST = 5000  # clients whose plan is priced and drawn
FAULTS = (CoveyError, LookupError, TypeError, ValueError, AttributeError)
"""What a state that somebody edited can do to an algorithm."""


def retrace(store: Store, run: str, fleets: Fleets | None = None, *, allow_code: bool = False) -> Story:
    """All that can be told of a run; `allow_code` where its settings may name code of a file."""
    record = store.get(run)
    told = plain_story(store, record)
    missing: dict[str, str] = {}
    try:
        if not allow_code:
            refuse_code(record.config, run)
        wanted = Experiment.again(record.config).model_copy(update={"executor": "local"})
        sites: list[Site] = []

        def keep(site: Site) -> Ledger:
            sites.append(site)
            return Ledger(site)

        fleet = make_fleet(wanted) if wanted.partition == GIVEN else (fleets or Fleets()).get(wanted)
        loop = assemble(wanted, fleet=fleet, make_meter=keep)
    except FAULTS as error:
        return replace(told, missing=dict.fromkeys(("labels", "groups", "plan", "network", "own"), str(error)))
    told = replace(told, labels=loop.fleet.labels)
    try:
        data = store.checkpoint(run).data
        check(data, size=loop.layout.size, clients=loop.fleet.clients, remembers=loop.ways.rule.remembers)
    except (BadData, ValueError) as error:
        return replace(told, missing=dict.fromkeys(("groups", "plan", "network", "own"), str(error)))
    progress = unpack({name: value for name, value in data.items() if name != "executor"})
    plan = _plan(loop, progress, missing)
    told = replace(told, plan=plan, plan_round=progress.round + 1, own=_own(loop, progress, missing))
    groups = _groups(progress.state.get("groups"), plan, loop.fleet.clients)
    if groups is None:
        missing["groups"] = "all clients train as one: there are no groups"
    told = replace(told, groups=groups)
    if plan is not None and sites:
        cost = price(plan, sites[0], progress.where, begin=progress.spent.get("simulated_seconds", 0.0), timeline=True)
        told = replace(told, price=cost, placement=sites[0].placement)
    elif not sites:
        missing["network"] = "the run was not timed on a network; --network star (or tree:5, fat-tree:10, …) does that"
    else:
        missing["network"] = missing["plan"]
    return replace(told, missing=missing)


def _plan(loop: Loop, progress: Progress, missing: dict[str, str]) -> Plan | None:
    """The plan of the round that comes next."""
    if loop.fleet.clients > LARGEST:
        missing["plan"] = f"the fleet has {loop.fleet.clients:,} clients, too many to draw"
        return None
    try:
        return loop.next_plan(progress)
    except FAULTS as error:
        missing["plan"] = f"it could not be made from the checkpoint ({error})"
        return None


def _own(loop: Loop, progress: Progress, missing: dict[str, str]) -> NDArray[np.float64] | None:
    assert loop.fleet.data is not None  # assembling refuses a fleet without
    own = LocalEvaluator(loop.layout, loop.fleet.data).own_accuracies(progress.models, progress.home)
    if not np.isfinite(own).any():
        missing["own"] = "no client keeps samples for a test of its own; test_fraction sets how many"
        return None
    return own


def _groups(kept: object, plan: Plan | None, count: int) -> list[list[int]] | None:
    """The groups that the run remembers, or those of its plan; None where all are one."""
    found: list[list[int]] = []
    if isinstance(kept, list) and kept:
        try:
            found = [[int(i) for i in members] for members in kept]
        except (TypeError, ValueError):
            found = []
        if any(not 0 <= i < count for members in found for i in members):
            found = []
    if not found and plan is not None:
        found = [sorted(members) for members in _together(plan)]
    found = [members for members in found if members]
    return found if len(found) > 1 else None


def _together(plan: Plan) -> list[set[int]]:
    """The clients of every node whose children all train."""
    if isinstance(plan, Train):
        return [{plan.client}]
    if all(isinstance(child, Train) for child in plan.children):
        return [clients(plan)]
    return [group for child in plan.children for group in _together(child)]
