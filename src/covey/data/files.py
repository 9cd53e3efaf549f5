"""Where data files are looked for, how they are fetched, and how a bad one is told apart from a good one.

Places, in this order: `$COVEY_DATA/<set>`, `$COVEY_DATA`, `/usr/share/datasets/<set>` (Debian's place),
`/usr/local/share/datasets/<set>`, and the user's cache, which is where downloads go.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import struct
import tarfile
import wave
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pooch

from covey.errors import BadData, CoveyError

SYSTEM = (Path("/usr/share/datasets"), Path("/usr/local/share/datasets"))

# what parsers raise when a file is not what they were promised
DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    tarfile.TarError,
    wave.Error,
    zlib.error,
)

MOST_BYTES = 2**29
"""Of one file or member of an archive, unpacked; the largest that the data sets have is 183 MB."""

MOST_IN_ARCHIVE = 2**33
"""Of all members of an archive, unpacked; Speech Commands has 3.3 GB."""


@dataclass(frozen=True)
class Remote:
    """A file upstream; `checksum` is `md5:…` or `sha256:…` of its bytes, `unpack` what to take out of an archive."""

    name: str
    url: str
    checksum: str
    unpack: tuple[str, ...] = ()


def data_folder() -> Path | None:
    """What `$COVEY_DATA` names, if anything."""
    given = os.environ.get("COVEY_DATA")
    return Path(given).expanduser() if given else None


def cache_folder(name: str) -> Path:
    """Where the files of a set are kept once fetched."""
    return Path(pooch.os_cache("covey")) / name


def places(name: str) -> list[tuple[Path, bool]]:
    """The folders to look in, first come first served, and whether each holds the files of this set alone."""
    given = data_folder()
    named = [(given / name, True), (given, False)] if given else []
    return [*named, *((place / name, True) for place in SYSTEM), (cache_folder(name), True)]


def fetch(name: str, remote: Remote, *, progress: Any = False) -> None:
    """Bring one file into the cache, checksum verified; `progress` is an object as pooch's progress bars are."""
    pooch.get_logger().setLevel("WARNING")
    unpack = pooch.Untar(members=list(remote.unpack), extract_dir=".") if remote.unpack else None
    folder = cache_folder(name)
    try:
        pooch.retrieve(
            remote.url,
            known_hash=remote.checksum,
            fname=remote.name,
            path=folder,
            processor=unpack,
            downloader=pooch.HTTPDownloader(progressbar=progress, chunk_size=1 << 20),
        )
    except (OSError, ValueError, tarfile.TarError) as error:
        reason = " ".join(str(error).split())
        raise BadData(
            f"{remote.url} could not be fetched ({reason}): try again, or put {remote.name} into {folder} by hand"
        ) from error


@contextmanager
def reading(path: Path, kind: str, also: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn whatever a damaged file makes its parser raise (`also` these) into one sentence that names the file.

    >>> with reading(Path("labels.json"), "a LEAF file"):
    ...     raise EOFError("ends early")
    Traceback (most recent call last):
    covey.errors.BadData: labels.json is truncated or not a LEAF file (ends early): replace it with a good copy
    """
    try:
        yield
    except CoveyError:
        raise
    except DAMAGE + also as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BadData(f"{path} is truncated or not {kind} ({reason}): replace it with a good copy") from error


def contents(path: Path) -> bytes:
    """The bytes of a file, decompressed where its name ends in .gz."""
    packed = path.suffix == ".gz"
    open_: Callable[..., Any] = gzip.open if packed else open
    with reading(path, "a gzip file" if packed else "a readable file"), open_(path, "rb") as file:
        return _bounded(file, MOST_BYTES, path)


def _bounded(file: IO[bytes], most: int, path: Path) -> bytes:
    """All there is to read, unless that is more than this many bytes; a small file may unpack to any size."""
    data = file.read(most + 1)
    if len(data) > most:
        raise BadData(f"{path} has more than {most // 2**20} MB in one file, which no data set has: replace it")
    return data


def check_md5(data: bytes | memoryview, md5: str, where: str) -> None:
    """Refuse bytes that are not those published."""
    found = hashlib.md5(data, usedforsecurity=False).hexdigest()
    if found != md5:
        raise BadData(f"{where} is corrupt (MD5 {found}, published is {md5}): replace it with a good copy")


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file in a tar archive, in the order they lie in it."""
    with reading(archive, "a tar archive"), tarfile.open(archive) as tar:
        left = MOST_IN_ARCHIVE
        for member in tar:
            file = tar.extractfile(member)
            if file is not None:
                data = _bounded(file, min(left, MOST_BYTES), archive)
                left -= len(data)
                yield member.name.removeprefix("./"), data
