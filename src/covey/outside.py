"""Code that a word names: `package.module:Name`, or `./mine.py:Name` for a file.

Modules are looked for in the current directory too, and a file finds the modules beside it. What the code does while it
is imported is its own affair; that it fails, or tries to end the program, is said in one sentence.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from covey.errors import CoveyError

T = TypeVar("T")

FILES = (".toml", ".csv", ".npz")  # that words name, and that hold no code
LONGEST = 4096  # letters of a word; paths on Linux are no longer

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_WORD = re.compile(rf"(?P<place>{_NAME}|(?:[A-Za-z]:[\\/])?[^:]*\.py):(?P<name>{_NAME})(?::(?P<rest>.*))?", re.DOTALL)


class Unloadable(Exception):
    """Code that cannot be had; the text says why."""


@dataclass(frozen=True)
class Address:
    """Where code is: a module or a file, and the name in it."""

    place: str
    name: str

    def __str__(self) -> str:
        return f"{self.place}:{self.name}"

    @property
    def bare(self) -> bool:
        """Whether the place is a single name, which might as well be that of a part."""
        return self.place.isidentifier()


def address(word: str) -> tuple[Address, str | None] | None:
    """Where the code is that a word names, and what stands after it; None where the word has another form.

    >>> address("./mine.py:Pairs:3")
    (Address(place='./mine.py', name='Pairs'), '3')
    >>> address("dirichlet:0.1") is None
    True
    """
    match = _WORD.fullmatch(word) if len(word) <= LONGEST else None
    if match and match["place"].endswith(FILES):  # a file, and none of code
        return None
    return match and (Address(match["place"], match["name"]), match["rest"])


def there(place: str) -> bool:
    """Whether a module of that single name could be imported; nothing is."""
    with importable(Path.cwd()):
        try:
            return importlib.util.find_spec(place) is not None
        except (ImportError, ValueError, AttributeError):  # what finders say of half-made modules
            return True


def load(where: Address) -> object:
    """What that name stands for, or `Unloadable`.

    >>> load(Address("math", "tau")) > 6
    True
    """
    found: object = guarded(lambda: _module(where.place))
    for part in where.name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise Unloadable(f"{where.place} has no {where.name}") from None
    return found


def guarded(call: Callable[[], T]) -> T:
    """What the call gives; whatever else it raises, `SystemExit` too, becomes `Unloadable`."""
    try:
        return call()
    except (Unloadable, CoveyError):
        raise
    except (Exception, SystemExit) as error:
        said = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
        frame = traceback.extract_tb(error.__traceback__)[-1]
        theirs = frame.filename.endswith(".py") and Path(__file__).parent not in Path(frame.filename).parents
        raise Unloadable(f"{said}, line {frame.lineno} of {Path(frame.filename).name}" if theirs else said) from error


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules in that folder can be imported meanwhile."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with suppress(ValueError):  # the code may have taken it out itself
            sys.path.remove(str(folder))


def _module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        with importable(Path.cwd()):
            return importlib.import_module(place)
    path = Path(place).expanduser().resolve()
    if not path.is_file():
        raise Unloadable(f"there is no file {path}")
    # One module a file as it is now, so that its words share their classes and an edited file is read again.
    text = path.read_bytes()
    name = f"covey_part_{path.stem}_{hashlib.blake2b(str(path).encode() + text, digest_size=8).hexdigest()}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None  # files that end in .py have a loader
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            with importable(path.parent):
                spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
