"""Data of one's own by a word: `FILE.npz`, `FILE.csv:label=species`, `FOLDER/:size=32`.

A folder is written with a slash, as `./photos` or `photos/`, so that it is never taken for a name. What the word sets
after the colon are the fields of the format, which the file or folder itself tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from covey.data.arrays import Npz
from covey.data.datasets import Dataset
from covey.data.huggingface import HuggingFace
from covey.data.pictures import Pictures
from covey.data.table import Table
from covey.errors import BadData
from covey.registry import Registry
from covey.words import make

SAVED = ("dataset_dict.json", "dataset_info.json", "state.json")  # what save_to_disk leaves in a folder
_WORD = re.compile(r"(?P<path>.+?\.(?:npz|csv)|[^:]*[/\\][^:]*)(?::(?P<rest>.*))?", re.IGNORECASE | re.DOTALL)


class Format(Protocol):
    """How data lies in a file or folder: a frozen dataclass of settings."""

    def read(self, path: Path) -> Dataset:
        """The data set that is there."""

    def owned(self, path: Path) -> bool:
        """Whether the data says who owns what."""


FORMATS: Registry[Callable[..., Format]] = Registry("data format")
FORMATS.add("npz", Npz)
FORMATS.add("csv", Table)
FORMATS.add("images", Pictures)
FORMATS.add("huggingface", HuggingFace)


@dataclass(frozen=True)
class Own:
    """A file or folder, and how to read it."""

    path: Path
    format: Format

    def read(self) -> Dataset:
        """The data set that is there."""
        return self.format.read(self.path)

    @property
    def owned(self) -> bool:
        """Whether the data says who owns what."""
        return self.format.owned(self.path)


def is_own(word: str) -> bool:
    """Whether a word is written as a file or folder of data.

    >>> is_own("iris.csv:label=species"), is_own("photos/"), is_own("digits"), is_own("./mine.py:coins")
    (True, True, False, False)
    """
    match = _WORD.fullmatch(word)
    return match is not None and not match["path"].lower().endswith(".py")


def own_data(word: str) -> Own:
    """The file or folder that a word names, with the settings the word gives."""
    match = _WORD.fullmatch(word)
    assert match is not None  # see `is_own`
    path = Path(match["path"]).expanduser()
    if not path.exists():
        raise BadData(f"{match['path']}: no such {'file' if path.suffix.lower() in ('.npz', '.csv') else 'folder'}")
    kind = _kind(path)
    rest = match["rest"]
    return Own(path, make(FORMATS, kind if rest is None else f"{kind}:{rest}", "data"))


def _kind(path: Path) -> str:
    if path.is_dir():
        return "huggingface" if any((path / name).is_file() for name in SAVED) else "images"
    if path.suffix.lower() not in (".npz", ".csv"):
        raise BadData(f"{path} is neither an .npz file, a .csv table nor a folder")
    return path.suffix.lower()[1:]
