"""Which tables and figures there are, and whether this machine can repeat them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from covey.compare import Comparison
from covey.compare.paper import Paper
from covey.compare.scales import PAPER, searched_for
from covey.errors import BadData, UnknownName
from covey.experiment.settings import Experiment, read_toml

FOLDER = Path(__file__).parent / "papers"
QUICK = "quick"  # the scale of minutes that every item has
DRAWINGS = "drawings.toml"  # tables and figures with nothing in them that could be measured


@dataclass(frozen=True)
class Item:
    """One table or figure: its name, its file, and what is known of it."""

    name: str
    path: Path
    paper: Paper

    @property
    def scales(self) -> tuple[str, ...]:
        """The scales it can be run at, the paper's first, the quick one and searches last."""
        if self.paper.cannot is not None:
            return ()
        others = read_toml(self.path, {}, allow_code=False).get("scale", {})
        return PAPER, *sorted(others, key=lambda scale: (searched_for(scale) is not None, scale == QUICK))

    def comparison(self, scale: str, terms: dict[str, Any] | None = None) -> Comparison:
        """What is run for it at that scale."""
        return Comparison.read(self.path, terms=terms, scale=scale)


@lru_cache(maxsize=1)
def items() -> tuple[Item, ...]:
    """All tables and figures, paper by paper, in the papers' order."""
    found = [Item(path.stem, path, _paper(path)) for path in FOLDER.glob("*.toml") if path.name != DRAWINGS]
    found += _drawings(FOLDER / DRAWINGS)
    return tuple(sorted(found, key=lambda item: (item.paper.system, _place(item.name))))


def find(name: str) -> Item:
    """The table or figure of that name."""
    for item in items():
        if item.name == name:
            return item
    raise UnknownName("table or figure", name, [item.name for item in items()])


def state_of(item: Item) -> tuple[str, str]:
    """What can be done with it here, and why.

    `as in the paper`; `in other settings`; `quick only` where data of the full scale is missing; `data missing`; `not
    expressible`.
    """
    if item.paper.cannot is not None:
        return "not expressible", item.paper.cannot
    for scale, state in ((QUICK, "data missing"), (PAPER, "quick only")):
        if gone := missing_data(item, scale):
            return state, f"{gone}: covey data get {gone}"
    if item.paper.instead:
        return "in other settings", "; ".join(item.paper.instead)
    return "as in the paper", ""


def missing_data(item: Item, scale: str) -> str | None:
    """The first data set that this scale asks for and this machine does not have."""
    return next((name for name in data_of(item, scale) if not _is_here(name)), None)


def _paper(path: Path) -> Paper:
    found = read_toml(path, {}, allow_code=False).get("paper")
    if not isinstance(found, dict):
        raise BadData(f"{path} has no table [paper]")
    return Paper(**found)


def _drawings(path: Path) -> list[Item]:
    """Drawings, and tables of words: each a line, system and item, and what it is."""
    if not path.is_file():
        return []
    found = []
    for system, lines in read_toml(path, {}, allow_code=False).items():
        for item, shows in lines.items():
            name = f"{system}-{item}".lower().replace(" ", "-")
            kind = item.split()[0].lower()
            why = "it holds no figures that could be measured"
            told = {"system": system, "item": item, "kind": kind, "shows": shows, "cannot": why}
            found.append(Item(name, path, Paper.model_validate(told)))
    return found


def _place(name: str) -> tuple[bool, int, str]:
    """Tables before figures, each by number.

    >>> sorted(["a-figure-12", "a-figure-2", "a-table-1-skewed", "a-table-1"], key=_place)
    ['a-table-1', 'a-table-1-skewed', 'a-figure-2', 'a-figure-12']
    """
    found = re.search(r"-(?:table|figure)-(\d+)(.*)", name)
    return "-figure-" in name, int(found[1]) if found else 0, found[2] if found else name


def data_of(item: Item, scale: str) -> list[str]:
    """The data sets that it asks for at that scale."""
    usual = Experiment.model_fields["data"].default
    cells = item.comparison(scale).cells()
    return list(dict.fromkeys(str(cell.settings.get("data", usual)) for cell in cells if cell.work != "groupops"))


@lru_cache(maxsize=32)
def _is_here(name: str) -> bool:
    from covey.data.datasets import find, source_of

    return all(find(each) is not None for each in (name, *source_of(name).needs))
