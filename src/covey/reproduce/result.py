"""What came out of a table or figure: the paper's figures beside ours, and which orders held. Kept as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from covey.compare import Comparison, Row, Verdict, verdicts

FILE = "result.json"


@dataclass(frozen=True)
class Line:
    """One figure: of which run, in which column, the paper's and ours with its spread over the seeds.

    A figure of the paper that is infinite is a target never reached; ours is None where nothing, or a target not with
    every seed, came out.
    """

    name: str
    labels: dict[str, str]
    column: str
    paper: float | None
    ours: float | None
    spread: float | None
    note: str = ""


@dataclass(frozen=True)
class Result:
    """All of it, as it is kept."""

    item: str
    scale: str
    title: str
    seeds: tuple[int, ...]
    columns: tuple[str, ...]
    across: str | None
    lines: tuple[Line, ...]
    orders: tuple[Verdict, ...]
    seconds: float  # of computing, in all runs

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

    def write(self, folder: Path) -> None:
        """Keep it in that folder."""
        folder.mkdir(parents=True, exist_ok=True)
        found = asdict(self)
        for line in found["lines"]:
            line["paper"] = "never" if line["paper"] == math.inf else line["paper"]
        (folder / FILE).write_text(json.dumps(found, indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Result | None:
        """What is kept in that folder, if anything is."""
        path = folder / FILE
        if not path.is_file():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        for line in found["lines"]:
            line["paper"] = math.inf if line["paper"] == "never" else line["paper"]
        found["lines"] = tuple(Line(**line) for line in found["lines"])
        found["orders"] = tuple(Verdict(**order) for order in found["orders"])
        return cls(**{**found, "seeds": tuple(found["seeds"]), "columns": tuple(found["columns"])})


def result_of(comparison: Comparison, rows: Sequence[Row], item: str, scale: str) -> Result:
    """The figures that the table shows, run by run and column by column.

    `comparison` is what was compared and `rows` what came out; `item` and `scale` say what was reproduced and how.
    """
    terms = comparison.terms
    told = [column for row in comparison.figures.values() for column in row]
    columns = terms.columns or tuple(dict.fromkeys(told)) or (terms.score,)
    lines = [_line(row, column, comparison) for row in rows for column in columns]
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
    )


def _line(row: Row, column: str, comparison: Comparison) -> Line:
    reached, seeds = row.reached(column), len(row.seeds)
    note = "; ".join(row.failures)
    if not note and reached < seeds:
        note = f"{reached} of {seeds} seeds" if reached else ("never" if column.endswith("_to_target") else "")
    paper = comparison.figures.get(row.entry.name, {}).get(column)
    return Line(row.entry.name, row.entry.labels, column, paper, row.mean(column), row.spread(column), note)
