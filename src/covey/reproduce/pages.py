"""Pages of documentation, one a paper, written from the results that a store keeps."""

from __future__ import annotations

import shutil
from pathlib import Path

from covey.reproduce.catalogue import Item, items, state_of
from covey.reproduce.result import Result
from covey.reproduce.tables import markdown, sheet_of

SCALES = ("paper", "quick")


def write_pages(out: Path, folder: Path) -> list[Path]:
    """One page for every paper, and an index; what has no result yet says so."""
    folder.mkdir(parents=True, exist_ok=True)
    systems: dict[str, list[Item]] = {}
    for item in items():
        systems.setdefault(item.paper.system, []).append(item)
    written, lines = [], []
    for system, theirs in systems.items():
        path = folder / f"{system.lower()}.md"
        parts = [_summary(theirs, out), *(_section(item, out, folder) for item in theirs)]
        path.write_text(f"# {system}: tables and figures\n\n{INTRO}\n" + "\n".join(parts), encoding="utf-8")
        written.append(path)
        can = sum(item.paper.cannot is None for item in theirs)
        counts = [_count([result for _, result in _results(theirs, out, scale)]) for scale in SCALES]
        lines.append(f"| [{system}]({path.name}) | {can} | " + " | ".join(counts) + " |")
    head = "| paper | tables and figures to measure | the paper's scale | quick |\n|---|---|---|---|\n"
    index = folder / "index.md"
    text = f"# The papers' tables and figures\n\n{USAGE}\n{INTRO}\n{head}" + "\n".join(lines) + "\n"
    index.write_text(text, encoding="utf-8")
    return [index, *written]


INTRO = """Written by `covey reproduce … --pages docs/results`; figures are those of the command beside them.
"Here" is the mean over the seeds ± their standard deviation. `quick` is a short version, which shows that all works and
little more; `paper` has the paper's settings. Data that is not at hand is replaced, and the section says by what.
"""


USAGE = """    covey reproduce --list                                # all of them: state here, minutes, memory
    covey reproduce fedgsp-table-1                        # a short version, the paper's figures beside it
    covey reproduce fedgsp-table-1 --scale paper --jobs 2 # the paper's settings; goes on where it was stopped
    covey reproduce all --scale quick --pages docs/results

Each is a file in `src/covey/reproduce/papers`, in the format of [experiments in files](../toml.md). Its state is
`as in the paper`, `in other settings` (the file says which: often data that is at hand for data that is not), `quick
only` (data of the full scale is missing here), `data missing`, or `not expressible` (a drawing, a table of words).
Minutes and memory are estimates, for two idle cores.
"""


def _section(item: Item, out: Path, folder: Path) -> str:
    paper = item.paper
    lines = [f"\n## {paper.item}", "", paper.shows, ""]
    lines += [f"- Other than in the paper: {text}." for text in paper.instead]
    found = [(scale, result) for scale in SCALES if (result := Result.read(_place(out, item, scale))) is not None]
    if paper.cannot is not None:
        return "\n".join([*lines, f"- Not expressible: {paper.cannot}.", ""])
    if not found:
        state, why = state_of(item)
        return "\n".join([*lines, "", f"No result yet ({state}{': ' + why if state == 'data missing' else ''}).", ""])
    for scale, result in found:
        seeds = f"seed{'s' if len(result.seeds) > 1 else ''} {', '.join(map(str, result.seeds))}"
        lines += [
            "",
            "```sh",
            f"covey reproduce {item.name} --scale {scale}{_asked(item, result)}",
            "```",
            "",
            f"Scale {scale}, {seeds}.",
            "",
        ]
        lines.append(markdown(sheet_of(result)))
        if result.orders:
            lines += ["| expected | came out |", "|---|---|"]
            lines += [f"| {order.claim} | {'yes' if order.holds else '**no**'} |" for order in result.orders]
            lines.append("")
    picture = _place(out, item, found[0][0]) / "picture.png"
    if picture.is_file():
        target = folder / "pictures" / f"{item.name}.png"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(picture, target)
        lines.append(f"![{paper.system}, {paper.item}](pictures/{item.name}.png)\n")
    lines += [f"- {text}." for text in paper.notes]
    return "\n".join([*lines, ""])


def _asked(item: Item, result: Result) -> str:
    """The option for the seeds, where they are other than the file's."""
    if result.seeds == item.comparison(result.scale).terms.seeds:
        return ""
    few = result.seeds == tuple(range(len(result.seeds)))
    return f" --seeds {len(result.seeds) if few else ','.join(map(str, result.seeds))}"


def _place(out: Path, item: Item, scale: str) -> Path:
    return out / "reproduce" / item.name / scale


def _results(theirs: list[Item], out: Path, scale: str) -> list[tuple[Item, Result]]:
    found = [(item, Result.read(_place(out, item, scale))) for item in theirs]
    return [(item, result) for item, result in found if result is not None]


def _count(results: list[Result]) -> str:
    """How many there are, and how many of their claims came out."""
    if not results:
        return "none"
    orders = [order for result in results for order in result.orders]
    return f"{len(results)}, in which {sum(order.holds for order in orders)} of {len(orders)} claims came out"


def _summary(theirs: list[Item], out: Path) -> str:
    """Which of the paper's claims came out at its own scale, and which did not, with what is known of why."""
    results = _results(theirs, out, "paper")
    if not results:
        return "## What holds here\n\nNothing has been run at the paper's scale yet.\n"
    lines = ["## What holds here", "", "At the paper's scale (the sections below have more):", ""]
    for item, result in results:
        failed = [order.claim for order in result.orders if not order.holds]
        held = [order.claim for order in result.orders if order.holds]
        lines.append(f"- **{item.paper.item}**: {item.paper.shows}")
        lines += [f"    - came out: {'; '.join(held)}"] if held else []
        lines += [f"    - did not: {'; '.join(failed)}"] if failed else []
        lines += [f"    - {text}" for text in item.paper.notes]
    rest = [
        item.paper.item for item, _ in _results(theirs, out, "quick") if item.name not in {i.name for i, _ in results}
    ]
    lines += ["", f"Run in the quick version only, which decides nothing: {', '.join(rest)}."] if rest else []
    return "\n".join([*lines, ""])
