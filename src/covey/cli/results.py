"""What a comparison or a sweep came to: a table for a person, one JSON object for a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from covey.cli.console import plain
from covey.compare import Comparison, Row, Verdict
from covey.compare.comparison import METRICS
from covey.report.amounts import size
from covey.reproduce import Result
from covey.reproduce.tables import sheet_of

COLUMNS: dict[str, tuple[str, str]] = {
    "accuracy": ("accuracy", "most"),
    "own_accuracy": ("clients' own", "most"),
    "rounds": ("rounds", ""),
    "traffic_bytes": ("traffic", ""),
    "simulated_seconds": ("seconds", ""),
    "cost": ("cost", ""),
    "at_equal_traffic": ("at equal traffic", "most"),
    "rounds_to_target": ("rounds", "least"),
    "bytes_to_target": ("traffic", "least"),
    "seconds_to_target": ("seconds", "least"),
    "cost_to_target": ("cost", "least"),
}
"""What a column is called, and whether the most or the least of it is the best."""
SHARED_ROWS = ("accuracy", "own_accuracy", "at_equal_traffic")


def heading(comparison: Comparison, rows: Sequence[Row], spent: float | None) -> str:
    """What was compared and what it was allowed to spend, as it came out."""
    terms = comparison.terms
    if terms.work != "runs":
        return terms.title
    first = comparison.pick(comparison.entries[0].name)
    ran = [int(v) for row in rows for v in row.values.get("rounds", []) if v is not None]
    count = f"{min(ran)} to {max(ran)} rounds" if ran and min(ran) < max(ran) else f"{max(ran, default=0)} rounds"
    equal = count if spent is None else f"{_amount(terms.budget, spent)} each, {count}"
    fleet = f"{first.data}, {first.clients or 'all'} clients, {first.partition}, {first.model}"
    seeds = f", {len(terms.seeds)} seeds" if len(terms.seeds) > 1 else ""
    return f"{terms.title or fleet}: {equal}{seeds}"


def figures(
    comparison: Comparison,
    rows: Sequence[Row],
    target: float | None,
    spent: float | None,
    orders: Sequence[Verdict],
) -> dict[str, Any]:
    """All of it as plain numbers and words."""
    terms = comparison.terms
    return {
        "title": heading(comparison, rows, spent),
        "budget": terms.budget,
        "amount": spent,
        "score": terms.score,
        "target": target,
        "hold": terms.hold,
        "rows": [row.figures() for row in rows],
        "orders": [vars(order) for order in orders],
    }


def print_rows(
    screen: Console,
    comparison: Comparison,
    rows: Sequence[Row],
    target: float | None,
    title: str,
    orders: Sequence[Verdict],
) -> None:
    """A table: what each came to, then what each needed to the target; the best in bold."""
    screen.print(plain(title), style="bold", soft_wrap=False, highlight=False)
    known = [name for name in COLUMNS if _is_told(name, rows)]
    reach = [name for name in known if name.endswith("_to_target")]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("run", overflow="fold")
    for name in known:
        if name not in reach:
            table.add_column(COLUMNS[name][0], justify="right")
    screen.print(_filled(table, rows, [name for name in known if name not in reach]))
    if reach and target is not None:
        score = "clients' own accuracy" if comparison.terms.score == "own_accuracy" else "accuracy"
        hold = f", for {comparison.terms.hold} evaluations in a row" if comparison.terms.hold > 1 else ""
        screen.print(f"\nto {score} {target:.2f}{hold}", style="bold", highlight=False)
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("run", overflow="fold")
        for name in reach:
            table.add_column(COLUMNS[name][0], justify="right")
        screen.print(_filled(table, rows, reach))
    _print_orders(screen, orders)
    for row in rows:
        for failure in row.failures:
            screen.print(f"{plain(row.entry.name)}, {plain(failure)}", style="red", highlight=False)


def print_result(screen: Console, result: Result) -> None:
    """The table of a result, the paper's figures beside ours where there are any, and which orders came out."""
    sheet = sheet_of(result)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for number, name in enumerate(sheet.header):
        table.add_column(plain(name), justify="right" if number else "left", overflow="fold")
    for row in sheet.rows:
        table.add_row(*map(plain, row))
    screen.print(table)
    _print_orders(screen, result.orders)


def _print_orders(screen: Console, orders: Sequence[Verdict]) -> None:
    """Every order and whether it came out, and of several how many did."""
    for order in orders:
        screen.print(f"{plain(order.claim)}: {'yes' if order.holds else '[red]no[/red]'}", highlight=False)
    if len(orders) > 1:
        screen.print(f"{sum(order.holds for order in orders)} of {len(orders)} orders came out", highlight=False)


def _is_told(column: str, rows: Sequence[Row]) -> bool:
    """Whether a column says something; what only some runs count is left to `--json`."""
    if column == "at_equal_traffic" and len({row.mean("traffic_bytes") for row in rows}) == 1:
        return False  # all have sent as much
    counted = [row for row in rows if row.values.get("rounds", [None]) != [None]]
    return any(row.reached(column) for row in rows) and all(column in row.values for row in counted)


def _filled(table: Table, rows: Sequence[Row], columns: Sequence[str]) -> Table:
    best = {name: _best(rows, name) for name in columns}
    for row in rows:
        cells = []
        for name in columns:
            text = cell(row, name)
            cells.append(f"[bold]{text}[/bold]" if best[name] is not None and row.mean(name) == best[name] else text)
        table.add_row(plain(row.entry.name), *cells)
    return table


def _best(rows: Sequence[Row], column: str) -> float | None:
    means = [mean for row in rows if (mean := row.mean(column)) is not None]
    wanted = COLUMNS[column][1]
    return None if not (means and wanted) else max(means) if wanted == "most" else min(means)


def cell(row: Row, column: str) -> str:
    """Mean and spread of a column; a target that not every seed reached says how many did."""
    mean, spread = row.mean(column), row.spread(column)
    if mean is None:
        reached = row.reached(column)
        return f"{reached} of {len(row.seeds)}" if reached else "-"
    return _number(column, mean) + (f" ±{_number(column, spread)}" if spread is not None else "")


def _number(column: str, value: float) -> str:
    if column in SHARED_ROWS:
        return f"{value:.3f}"
    if "bytes" in column:
        return size(value)
    if column in ("rounds", "rounds_to_target"):
        return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _amount(kind: str, spent: float) -> str:
    if kind == "traffic":
        return f"{size(spent)} of traffic"
    return f"{spent:,.6g} {'simulated seconds' if kind == 'seconds' else METRICS[kind]}"
