"""`covey price`: what a round costs on a network, without training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from covey.cli.console import console, fitted, plain
from covey.cli.options import (
    DEFAULT_OUT,
    AllowCode,
    Json,
    Out,
    Set,
    complete_algorithm,
    experiment,
    parse_set,
    with_experiment_options,
)
from covey.errors import BadValue
from covey.experiment import Experiment
from covey.registry import refuse_code
from covey.report.amounts import size
from covey.report.picture import check_ending

if TYPE_CHECKING:
    from covey.network.price import Ledger

ROUNDS = 10
NETWORK = "star"
LINK = "10MB/s,1ms"
COLUMNS = {
    "seconds": "seconds_per_round",
    "computing": "compute_seconds",
    "in groups": "group_seconds",
    "global": "global_seconds",
    "traffic": "bytes_per_round",
    "busiest link": "busiest_link",
    "joules": "joules",
}


@with_experiment_options
def price(
    source: Annotated[
        str, typer.Argument(metavar="ALGORITHM|FILE.toml|RUN", help="what to price", autocompletion=complete_algorithm)
    ],
    set_: Set = None,
    sweep: Annotated[
        str | None,
        typer.Option(metavar="KEY=A,B,C", help="price for several values of a setting; ; where a value has ,"),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="draw who trains and sends when, and the network's load")] = None,
    out: Out = DEFAULT_OUT,
    allow_code: AllowCode = False,
    as_json: Json = False,
    *,
    settings: dict[str, Any],
) -> None:
    """What a round costs on a network: seconds, bytes, energy, without training.

    The mean over --rounds rounds, the first ten unless given. Data, grouping and sampling are real; groups that depend
    on gradients are those of the initial model.
    """
    given = {**settings, **parse_set(set_)}
    if sweep is not None:
        if plot is not None:
            raise BadValue("plot", str(plot), "given without --sweep: a picture shows one setting")
        key, values = _values(sweep)
        swept = [(value, _experiment(source, out, {**given, key: value}, allow_code)) for value in values]
        _sweep(key, swept, as_json=as_json)
        return
    if plot is not None:
        check_ending(plot)
    wanted = _experiment(source, out, given, allow_code)
    ledger = _rehearse(wanted)
    figures = _figures(wanted, ledger)
    if plot is not None:
        _draw(wanted, ledger, plot)
        figures["plot"] = str(plot)
    if as_json:
        print(json.dumps(figures))
        return
    screen = console()
    screen.print(f"[bold]{plain(_title(wanted))}[/bold], mean of {figures['rounds']} rounds", highlight=False)
    table = Table(box=None, show_header=False)
    for name, text in _lines(figures):
        table.add_row(plain(name), plain(text))
    screen.print(table)
    if plot is not None:
        screen.print(f"picture: {plain(plot)}", soft_wrap=True, highlight=False)


def _experiment(source: str, out: Path, settings: dict[str, Any], allow_code: bool) -> Experiment:
    """What to price, on a star unless a network is named, and no more rounds than are needed for a mean."""
    from covey.store import Store

    stored = None
    if (out / "covey.db").is_file():
        with Store(out, read_only=True) as store:
            stored = next((record.config for record in store.runs() if record.run == source), None)
    if stored is None:
        wanted = experiment(source, settings, allow_code=allow_code)
    else:
        if not allow_code:
            refuse_code({name: value for name, value in stored.items() if name not in settings}, source)
        wanted = Experiment.make({**stored, **settings})
    usual = {"network": wanted.network or NETWORK, "rounds": settings.get("rounds", min(wanted.rounds, ROUNDS))}
    return wanted.model_copy(update=usual)


def _rehearse(wanted: Experiment) -> Ledger:
    from covey.rehearse import rehearse

    with Console(stderr=True).status(plain(f"pricing {wanted.algorithm} on {wanted.network}")):
        return rehearse(wanted)


def _figures(wanted: Experiment, ledger: Ledger) -> dict[str, Any]:
    from covey.network.price import mean_price

    return {
        "algorithm": wanted.algorithm,
        "network": wanted.network,
        "link": wanted.link or LINK,
        "device": _device(wanted),
        "clients": len(ledger.site.sizes),
        "model_bytes": ledger.site.model_bytes,
        "rounds": len(ledger.prices),
        **mean_price(ledger.prices).figures(),
        "seconds_of_rounds": [cost.seconds for cost in ledger.prices],
    }


def _sweep(key: str, swept: list[tuple[Any, Experiment]], *, as_json: bool) -> None:
    rows = [{key: value, **_figures(wanted, _rehearse(wanted))} for value, wanted in swept]
    if as_json:
        print(json.dumps({"sweep": key, "rows": rows}))
        return
    table = Table(title=plain(_title(swept[0][1], besides=key)), title_justify="left", header_style="bold", box=None)
    for name in (key, *COLUMNS):
        table.add_column(plain(name), justify="right")
    for row in rows:
        table.add_row(plain(row[key]), *(plain(_cell(column, row[column])) for column in COLUMNS.values()))
    screen = console()
    screen.print(fitted(table, screen, ("busiest link", "joules", "computing", "global")))  # --json has them all


def _values(text: str) -> tuple[str, list[Any]]:
    """The setting and its values; a value is read as `--set` reads it.

    >>> _values("groups=2,5"), _values("link=10MB/s,1ms;1MB/s,1ms")
    (('groups', [2, 5]), ('link', ['10MB/s,1ms', '1MB/s,1ms']))
    """
    key, equals, values = text.partition("=")
    if not (key and equals and values):
        raise BadValue("sweep", text, "key=value,value,…")
    parts = values.split(";" if ";" in values else ",")
    read = [next(iter(parse_set([f"{key}={part}"]).items())) for part in parts]
    return read[0][0], [value for _, value in read]


def _title(wanted: Experiment, besides: str = "") -> str:
    """What is priced, in short; `besides` is a setting that has several values."""
    words = {
        "algorithm": wanted.algorithm,
        "model": wanted.model,
        "clients": f"{wanted.clients or 'all'} clients",
        "network": wanted.network,
        "link": wanted.link or LINK,
        "device": _device(wanted),
    }
    return ", ".join(str(word) for name, word in words.items() if name != besides)


def _device(wanted: Experiment) -> str:
    from covey.network.site import DEFAULT_DEVICE

    return wanted.device or DEFAULT_DEVICE


def _lines(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures for a person."""
    seconds = [(f"  {label}", figures[key]) for label, key in list(COLUMNS.items())[1:4]]
    tiers = [(f"  {tier.replace('-', ' to ')}", size(count)) for tier, count in figures["bytes_per_tier"].items()]
    busy = figures["busy_seconds"]
    return [
        ("seconds a round", f"{figures['seconds_per_round']:.3f}"),
        *((label, f"{amount:.3f}") for label, amount in seconds),
        ("traffic a round", size(figures["bytes_per_round"])),
        *tiers,
        ("busiest link", _cell("busiest_link", figures["busiest_link"])),
        ("a client computes", f"{busy['mean']:.3f} s on average, {busy['max']:.3f} s at most"),
        ("clients' energy", f"{figures['joules']:.1f} J"),
    ]


def _cell(column: str, value: Any) -> str:
    if column == "busiest_link":
        return "-" if value is None else f"{value['source']} to {value['target']}, {size(value['bytes_per_round'])}"
    return size(value) if column == "bytes_per_round" else f"{value:.3f}"


def _draw(wanted: Experiment, ledger: Ledger, path: Path) -> None:
    """The last round: the first may be a warm-up."""
    from covey.network.price import price as price_of
    from covey.plan import leaves
    from covey.report.price import draw_price

    last = ledger.last
    if last is not None:
        begin = last.spent.get("simulated_seconds", 0.0)
        cost = price_of(last.plan, ledger.site, last.where, begin=begin, failed=last.failed, timeline=True)
        order = (leaf.client for leaf in leaves(last.plan))
        title = f"{_title(wanted)}: round {len(ledger.prices)}, {cost.seconds:.2f} s"
        draw_price(cost, ledger.site.placement, order, path, title=title)
