"""The table of a result, the paper's figures beside ours: for the terminal, as markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from covey.compare.orders import label_of
from covey.reproduce.result import Line, Result

SHARES = ("accuracy", "own_accuracy", "train_accuracy", "at_equal_traffic")
BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True)
class Sheet:
    """A table of texts."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sheet_of(result: Result) -> Sheet:
    """One row per run; a column of the paper beside ours wherever the paper has figures."""
    across = [None] if result.across is None else _values(result.lines, result.across)
    groups: dict[str, dict[tuple[str | None, str], Line]] = {}
    for line in result.lines:
        side = None if result.across is None else line.labels.get(result.across)
        groups.setdefault(_name(line, result), {})[side, line.column] = line
    spots = [(side, column) for side in across for column in result.columns]
    told = {spot for spot in spots if any(row.get(spot) and row[spot].paper is not None for row in groups.values())}
    header = [""]
    for side, column in spots:
        whose = label_of(result.across or "", side) if side else None
        head = " ".join(filter(None, (whose, column.replace("_", " "))))
        header += [f"{head}, paper", "here"] if (side, column) in told else [head]
    rows = []
    for name, lines in groups.items():
        cells = [name]
        for spot in spots:
            there = lines.get(spot)
            cells += [_paper(there)] if spot in told else []
            cells.append(_ours(there))
        rows.append(tuple(cells))
    return Sheet(tuple(header), tuple(rows))


def markdown(sheet: Sheet) -> str:
    """As in a page of documentation."""
    rows = [sheet.header, ("---",) * len(sheet.header), *sheet.rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows) + "\n"


def latex(sheet: Sheet) -> str:
    """A tabular, to be put into a document."""
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (sheet.header, *sheet.rows)]
    columns = "l" + "r" * (len(sheet.header) - 1)
    body = "\n".join([lines[0], r"\hline", *lines[1:]])
    return f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"


def as_csv(result: Result) -> str:
    """One line a figure, with all its digits."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(["run", "column", "paper", "ours", "spread", "seeds", "note"])
    for line in result.lines:
        paper = "never" if line.paper == math.inf else line.paper
        write.writerow([line.name, line.column, paper, line.ours, line.spread, len(result.seeds), line.note])
    return out.getvalue()


def unit_of(bytes_: float) -> tuple[float, str] | None:
    """The largest unit that so many bytes are one of at least, and its name."""
    return next(((unit, name) for unit, name in BYTES if abs(bytes_) >= unit), None)


def number(value: float, column: str = "", digits: int = 4) -> str:
    """A figure for a person.

    >>> number(0.8541, "accuracy"), number(34.0), number(10.962), number(43_500_000, "bytes_to_target")
    ('0.854', '34', '10.96', '43.5 MB')
    >>> number(240.3, digits=2)
    '240'
    """
    if "bytes" in column and (found := unit_of(value)) is not None:
        return f"{value / found[0]:.1f} {found[1]}"
    if column in SHARES:
        return f"{value:.3f}"
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if 10 ** min(digits, 3) <= abs(value) < 1e7 else f"{value:.{digits}g}"


def _paper(line: Line | None) -> str:
    if line is None or line.paper is None:
        return ""
    return "never" if line.paper == math.inf else number(line.paper, line.column)


def _ours(line: Line | None) -> str:
    if line is None:
        return ""
    if line.ours is None:
        return line.note or "-"
    spread = "" if line.spread is None else f" ± {number(line.spread, line.column, 2)}"
    return number(line.ours, line.column) + spread


def _values(lines: Sequence[Line], key: str) -> list[str | None]:
    return list(dict.fromkeys(line.labels.get(key) for line in lines))


def _name(line: Line, result: Result) -> str:
    """The labels in which rows differ, without those that stand side by side."""
    keys = [key for key in line.labels if key != result.across and len(_values(result.lines, key)) > 1]
    return ", ".join(label_of(key, line.labels[key]) for key in keys) or line.labels.get("run", line.name)


def _escaped(text: str) -> str:
    for letter in "&%$#_{}":
        text = text.replace(letter, f"\\{letter}")
    return text.replace("±", r"$\pm$")
