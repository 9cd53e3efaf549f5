"""Pages of documentation, one a paper, of the results that a store has and of those that were kept before.

What a page shows is kept beside it, `data/NAME.SCALE.json` with a figure a seed, so that a page can be written again
without the runs, and seeds that were run at another time are counted in.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from covey.compare import Verdict
from covey.compare.orders import in_short
from covey.compare.scales import PAPER, searched_for
from covey.reproduce.catalogue import QUICK, Item, data_of, items
from covey.reproduce.result import FILE, Result, folder_of
from covey.reproduce.search import choices
from covey.reproduce.tables import markdown, sheet_of

DATA, PICTURES = "data", "pictures"  # folders beside the pages
Found = dict[str, Result]  # by scale, the paper's first


def write_pages(out: Path, folder: Path) -> list[Path]:
    """One page for every paper, and an index; what has no result yet says so."""
    folder.mkdir(parents=True, exist_ok=True)
    systems: dict[str, list[tuple[Item, Found]]] = {}
    for item in items():
        systems.setdefault(item.paper.system, []).append((item, _found(item, out, folder)))
    written, lines = [], []
    for system, theirs in systems.items():
        path = folder / f"{system.lower()}.md"
        parts = [_summary(theirs), *(_section(item, found, out, folder) for item, found in theirs)]
        path.write_text(f"# {system}: tables and figures\n\n{INTRO}\n" + "\n".join(parts), encoding="utf-8")
        written.append(path)
        can = sum(item.paper.cannot is None for item, _ in theirs)
        counts = [_count([found[scale] for _, found in theirs if scale in found]) for scale in (PAPER, QUICK)]
        lines.append(f"| [{system}]({path.name}) | {can} | " + " | ".join(counts) + " |")
    head = "| paper | tables and figures to measure | the paper's scale | quick |\n|---|---|---|---|\n"
    index = folder / "index.md"
    text = f"# The papers' tables and figures\n\n{USAGE}\n{INTRO}\n{head}" + "\n".join(lines) + "\n"
    index.write_text(text, encoding="utf-8")
    return [index, *written]


INTRO = """Written by `covey reproduce … --pages docs/results`; figures are those of the command beside them.
"Here" is the mean over the seeds ± their standard deviation. `quick` is a short version, which shows that all works and
little more; `paper` has the paper's settings; `evening`, where there is one, is what of them fits an evening on two
cores. Data that is not at hand is replaced, and the section says by what.
"""


USAGE = """    covey reproduce --list                                # all of them: state here, minutes, memory
    covey reproduce fedgsp-table-1                        # a short version, the paper's figures beside it
    covey reproduce fedgsp-table-1 --scale paper --jobs 2 # the paper's settings; goes on where it was stopped
    covey reproduce all --scale quick --pages docs/results

Each is a file in `src/covey/reproduce/papers`, in the format of [experiments in files](../toml.md). Its state is
`as in the paper`, `in other settings` (the file says which: often data that is at hand for data that is not), `quick
only` (data of the full scale is missing here), `data missing`, or `not expressible` (a drawing, a table of words).
Minutes and memory are estimates, for two idle cores. `covey reproduce all --scale quick --jobs 2` took 18 minutes on
two cores when it was last run, for all 63 that can be measured; slow ones may take several times as long.

Settings that a paper does not give, learning rates above all, are chosen by a search on a seed that is not reported,
`--scale search`, whose table stands with the others.

With `--pages` the figures of every row and seed are kept in `data/`, and what was run before, perhaps on another
machine, is counted in: `covey reproduce fedgsp-table-1 --scale paper --seeds 1,2 --pages docs/results` adds two seeds,
`--only fedadam` runs a row alone whose settings have changed. Rows are put together only where they were run with the
same settings; a page says which are not. Pictures are of the seeds that their titles name.
"""


def _found(item: Item, out: Path, folder: Path) -> Found:
    """What there is of it, scale by scale: what the store has, with the seeds that were kept before; it is kept now.

    A picture that shows rows of settings that have been replaced goes.
    """
    found: Found = {}
    for scale in item.scales:
        kept_at = folder / DATA / f"{item.name}.{scale}.json"
        fresh, kept = Result.read(folder_of(out, item.name, scale) / FILE), Result.read(kept_at)
        comparison = item.comparison(scale)
        newest = fresh or kept
        if newest is not None:
            joined = newest.joined(kept or newest, comparison)
            if joined.lines:  # else nothing that was run is in the file any more
                found[scale] = joined
                joined.write(kept_at)
            if kept is not None and joined.replaces(kept):
                _shown(item, scale, folder).unlink(missing_ok=True)
    return found


def _picture(item: Item, found: Found, out: Path, folder: Path) -> Path | None:
    """The picture of the longest version that was drawn, but of no search, where it is kept; shorter ones' go."""
    shown = None
    for scale in [scale for scale in found if searched_for(scale) is None]:
        drawn = _drawn(item, out, scale)
        target = _shown(item, scale, folder)
        if shown is not None:
            target.unlink(missing_ok=True)
        elif drawn is not None:
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(drawn, target)
        shown = shown or (target if target.is_file() else None)
    return shown


