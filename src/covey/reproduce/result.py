"""What came out of a table or figure: the paper's figures beside ours, and which orders held. Kept as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from covey.compare import Comparison, Row, Verdict, judged, mean_of, spread_of, verdicts

FILE = "result.json"


@dataclass(frozen=True)
class Line:
    """One figure: of which run, in which column, the paper's and ours with its spread over the seeds.

    A figure of the paper that is infinite is a target never reached; ours is None where nothing, or a target not with
    every seed, came out. `values` has one a seed, none at all where only their mean was kept.
    """

    name: str
    labels: dict[str, str]
    column: str
    paper: float | None
    ours: float | None
    spread: float | None
    note: str = ""
    values: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Result:
    """All of it, as it is kept; `settings` is the fingerprint of what was run."""

    item: str
    scale: str
    title: str
    seeds: tuple[int, ...]
    columns: tuple[str, ...]
    across: str | None
    lines: tuple[Line, ...]
    orders: tuple[Verdict, ...]
    seconds: float  # of computing, in the runs that were made last
    settings: str = ""

    @property
    def whose(self) -> str:
        """The seeds in words."""
        return f"seed{'s' if len(self.seeds) > 1 else ''} {', '.join(map(str, self.seeds))}"

    def to_json(self) -> dict[str, Any]:
        """The rows and orders that `covey reproduce --json` ends with."""
        many = len(self.columns) > 1
        rows = [
            {
                "name": f"{line.name}: {line.column}" if many else line.name,
                "paper": line.paper if line.paper is None or math.isfinite(line.paper) else None,
                "ours": line.ours,
                "spread": line.spread,
                "column": line.column,
            }
            for line in self.lines
        ]
        return {
            "name": self.item,
            "scale": self.scale,
            "rows": rows,
            "orders": [vars(order) for order in self.orders],
            "seconds": round(self.seconds, 1),
        }

    def write(self, path: Path) -> None:
        """Keep it in that file, a line a figure."""
        path.parent.mkdir(parents=True, exist_ok=True)
        found = asdict(self)
        for line in found["lines"]:
            line["paper"] = "never" if line["paper"] == math.inf else line["paper"]
        parts = []
        for key, value in found.items():
            many = isinstance(value, tuple | list) and value and isinstance(value[0], dict)
            text = "[\n" + ",\n".join(map(json.dumps, value)) + "\n]" if many else json.dumps(value)
            parts.append(f"{json.dumps(key)}: {text}")
        path.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Result | None:
        """What is kept in that file, if there is one."""
        if not path.is_file():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        for line in found["lines"]:
            line["paper"] = math.inf if line["paper"] == "never" else line["paper"]
            line["values"] = tuple(line.get("values", ()))
        found["lines"] = tuple(Line(**line) for line in found["lines"])
        found["orders"] = tuple(Verdict(**order) for order in found["orders"])
        return cls(**{**found, "seeds": tuple(found["seeds"]), "columns": tuple(found["columns"])})

    def joined(self, kept: Result, comparison: Comparison) -> Result:
        """With the seeds that only the kept result has; as it is where the two cannot be put together.

        They can where the same runs were made, and the kept result has a figure a seed; of a seed that both have, this
        one's count.
        """
        others = {(line.name, line.column): line for line in kept.lines}
        alike = kept.settings == self.settings and all(
            (line.name, line.column) in others and line.values and others[line.name, line.column].values
            for line in self.lines
        )
        if not alike or set(kept.seeds) <= set(self.seeds):
            return self
        seeds = tuple(sorted({*self.seeds, *kept.seeds}))
        lines = []
        for line in self.lines:
            there = dict(zip(kept.seeds, others[line.name, line.column].values, strict=True))
            there |= dict(zip(self.seeds, line.values, strict=True))
            lines.append(_line(replace(line, values=tuple(there[seed] for seed in seeds))))
        return replace(self, seeds=seeds, lines=tuple(lines)).judged(comparison)

    def judged(self, comparison: Comparison) -> Result:
        """With the orders that are expected now, which may be others than when it was kept."""
        values = {(line.name, line.column): line.values or (line.ours,) for line in self.lines}
        orders = judged(comparison, lambda name, column: values.get((name, column), (None,)))
        return replace(self, orders=tuple(orders))


def folder_of(out: Path, item: str, scale: str) -> Path:
    """Where what came out of a table or figure is kept in a store."""
    return out / "reproduce" / item / scale


def result_of(comparison: Comparison, rows: Sequence[Row], item: str, scale: str) -> Result:
    """The figures that the table shows, run by run and column by column.

    `comparison` is what was compared and `rows` what came out; `item` and `scale` say what was reproduced and how.
    """
    terms = comparison.terms
    columns = columns_of(comparison)
    lines = [_line(_empty(row, column, comparison), row.failures) for row in rows for column in columns]
    spent = sum(value or 0.0 for row in rows for value in row.values.get("wall_seconds", []))
    return Result(
        item,
        scale,
        terms.title,
        terms.seeds,
        columns,
        terms.across,
        tuple(lines),
        tuple(verdicts(comparison, rows)),
        float(spent),
        comparison.fingerprint,
    )


def columns_of(comparison: Comparison) -> tuple[str, ...]:
    """The columns of the table: those that are asked for, else the paper's, else the score."""
    told = [column for row in comparison.figures.values() for column in row]
    return comparison.terms.columns or tuple(dict.fromkeys(told)) or (comparison.terms.score,)


def _empty(row: Row, column: str, comparison: Comparison) -> Line:
    paper = comparison.figures.get(row.entry.name, {}).get(column)
    values = tuple(row.values.get(column, (None,) * len(row.seeds)))
    return Line(row.entry.name, row.entry.labels, column, paper, None, None, values=values)


def _line(line: Line, failures: Sequence[str] = ()) -> Line:
    """The line with the mean and the spread of its values, and a note where there is no mean."""
    reached, seeds = sum(value is not None for value in line.values), len(line.values)
    note = "; ".join(failures)
    if not note and reached < seeds:
        note = f"{reached} of {seeds} seeds" if reached else ("never" if line.column.endswith("_to_target") else "")
    return replace(line, ours=mean_of(line.values), spread=spread_of(line.values), note=note)
