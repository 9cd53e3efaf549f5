"""What is compared where it is not runs: groupings, group operations, prices of rounds, bounds.

Each takes the settings of one row and a seed, and gives figures by column, and a curve where there is one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from covey.compare.fleets import Fleets
from covey.errors import BadValue, UnknownName
from covey.experiment import Experiment
from covey.seeds import generator

if TYPE_CHECKING:
    from covey.fleet import Fleet
    from covey.grouping import Grouping

SHORT = 2.0  # seconds; a grouping that took less is timed again, since the first one of a process loads libraries
Settings = Mapping[str, Any]
Figures = tuple[dict[str, Any], list[dict[str, Any]]]


def measured(work: str, settings: Settings, seed: int, fleets: Fleets | None = None) -> Figures:
    """The figures of one row, and its curve; `fleets` keeps what was read before."""
    works: dict[str, Callable[[Settings, int, Fleets], Figures]] = {
        "groupings": groupings,
        "groupops": groupops,
        "prices": prices,
        "bounds": bounds,
    }
    return works[work](settings, seed, fleets or Fleets())


def groupings(settings: Settings, seed: int, fleets: Fleets) -> Figures:
    """The groups of a fleet: how even, how near one another, how long they took; one point of the curve a group.

    Settings are those of a fleet, `grouping`, `groups`, `min_size`, `max_size`, and the grouping's own options. Where a
    grouping needs updates, or with `gradients`, they are the clients' gradients at the initial model, or after
    `warm_up` rounds of FedAvg.
    """
    from covey.grouping import group, measure, missing

    name, experiment, own = _parted(settings, seed, "grouping", "random")
    needs = bool(own.pop("gradients", False)) or "updates" in missing(name, {})
    warm_up = own.pop("warm_up", 0)
    if not isinstance(warm_up, int) or warm_up < 0 or (warm_up and not needs):
        raise BadValue("warm_up", warm_up, "a whole number from 0 up, of rounds before gradients are taken")
    fleet, gradients = _fleet(experiment, fleets, needs=needs, warm_up=warm_up)
    given: dict[str, Any] = {"edges": fleet.edge_of, "sizes": fleet.sizes, "distances": fleet.distances}
    given = {key: value for key, value in given.items() if value is not None}
    if gradients is not None:
        given["updates"] = gradients

    def timed() -> tuple[Grouping, float]:
        begun = time.process_time()
        found = group(name, fleet.labels, rng=generator(seed, 0, "grouping"), **given, **own)
        return found, time.process_time() - begun

    found, took = timed()
    if took < SHORT:
        took = min(took, timed()[1])
    told = measure(found, fleet.labels, distances=fleet.distances, updates=gradients)
    figures = told.to_dict()
    sizes = figures.pop("sizes")
    figures |= {f"size_{key}": value for key, value in sizes.items()}
    figures |= {"local_emd": _local_emd(found, fleet), "seconds": took}
    if found.heads is not None and fleet.distances is not None:
        figures["links"] = _link_costs(found, fleet, ways=1 if own.get("once") else 2)
    shares = found.sums(fleet.labels)
    curve = [
        {"size": int(told.sizes[k]), "cov": float(told.cov[k]), "labels": shares[k].tolist()} for k in range(len(found))
    ]
    return figures, curve


def groupops(settings: Settings, seed: int, fleets: Fleets) -> Figures:
    """What one group operation takes a client here, over the sizes of groups (of a training: over samples)."""
    from covey.groupops import measure_backdoor, measure_secure, measure_training, model_values

    given = dict(settings)
    operation, model = given.pop("operation", "secure"), str(given.pop("model", "2nn"))
    sizes = [int(size) for size in given.pop("sizes", (2, 5, 10, 15))]
    _refuse(given, "operation, model and sizes")
    if operation == "training":
        found = measure_training(sizes, model, 10)
    elif operation in ("secure", "backdoor"):
        measure = measure_secure if operation == "secure" else measure_backdoor
        found = measure(sizes, model_values(model))
    else:
        raise UnknownName("operation", str(operation), ["secure", "backdoor", "training"])
    figures = {"seconds": found.seconds[-1], "curvature": found.fit[0], "r2": found.r2}
    return figures, [{"size": size, "seconds": took} for size, took in zip(sizes, found.seconds, strict=True)]


def prices(settings: Settings, seed: int, fleets: Fleets) -> Figures:
    """What the rounds of a run take on its network, without training: seconds, bytes, joules of the last round."""
    from covey.rehearse import rehearse

    experiment = Experiment.make({**settings, "seed": seed})
    found = rehearse(experiment, fleet=fleets.get(experiment)).prices
    last = found[-1]
    figures = {
        "seconds": last.seconds,
        "joules": last.joules,
        "link_bytes": float(last.carried.sum()),
        "all_seconds": sum(price.seconds for price in found),
    }
    curve, passed = [], 0.0
    for number, price in enumerate(found, 1):
        passed += price.seconds
        curve.append({"round": number, "simulated_seconds": passed, "seconds": price.seconds})
    return figures, curve


def bounds(settings: Settings, seed: int, fleets: Fleets) -> Figures:
    """What theory says: `formula` is tornado, an architecture's bound and models, or fedgsp, its Eq. 15 to 17."""
    given = dict(settings)
    formula = given.pop("formula", None)
    if formula == "tornado":
        return _tornado(given, seed, fleets)
    if formula == "fedgsp":
        return _fedgsp(given)
    raise UnknownName("formula", str(formula), ["tornado", "fedgsp"])