def _shown(item: Item, scale: str, folder: Path) -> Path:
    """Where the picture stands that a page shows."""
    return folder / PICTURES / f"{item.name}{'' if scale == PAPER else '-' + scale}.png"


def _drawn(item: Item, out: Path, scale: str) -> Path | None:
    """The picture in the store, if it shows all rows."""
    folder = folder_of(out, item.name, scale)
    result, path = Result.read(folder / FILE), folder / "picture.png"
    rows = {entry.name for entry in item.comparison(scale).entries}
    whole = result is not None and {line.name for line in result.lines} >= rows
    return path if whole and path.is_file() else None


def _section(item: Item, found: Found, out: Path, folder: Path) -> str:
    paper = item.paper
    lines = [f"\n## {paper.item}", "", paper.shows, ""]
    lines += [f"- Other than in the paper: {text}." for text in paper.instead]
    if paper.cannot is not None:
        return "\n".join([*lines, f"- Not expressible: {paper.cannot}.", ""])
    if not found:
        return "\n".join([*lines, "", f"No result yet; its data is {', '.join(data_of(item, QUICK))}.", ""])
    for scale, result in found.items():
        lines += [
            "",
            "```sh",
            f"covey reproduce {item.name} --scale {scale}{_asked(item, result)}",
            "```",
            "",
            f"Scale {scale}, {result.whose}.{_apart(item, result)}",
            "",
        ]
        lines.append(markdown(sheet_of(result)))
        lines += [f"- {choice}." for choice in choices(item, result)]
        if result.orders:
            lines += ["| expected | came out |", "|---|---|"]
            lines += [f"| {order.claim} | {'yes' if order.holds else '**no**'} |" for order in result.orders]
            lines.append("")
    if (picture := _picture(item, found, out, folder)) is not None:
        lines.append(f"![{paper.system}, {paper.item}]({PICTURES}/{picture.name})\n")
    lines += [f"- {text}." for text in paper.notes]
    return "\n".join([*lines, ""])


def _apart(item: Item, result: Result) -> str:
    """Which rows are not what the command would give now: of other settings, without some of the seeds, or not run."""
    comparison = item.comparison(result.scale)
    names = [entry.name for entry in comparison.entries]
    earlier = result.earlier(comparison)
    fewer = [line.name for line in result.lines if line.values and tuple(line.values) != result.seeds]
    missing = [name for name in names if name not in {line.name for line in result.lines}]
    if earlier == names:
        return " The figures are of earlier settings than those the command has now."
    told = {"Of earlier settings": earlier, "Without some of the seeds": fewer, "Not run": missing}
    return "".join(f" {head}: {', '.join(dict.fromkeys(rows))}." for head, rows in told.items() if rows)


def _asked(item: Item, result: Result) -> str:
    """The option for the seeds, where they are other than the file's."""
    if result.seeds == item.comparison(result.scale).terms.seeds:
        return ""
    few = result.seeds == tuple(range(len(result.seeds)))
    return f" --seeds {len(result.seeds) if few else ','.join(map(str, result.seeds))}"


def _count(results: list[Result]) -> str:
    """How many there are, and how many of their claims came out."""
    if not results:
        return "none"
    orders = [order for result in results for order in result.orders]
    return f"{len(results)}, in which {_held(orders)} of {len(orders)} claims came out"


def _held(orders: Sequence[Verdict]) -> int:
    return sum(order.holds for order in orders)


def _summary(theirs: list[tuple[Item, Found]]) -> str:
    """Which of the paper's claims came out in the longest version that was run, and which did not, and why if known."""
    longest = [(item, next(iter(found.values()))) for item, found in theirs if found]
    decided = [(item, result) for item, result in longest if result.scale != QUICK and not searched_for(result.scale)]
    if not decided:
        return "## What holds here\n\nNothing has been run at the paper's scale yet.\n"
    lines = [
        "## What holds here",
        "",
        "At the paper's scale, or another that is named (the sections below have more):",
        "",
    ]
    for item, result in decided:
        rows = {line.name: line.labels for line in result.lines}
        held, failed = (in_short([o.claim for o in result.orders if o.holds is was], rows) for was in (True, False))
        named = "" if result.scale == PAPER else f", scale {result.scale}"
        count = f", {_held(result.orders)} of {len(result.orders)} claims" if result.orders else ""
        lines.append(f"- **{item.paper.item}**{named}{count}: {item.paper.shows}")
        lines += [f"    - came out: {'; '.join(held)}"] if held else []
        lines += [f"    - did not: {'; '.join(failed)}"] if failed else []
        lines += [f"    - {text}" for text in item.paper.notes]
    rest = [item.paper.item for item, result in longest if result.scale == QUICK]
    lines += ["", f"Run in the quick version only, which decides nothing: {', '.join(rest)}."] if rest else []
    return "\n".join([*lines, ""])
