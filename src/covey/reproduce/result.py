"""What came out of a table or figure: the paper's figures beside ours, and which orders held. Kept as JSON."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from covey.compare import Comparison, Row, Verdict, judged, mean_of, spread_of, verdicts

FILE = "result.json"


@dataclass(frozen=True)
class Line:
    """One figure: of which run, in which column, the paper's and ours with its spread over the seeds.

    A figure of the paper that is infinite is a target never reached; ours is None where nothing, or a target not with
    every seed, came out. `values` has one a seed, none at all where only their mean was kept; `settings` is the
    fingerprint of what was run.
    """

    name: str
    labels: dict[str, str]
    column: str
    paper: float | None
    ours: float | None
    spread: float | None
    note: str = ""
    values: dict[int, float | None] = field(default_factory=dict)
    settings: str = ""


@dataclass(frozen=True)
class Result:
    """All of it, as it is kept; `seeds` are all that any of its lines has."""

    item: str
    scale: str
    title: str
    seeds: tuple[int, ...]
    columns: tuple[str, ...]
    across: str | None
    lines: tuple[Line, ...]
    orders: tuple[Verdict, ...]
    seconds: float  # of computing, in the runs that were made last

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
            line["values"] = {int(seed): value for seed, value in line["values"].items()}
        found["lines"] = tuple(Line(**line) for line in found["lines"])
        found["orders"] = tuple(Verdict(**order) for order in found["orders"])
        return cls(**{**found, "seeds": tuple(found["seeds"]), "columns": tuple(found["columns"])})

    def joined(self, kept: Result, comparison: Comparison) -> Result:
        """With the rows and the seeds that only the kept result has.

        Figures of a row are put together where both were run with the same settings, and both have a figure a seed; of
        a seed that both have, this one's count. Else this result's are taken, unless only the kept ones are of the
        settings that the comparison has now.
        """
        both = [{(line.name, line.column): line for line in result.lines} for result in (kept, self)]
        lines = []
        for entry, column in itertools.product(comparison.entries, comparison.columns):
            there = [found[entry.name, column] for found in both if (entry.name, column) in found]
            if there:
                now = [line for line in there if line.settings == comparison.fingerprint(entry)] or there[-1:]
                paper = comparison.figures.get(entry.name, {}).get(column)
                lines.append(replace(_together(now), labels=entry.labels, paper=paper))
        means = any(not line.values for line in lines)
        seeds = {*(kept.seeds if means else ()), *(seed for line in lines for seed in line.values)}
        joined = replace(
            self,
            title=comparison.terms.title,
            columns=comparison.columns,
            across=comparison.terms.across,
            seeds=tuple(sorted(seeds)),
            lines=tuple(lines),
        )
        return joined.judged(comparison)

    def judged(self, comparison: Comparison) -> Result:
        """With the orders that are expected now, which may be others than when it was kept, of the rows it has."""
        values = {(line.name, line.column): tuple(line.values.values()) or (line.ours,) for line in self.lines}
        there = comparison.only([name for name, column in values if column == self.columns[0]])
        orders = judged(there, lambda name, column: values.get((name, column), (None,)))
        return replace(self, orders=tuple(orders))

    def replaces(self, kept: Result) -> bool:
        """Whether a row that the kept result has is of other settings here."""
        own = {line.name: line.settings for line in self.lines}
        return any(own.get(line.name, line.settings) != line.settings for line in kept.lines)

    def earlier(self, comparison: Comparison) -> list[str]:
        """The rows whose figures are of other settings than those that the comparison has now."""
        now = {entry.name: comparison.fingerprint(entry) for entry in comparison.entries}
        return list(dict.fromkeys(line.name for line in self.lines if line.settings != now.get(line.name)))


def folder_of(out: Path, item: str, scale: str) -> Path:
    """Where what came out of a table or figure is kept in a store."""
    return out / "reproduce" / item / scale


def result_of(comparison: Comparison, rows: Sequence[Row], item: str, scale: str) -> Result:
    """The figures that the table shows, run by run and column by column.

    `comparison` is what was compared and `rows` what came out; `item` and `scale` say what was reproduced and how.
    """
    terms = comparison.terms
    lines = [_line(_empty(row, column, comparison), row.failures) for row in rows for column in comparison.columns]
    spent = sum(value or 0.0 for row in rows for value in row.values.get("wall_seconds", []))
    return Result(
        item,
        scale,
        terms.title,
        terms.seeds,
        comparison.columns,
        terms.across,
        tuple(lines),
        tuple(verdicts(comparison, rows)),
        float(spent),
    )


def _empty(row: Row, column: str, comparison: Comparison) -> Line:
    paper = comparison.figures.get(row.entry.name, {}).get(column)
    values = dict(zip(row.seeds, row.values.get(column, (None,) * len(row.seeds)), strict=True))
    settings = comparison.fingerprint(row.entry)
    return Line(row.entry.name, row.entry.labels, column, paper, None, None, values=values, settings=settings)


def _together(lines: Sequence[Line]) -> Line:
    """The figures of all, seed by seed, the last one's before the others'; the last line where one has only a mean."""
    last = lines[-1]
    if len(lines) == 1 or not all(line.values for line in lines):
        return last
    values = {seed: value for line in lines for seed, value in line.values.items()}
    return last if values == last.values else _line(replace(last, values=dict(sorted(values.items()))))


def _line(line: Line, failures: Sequence[str] = ()) -> Line:
    """The line with the mean and the spread of its values, and a note where there is no mean."""
    values = tuple(line.values.values())
    reached, seeds = sum(value is not None for value in values), len(values)
    note = "; ".join(failures)
    if not note and reached < seeds:
        note = f"{reached} of {seeds} seeds" if reached else ("never" if line.column.endswith("_to_target") else "")
    return replace(line, ours=mean_of(values), spread=spread_of(values), note=note)
