"""The checkpoint files of a run: one per round, each written beside its name and moved there in one step."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from covey.errors import BadData

FILE = re.compile(r"round-(\d{6,18})\.safetensors")


def file_of(folder: Path, round: int) -> Path:
    """Where the checkpoint of that round is."""
    return folder / f"round-{round:06d}.safetensors"


def files_in(folder: Path) -> dict[int, Path]:
    """The checkpoints in a run's folder by round, in order; whatever else is there is none."""
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return {}
    found = {int(match[1]): folder / name for name in names if (match := FILE.fullmatch(name))}
    return dict(sorted(found.items()))


def check_folder(folder: Path) -> Path:
    """Refuse a folder that is a link, which may lead anywhere, or a file; one that is not there yet may pass."""
    try:
        mode = folder.lstat().st_mode
    except FileNotFoundError:
        return folder
    if not stat.S_ISDIR(mode):
        raise BadData(
            f"{folder} is not a folder but a {'link' if stat.S_ISLNK(mode) else 'file'}, which is not followed"
        )
    return folder


def write_file(path: Path, content: bytes) -> None:
    """Write a file that is never seen in part."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    try:
        with part.open("xb") as file:  # never through a link that somebody put there
            file.write(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def to_disk(path: Path) -> None:
    """Wait until a file, or what a folder says is in it, is on the disk itself."""
    if path.is_dir() and os.name == "nt":
        return  # Windows has no such thing for folders
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def set_aside(path: Path) -> Path:
    """Take what is refused out of the way without losing it; gives its new name."""
    aside, number = path.with_name(f"{path.name}.refused"), 1
    while os.path.lexists(aside):
        number += 1
        aside = path.with_name(f"{path.name}.refused-{number}")
    return path.rename(aside)
