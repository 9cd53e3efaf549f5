"""`covey compare`: several algorithms on the same fleet, side by side."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from covey.cli.console import console
from covey.cli.options import DEFAULT_OUT, Json, Out, Set, parse_set, with_experiment_options
from covey.cli.progress import bars, size
from covey.errors import UnknownName
from covey.experiment import Experiment

DEFAULTS: dict[str, Any] = {"clients": 30, "rounds": 15, "lr": 0.1, "model": "softmax-regression"}
OWN_DEFAULTS: dict[str, dict[str, Any]] = {"star-stars": {"tau2": 2}, "ring-stars": {"tau2": 2}}  # else FedAvg's curve
ARCHITECTURES = ["star", "ring", "star-stars", "star-rings", "ring-stars", "ring-rings", "stars", "rings"]


@with_experiment_options
def compare(
    algorithms: Annotated[
        list[str] | None, typer.Argument(help="which; FedAvg and the eight architectures unless given")
    ] = None,
    set_: Set = None,
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
    *,
    settings: dict[str, Any],
) -> None:
    """Run several algorithms on the same fleet: a table, and a picture of accuracy over rounds and over traffic.

    With --network also over simulated seconds.
    """
    from covey.algorithms import ALGORITHMS
    from covey.experiment.assembly import make_fleet
    from covey.experiment.life import start
    from covey.report.curves import curves
    from covey.store import Store

    chosen = algorithms or ["fedavg", *ARCHITECTURES]
    given = parse_set(set_)
    known = {*Experiment.model_fields, *(field for name in chosen for field in ALGORITHMS[name].__dataclass_fields__)}
    for key in given:
        if key not in known:
            raise UnknownName("setting", key, known)
    experiments = [_experiment(name, {**DEFAULTS, **settings}, OWN_DEFAULTS.get(name, {}) | given) for name in chosen]
    fleet = make_fleet(experiments[0])
    with bars() as show:
        results = [start(wanted, out, [show], fleet=fleet) for wanted in experiments]
    with Store(out) as store:
        rounds = {name: store.rounds(run) for name, (run, _) in zip(chosen, results, strict=True)}
    first = experiments[0]
    picture = out / f"compare-{results[0][0]}.png"
    title = f"{first.data}, {fleet.clients} clients, {first.partition}, {first.model}, {first.rounds} rounds"
    curves(rounds, picture, title=title)
    if as_json:
        print(json.dumps({"picture": str(picture), "runs": [summary for _, summary in results]}))
        return
    screen = console()
    table = Table(title=title, title_justify="left", header_style="bold", box=None)
    timed = ["simulated s"] if first.network else []
    for name in ("algorithm", "accuracy", "clients' own", "models", "traffic", *timed, "trainings", "seconds", "run"):
        table.add_column(name, justify="left" if name in ("algorithm", "run") else "right")
    best = max(summary["accuracy"] or 0.0 for _, summary in results)
    for name, (run, summary) in zip(chosen, results, strict=True):
        accuracy = summary["accuracy"] or 0.0
        table.add_row(
            name,
            f"[bold]{accuracy:.4f}[/bold]" if accuracy == best else f"{accuracy:.4f}",
            f"{summary.get('own_accuracy', float('nan')):.4f}",
            str(summary["models"]),
            size(summary["traffic_bytes"]),
            *(f"{summary['simulated_seconds']:.2f}" for _ in timed),
            str(summary["trainings"]),
            f"{summary['wall_seconds']:.1f}",
            run,
        )
    screen.print(table)
    screen.print(f"picture: {picture}", soft_wrap=True)


def _experiment(name: str, settings: dict[str, Any], own: dict[str, Any]) -> Experiment:
    """An algorithm's experiment; a setting of some algorithms is passed over for those that do not have it."""
    from covey.algorithms import ALGORITHMS

    known = {*Experiment.model_fields, *ALGORITHMS[name].__dataclass_fields__}
    kept = {key: value for key, value in own.items() if key in known}
    return Experiment.make({**settings, **kept, "algorithm": name})
