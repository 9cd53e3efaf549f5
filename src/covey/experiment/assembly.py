"""From settings to a run loop: the one place where all the parts of a run meet."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from covey import seeds
from covey.algorithms import Algorithm, make_algorithm
from covey.attack import Attack, Tampering, Watching, choose, make_attack
from covey.data import Dataset, load_fleet
from covey.errors import BadValue
from covey.execute.backend import Backend, Work, make_backend
from covey.execute.device import find_device
from covey.execute.dropout import Dropout, by_chance
from covey.execute.effects import Executor
from covey.execute.evaluate import OnTraining
from covey.execute.flops import count_flops
from covey.execute.local import Training, make_task
from covey.execute.trainers import Task
from covey.experiment.settings import GIVEN, ON_NETWORK, Experiment
from covey.fleet import Fleet
from covey.local import make_rule
from covey.loop import Limits, Loop, Recorder, Ways
from covey.merge import Merges, clients_meeting, make_server
from covey.meter import EpochMeter, Meter
from covey.models import build_model, check_alone, check_fit
from covey.privacy import PrivacyMeter, noise_of
from covey.profile import make_prices
from covey.theory import CostMeter, LinkMeter
from covey.words import split

if TYPE_CHECKING:
    from covey.network.site import Site

PLANS_FOR_GROUPS = 20  # in which an attack that is to sit in one group looks for the groups


def algorithm_of(experiment: Experiment) -> Algorithm:
    """The algorithm with its settings."""
    return make_algorithm(experiment.algorithm, experiment.options)


def make_fleet(experiment: Experiment, dataset: Dataset | None = None) -> Fleet:
    """The clients with their data; `dataset` is what the settings name, where it has been read already."""
    if experiment.partition == GIVEN:
        raise BadValue("fleet", "one of your own", "given again, as in covey.resume(run, fleet=fleet)")
    return load_fleet(
        dataset or experiment.data,
        clients=experiment.clients,
        partition=experiment.partition,
        edges=experiment.edges,
        samples=experiment.samples,
        windows=experiment.windows,
        pool=experiment.pool,
        test_fraction=experiment.test_fraction,
        seed=experiment.seed,
    )


def assemble(
    experiment: Experiment,
    *,
    algorithm: Algorithm | None = None,
    fleet: Fleet | None = None,
    module: torch.nn.Module | None = None,
    backend: Backend | None = None,
    recorder: Recorder | None = None,
    make_meter: Callable[[Site], Meter] | None = None,
) -> Loop:
    """The run loop of an experiment.

    `algorithm`, `fleet`, `module` and `backend` are made from the settings unless given. `recorder` keeps what the run
    says of itself, `make_meter` makes what keeps the time where the settings name a network
    (`NetworkMeter` if not given).
    """
    algorithm = algorithm or algorithm_of(experiment)
    words = _parts(experiment, algorithm)
    fleet = _with_distances(experiment, fleet or make_fleet(experiment), words["distances"])
    fleet = algorithm.prepare(fleet, seeds.generator(experiment.seed, 0, "prepare"))
    attack = None if experiment.attack is None else make_attack(experiment.attack)
    attackers = () if attack is None else _attackers(attack, algorithm, fleet, experiment.seed)
    training = Training(**{name: getattr(experiment, name) for name in Training.__dataclass_fields__})
    backend = backend or make_backend(experiment.executor, experiment.address)
    ways = Ways(
        training=training,
        rule=make_rule(words["local"]),
        merges=backend.merges(Merges(words["merge"], experiment.client_merge)),
        server=make_server(words["server"]),
    )
    _check_merges(experiment, algorithm)
    _check_hidden(algorithm, ways)
    device = find_device(experiment.accelerator)
    if device.type != "cpu" and not backend.accelerates:
        allowed = f"cpu with executor {experiment.executor}, which trains on processors"
        raise BadValue("accelerator", experiment.accelerator, allowed)
    work = _work(experiment, fleet, module, ways, device)
    clean = work.data
    if experiment.target_own_accuracy is not None and not clean.test_of.sizes.any():
        allowed = "none where no client has test data of its own; set test_fraction, or target_accuracy"
        raise BadValue("target_own_accuracy", experiment.target_own_accuracy, allowed)
    if attack is not None:
        data = attack.poison(clean, attackers, seeds.generator(experiment.seed, 0, "poison"))
        task = make_task(work.task.layout.module, data, ways.training, ways.rule, device)
        work = replace(work, data=data, task=task)
    meters: list[Meter] = [EpochMeter(training.epochs)]
    if words["prices"]:
        meters.append(CostMeter(make_prices(words["prices"]), fleet.sizes.tolist(), training.epochs))
    if fleet.distances is not None:
        meters.append(LinkMeter(fleet.distances))
    if any(map(noise_of, (ways.merges.clients, ways.merges.servers))):
        meters.append(PrivacyMeter(ways.merges, fleet.clients))
    site = _site(experiment, fleet, work.task, words["local"])
    if site is not None:
        meters.append((make_meter or _network_meter)(site))
    # last, when all settings have been found good: an executor may start processes
    executor, evaluator = _executor(experiment, backend, work), backend.evaluator(work)
    if experiment.score_on == "train":
        evaluator = OnTraining(evaluator, work.task.layout, clean)
    if attack is not None:
        executor = Tampering(executor, attack, attackers) if attack.changes_answers else executor
        evaluator = Watching(evaluator, attack, attackers, work.task.layout, clean)
    return Loop(
        algorithm,
        fleet,
        work.task.layout,
        executor,
        evaluator,
        ways,
        _limits(experiment),
        seed=experiment.seed,
        meters=meters,
        recorder=recorder,
    )


def _network_meter(site: Site) -> Meter:
    from covey.network.price import (
        NetworkMeter,
    )  # here and below, for it takes half a second to import

    return NetworkMeter(site)


def _attackers(attack: Attack, algorithm: Algorithm, fleet: Fleet, seed: int) -> tuple[int, ...]:
    """Who attacks; groups are those of the first plans, as far as they do not overlap."""
    groups: list[list[int]] = []
    if attack.inside == "group":
        state = algorithm.start(fleet, seeds.generator(seed, 0, "start"))
        left = set(range(fleet.clients))
        for round in range(1, PLANS_FOR_GROUPS + 1):
            plan = algorithm.plan(round, fleet, state, seeds.generator(seed, round, "plan", 0))
            for group in clients_meeting(plan):
                if left.issuperset(group):
                    left.difference_update(group)
                    groups.append(group)
    return choose(attack, fleet, groups, seeds.generator(seed, 0, "attackers"))


def _check_merges(experiment: Experiment, algorithm: Algorithm) -> None:
    """Refuse a merge for models that never meet, as far as the sketch of the algorithm's plans tells."""
    plans, both = algorithm.sketch, experiment.client_merge is not None
    stars = [("client_merge", "clients' own models", r"Star\((Ring\()*Train")]
    stars += [("merge", "models of groups", r"Star\((Ring\()*Star") if both else ("merge", "models", "Star")]
    for name, what, star in stars:
        given = getattr(experiment, name)
        if plans and given not in (None, "mean") and not re.search(star, plans):
            raise BadValue(name, given, f"none with {experiment.algorithm}, in whose plan, {plans}, no {what} meet")