def _tornado(given: dict[str, Any], seed: int, fleets: Fleets) -> Figures:
    from covey.grouping import group
    from covey.grouping.divergence import divergences
    from covey.theory import tornado_bound, tornado_traffic
    from covey.theory.tornado import ARCHITECTURES

    rates = {name: float(given.pop(name, usual)) for name, usual in (("eta", 0.03), ("beta", 1.0), ("rho", 1.0))}
    tau1, tau2, epochs = (int(given.pop(name, usual)) for name, usual in (("tau1", 10), ("tau2", 10), ("steps", 1000)))
    count = int(given.pop("groups", 10))
    shape, experiment, own = _parted(given, seed, "shape", "star")
    name = str(own.pop("grouping", "random"))
    _refuse(own, "those of a fleet, shape, grouping, groups, tau1, tau2, steps, eta, beta and rho")
    fleet, gradients = _fleet(experiment, fleets, needs=True)
    assert gradients is not None
    found = group(name, fleet.labels, groups=count, rng=generator(seed, 0, "grouping"))
    spread = divergences(gradients, fleet.sizes, found.groups)
    nested = shape in ARCHITECTURES and ARCHITECTURES[shape].nested
    taus = {"tau1": tau1, "tau2": tau2} if nested else {"tau1": tau1 * tau2}
    bound = tornado_bound(shape, spread, **taus, eta=rates["eta"], beta=rates["beta"], rho=rates["rho"])
    sent = tornado_traffic(shape, nodes=fleet.clients, groups=count, steps=epochs, tau1=taus["tau1"])
    return {"bound": bound, "models": sent, "delta": spread.delta, "Delta": spread.Delta, "D": spread.D}, []


def _fedgsp(given: dict[str, Any]) -> Figures:
    from covey.algorithms.fedgsp import FedGSP
    from covey.theory.fedgsp import communication_bytes, communication_seconds, computing_seconds

    rounds, clients = int(given.pop("rounds", 500)), int(given.pop("clients", 368))
    kappa, samples = float(given.pop("kappa", 0.3)), float(given.pop("samples", 226))
    grown = FedGSP(**given)
    computing = computing_seconds(
        lambda r: grown.groups_in(r, clients), rounds=rounds, clients=clients, samples=samples, kappa=kappa
    )
    sent = {"rounds": rounds, "clients": clients, "kappa": kappa}
    return {
        "computing_seconds": float(computing[-1]),
        "communication_seconds": communication_seconds(**sent),  # type: ignore[arg-type]
        "traffic_bytes": communication_bytes(**sent),  # type: ignore[arg-type]
    }, []


def _parted(settings: Settings, seed: int, word: str, usual: str) -> tuple[str, Experiment, dict[str, Any]]:
    """What `word` names, the settings of a fleet and a model, and the others."""
    own = {key: value for key, value in settings.items() if key not in Experiment.model_fields and key != word}
    fleet = {key: value for key, value in settings.items() if key in Experiment.model_fields}
    return str(settings.get(word, usual)), Experiment.make({**fleet, "seed": seed}), own


def _fleet(experiment: Experiment, fleets: Fleets, *, needs: bool, warm_up: int = 0) -> tuple[Fleet, Any]:
    """The fleet, and its clients' gradients where they are needed: at the initial model, or after rounds of FedAvg."""
    fleet = fleets.get(experiment)
    if not needs and experiment.distances is None:
        return fleet, None
    return fleets.once(
        (experiment.model_dump_json(), needs, warm_up), lambda: _looked_at(experiment, fleet, needs, warm_up)
    )


def _looked_at(experiment: Experiment, fleet: Fleet, needs: bool, warm_up: int) -> tuple[Fleet, Any]:
    from covey.experiment.assembly import assemble
    from covey.experiment.life import try_out

    loop = assemble(experiment, fleet=fleet)
    if not needs:
        return loop.fleet, None
    model = loop.layout.initial()
    if warm_up:
        rounds = {"rounds": warm_up, "epochs": 1, "evaluate_every": warm_up}
        _, _, (model, *_) = try_out(experiment.model_copy(update=rounds), fleet=fleet)
    return loop.fleet, loop.evaluator.gradients(model, range(loop.fleet.clients))


def _local_emd(found: Grouping, fleet: Fleet) -> float:
    """How far clients' label shares are from those of their group, by samples (TornadoAggregate, Algorithm 3)."""
    from covey.grouping.measures import emd_of

    total = far = 0.0
    for members, sums in zip(found, found.sums(fleet.labels), strict=True):
        labels = fleet.labels[list(members)]
        far += float((labels.sum(axis=1) * emd_of(labels, sums)).sum())
        total += float(labels.sum())
    return far / total if total else 0.0


def _link_costs(found: Grouping, fleet: Fleet, ways: int) -> float:
    """What IHC-FL's objective adds up: members to their heads once, linked heads both ways, or one, as in Fig. 1."""
    costs = np.asarray(fleet.distances, dtype=np.float64)
    heads = list(found.heads or ())
    inside = sum(costs[i, head] for members, head in zip(found, heads, strict=True) for i in members if i != head)
    between = sum(costs[heads[a], heads[b]] + costs[heads[b], heads[a]] for a, b in found.links or ())
    return float(inside + between * ways / 2)


def _refuse(given: Settings, allowed: str) -> None:
    for key in given:
        raise BadValue("setting", key, allowed)
