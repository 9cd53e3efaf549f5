"""`covey bench-groupops`: what group operations cost on this machine."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from covey.cli.console import console, plain
from covey.cli.options import Json
from covey.errors import BadValue
from covey.groupops import BACKDOOR, Measured, measure_backdoor, measure_secure, measure_training, model_values, profile
from covey.profile import SECURE
from covey.report.amounts import size as amount
from covey.report.picture import check_ending
from covey.words import whole

SIZES = "2,5,10,15,20,25,30,40"
SAMPLES = "50,100,200,400"


def bench_groupops(
    sizes: Annotated[str, typer.Option(help="clients of a group, four or more numbers")] = SIZES,
    model: Annotated[str, typer.Option(help="network whose updates are merged, on images of 28 x 28")] = "2nn",
    samples: Annotated[str, typer.Option(help="samples of a client, two or more numbers")] = SAMPLES,
    batch: Annotated[int, typer.Option(min=1, help="batch size of training")] = 10,
    out: Annotated[Path | None, typer.Option(help="write a profile for --prices, --group-operation, --device")] = None,
    plot: Annotated[Path | None, typer.Option(help="draw the curves into this file")] = None,
    as_json: Json = False,
) -> None:
    """What secure aggregation and backdoor detection cost here, by group size: processor seconds and bytes a client."""
    groups, counts = _numbers("sizes", sizes, 4, 2), _numbers("samples", samples, 2, 1)
    if out is not None and (out.suffix != ".toml" or not out.absolute().parent.is_dir()):
        raise BadValue("out", str(out), "a file that ends in .toml, in a folder that exists")
    if plot is not None:
        check_ending(plot)
    values = model_values(model)
    with Console(stderr=True).status("measuring") as status:
        secure = measure_secure(groups, values, status.update)
        backdoor = measure_backdoor(groups, values, status.update)
        training = measure_training(counts, model, batch, status.update)
    machine = f"{platform.machine()} {platform.system()}"
    if out is not None:
        profile(secure, backdoor, training, model=model, values=values, batch=batch, machine=machine).write(out)
    if plot is not None:
        from covey.report.groupops import draw_groupops

        draw_groupops(
            {SECURE: secure, BACKDOOR: backdoor}, training, plot, title=f"{model}, {values:,} values, {machine}"
        )
    if as_json:
        print(json.dumps(_figures(secure, backdoor, training, model, values)))
        return
    _print(secure, backdoor, training, [path for path in (out, plot) if path is not None])


def _figures(secure: Measured, backdoor: Measured, training: Measured, model: str, values: int) -> dict[str, object]:
    """Those of secure aggregation on top, the others beside them."""
    others = {
        name: {"sizes": m.sizes, "seconds": m.seconds, "fit": m.fit, "r2": m.r2}
        for name, m in ((BACKDOOR, backdoor), ("training", training))
    }
    return {
        "sizes": secure.sizes,
        "seconds": secure.seconds,
        "bytes": secure.bytes,
        "fit": secure.fit,
        "r2": secure.r2,
        "server_seconds": secure.server_seconds,
        "model": model,
        "values": values,
        **others,
    }


def _print(secure: Measured, backdoor: Measured, training: Measured, wrote: list[Path]) -> None:
    screen = console()
    table = Table(box=None, header_style="bold")
    for name in ("clients", "secure aggregation, s a client", "bytes a client", "s of all clients", "FLAME, s"):
        table.add_column(name, justify="right")
    for size, seconds, sent, flame in zip(secure.sizes, secure.seconds, secure.bytes, backdoor.seconds, strict=True):
        table.add_row(str(size), f"{seconds:.4f}", amount(sent), f"{size * seconds:.3f}", f"{flame:.4f}")
    screen.print(table)
    for name, measured, symbol in ((SECURE, secure, "g"), (BACKDOOR, backdoor, "g"), ("training", training, "n")):
        screen.print(f"{name}: {_formula(measured.fit, symbol)} seconds, R² {measured.r2:.4f}", highlight=False)
    for path in wrote:
        screen.print(f"wrote {plain(path)}", highlight=False)


def _formula(curve: tuple[float, ...], symbol: str) -> str:
    """The polynomial as text.

    >>> _formula((0.5, -2.0, 3.0), "g")
    '0.5 g^2 - 2 g + 3'
    """
    powers = {0: "", 1: f" {symbol}"} | {k: f" {symbol}^{k}" for k in range(2, 9)}
    terms = [(c, powers[len(curve) - 1 - j]) for j, c in enumerate(curve)]
    first = f"{terms[0][0]:.4g}{terms[0][1]}"
    return first + "".join(f" {'-' if c < 0 else '+'} {abs(c):.4g}{power}" for c, power in terms[1:])


def _numbers(field: str, text: str, least: int, smallest: int) -> list[int]:
    found = [whole(part, field, f"{least} or more different whole numbers, as 5,10,20,40") for part in text.split(",")]
    if len(set(found)) < least or len(set(found)) < len(found) or min(found) < smallest:
        raise BadValue(field, text, f"{least} or more different whole numbers from {smallest} up, as 5,10,20,40")
    return sorted(np.array(found).tolist())