def _check_hidden(algorithm: Algorithm, ways: Ways) -> None:
    """Refuse what would show the updates that a merge hides."""
    if not getattr(ways.merges.clients, "hides", False):
        return
    if algorithm.keeps_updates:
        raise BadValue("merge", "secure", f"another with {type(algorithm).__name__}, which looks at single updates")
    if ways.rule.remembers:
        rule = type(ways.rule).__name__
        raise BadValue("merge", "secure", f"another with {rule}, whose clients send what they remember in the clear")


def _parts(experiment: Experiment, algorithm: Algorithm) -> dict[str, str]:
    """The words of the parts: the run's own, else the algorithm's, else the plain ones."""
    words = {"local": "sgd", "merge": "mean", "server": "replace", "distances": ""}
    words |= {"prices": "cifar-secure" if experiment.budget else ""} | algorithm.parts()
    return words | {name: given for name in words if (given := getattr(experiment, name)) is not None}


def _with_distances(experiment: Experiment, fleet: Fleet, word: str) -> Fleet:
    """The fleet with what sending models between its clients costs; a fleet that knows keeps it, unless told."""
    if not word or (fleet.distances is not None and experiment.distances is None):
        return fleet
    from covey.network.distances import distances_from

    found = distances_from(word, fleet, network=experiment.network, seed=experiment.seed)
    return replace(fleet, distances=found)


def _work(
    experiment: Experiment, fleet: Fleet, module: torch.nn.Module | None, ways: Ways, device: torch.device
) -> Work:
    data = fleet.data
    if data is None:
        raise BadValue("fleet", "one without data", "one with data, as covey.load_fleet makes it")
    dtype = torch.from_numpy(data.x[:1]).dtype
    if module is None:
        module = build_model(experiment.model, data.shape, data.classes, experiment.seed, dtype=dtype)
    else:
        check_fit(module, type(module).__name__, data.shape, data.classes, dtype=dtype)
    if _leaves_one(fleet.sizes, experiment.batch):
        check_alone(module, experiment.model, data.shape, experiment.batch, dtype=dtype)
    task = make_task(module, data, ways.training, ways.rule, device)
    return Work(task, data, experiment.mode, experiment.rounds, experiment.seed, experiment.stack)


def _leaves_one(sizes: NDArray[np.int64], batch: int) -> bool:
    """Whether the last batch of some client is a single sample; batches of 0 are all samples."""
    return bool(((sizes % batch if batch else sizes) == 1).any())


def _executor(experiment: Experiment, backend: Backend, work: Work) -> Executor:
    executor = backend.executor(work)
    return Dropout(executor, by_chance(experiment.seed, experiment.dropout)) if experiment.dropout else executor


def _limits(experiment: Experiment) -> Limits:
    at_most = {
        "cost": experiment.budget,
        "simulated_seconds": experiment.stop_at_seconds,
        "traffic_bytes": experiment.stop_at_traffic,
    }
    own = [name for name in Limits.__dataclass_fields__ if name != "at_most"]
    return Limits(
        **{name: getattr(experiment, name) for name in own},
        at_most={name: most for name, most in at_most.items() if most is not None},
    )


def _site(experiment: Experiment, fleet: Fleet, task: Task, rule: str) -> Site | None:
    """The network the run is timed on."""
    words = {name: getattr(experiment, name) for name in ON_NETWORK}
    if experiment.network is None:
        for name in ("stop_at_seconds", *ON_NETWORK):
            if getattr(experiment, name) is not None:
                raise BadValue(name, getattr(experiment, name), "a setting of runs with a network; set network")
        return None
    from covey.network.site import make_site

    return make_site(
        fleet,
        network=experiment.network,
        flops=count_flops(task.layout.module, task.x[:1]).training,
        model_bytes=4 * task.layout.size,
        epochs=experiment.epochs,
        rule=split(rule)[0],
        seed=experiment.seed,
        **words,
    )
