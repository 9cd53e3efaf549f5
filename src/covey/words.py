"""Words that name a part and set it: `adam`, `adam:0.1`, `adam:rate=0.1,beta1=0.9`, `adam:0.1,beta1=0.9`.

Before the colon stands a registered name, or the address of code (`./mine.py:Signed:0.1`). After it stand values,
parted by commas: first values without a name, which go to the part's fields in their order, then values with the name
of their field. What a field takes is read off its annotation: whole numbers, numbers, true or false, texts, one of
several texts, or one of these and `none`.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any, Literal, TypeVar

from covey.errors import BadValue, UnknownName
from covey.outside import Unloadable, address, guarded
from covey.registry import Registry, names_code

T = TypeVar("T")

_LONGEST_WHOLE = 18  # digits; what fits in 64 bits
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def make(registry: Registry[Callable[..., T]], word: str, field: str | None = None) -> T:
    """The part that a word names, with the settings the word gives it.

    `field` is what errors call the word: the setting it was given for, or the kind of part.

    >>> from dataclasses import dataclass
    >>> shapes = Registry[Callable[..., object]]("shape")
    >>> @shapes.register("box")
    ... @dataclass(frozen=True)
    ... class Box:
    ...     '''A box.'''
    ...     width: float
    ...     height: float = 1.0
    ...     lid: bool = False
    >>> make(shapes, "box:3"), make(shapes, "box:3,lid=yes")
    (Box(width=3.0, height=1.0, lid=False), Box(width=3.0, height=1.0, lid=True))
    >>> make(shapes, "box:wide")
    Traceback (most recent call last):
    covey.errors.BadValue: width of box is 'wide'; allowed is a number
    >>> make(shapes, "box")
    Traceback (most recent call last):
    covey.errors.BadValue: shape is 'box'; allowed is box:width,height=1.0,lid=False (width is missing)
    """
    field = field or registry.kind
    if not isinstance(word, str):
        raise BadValue(field, word, f"a text such as {registry.names[0]!r}")
    name, rest = split(word)
    kind = registry[name]
    settings = _settings(word, name, kind, rest, field)
    if name in registry:
        return kind(**settings)
    try:
        return guarded(lambda: kind(**settings))
    except Unloadable as error:
        raise BadValue(field, word, f"settings that {name} takes ({error})") from error


def split(word: str) -> tuple[str, str | None]:
    """The name in a word, which may be the address of code, and what stands after it.

    >>> split("adam:0.1,beta1=0.9"), split("ida"), split("./mine.py:Signed:0.1")
    (('adam', '0.1,beta1=0.9'), ('ida', None), ('./mine.py:Signed', '0.1'))
    """
    found = address(word)
    if found is not None and names_code(word):
        return str(found[0]), found[1]
    name, colon, rest = word.partition(":")
    return name, rest if colon else None


def usage(name: str, kind: Callable[..., object]) -> str:
    """How a word for that part is written: an `example` of its own, or all its fields with their defaults."""
    example = getattr(kind, "example", None)
    if isinstance(example, str):
        return example
    spelled = [
        p.name if p.default is p.empty else f"{p.name}={p.default}" for p in inspect.signature(kind).parameters.values()
    ]
    return f"{name}:{','.join(spelled)}" if spelled else name


def spelled(name: str, part: object) -> str:
    """The shortest word that makes an equal part again; of a part that is no dataclass, its name.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Box:
    ...     width: float
    ...     lid: bool = False
    >>> spelled("box", Box(3.0)), spelled("box", Box(2.5, lid=True))
    ('box:3', 'box:2.5,lid=true')
    """
    values = []
    if not is_dataclass(part):
        return name
    for p in inspect.signature(type(part)).parameters.values():
        value = getattr(part, p.name)
        if p.default is p.empty:
            values.append(_text(value))
        elif value != p.default:
            values.append(f"{p.name}={_text(value)}")
    return f"{name}:{','.join(values)}" if values else name


def number(text: str, field: str, allowed: str = "a number") -> float:
    """A finite number from text.

    >>> number("1e400", "rate")
    Traceback (most recent call last):
    covey.errors.BadValue: rate is '1e400'; allowed is a number
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadValue(field, text, allowed)
    return value


def whole(text: str, field: str, allowed: str = "a whole number") -> int:
    """A whole number from text, of 18 digits at most.

    >>> whole("12", "rounds"), whole("-3", "shift")
    (12, -3)
    """
    digits = text.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        raise BadValue(field, text, allowed)
    if len(digits) > _LONGEST_WHOLE:
        raise BadValue(field, text, f"{allowed} of at most {_LONGEST_WHOLE} digits")
    return int(text)


def _settings(word: str, name: str, kind: Callable[..., object], rest: str | None, field: str) -> dict[str, Any]:
    """The arguments that the text after the colon stands for, each of the type its field takes."""
    parameters = inspect.signature(kind).parameters
    ordered = [p.name for p in parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    hints = _hints(kind)
    found: dict[str, Any] = {}
    for key, text in _pairs(word, rest, field, usage(name, kind)):
        if key is None:
            if len(found) >= len(ordered):
                raise BadValue(field, word, f"{usage(name, kind)} ({text!r} is one value too many)")
            key = ordered[len(found)]
        if key not in parameters:
            if not parameters:
                raise BadValue(field, word, f"{name} (it has no settings)")
            raise UnknownName(f"setting of {name}", key, parameters)
        if key in found:
            raise BadValue(field, word, f"{usage(name, kind)} ({key} is set twice)")
        found[key] = _read(text, hints.get(key), f"{key} of {name}")
    missing = [p.name for p in parameters.values() if p.default is p.empty and p.name not in found]
    if missing:
        raise BadValue(field, word, f"{usage(name, kind)} ({missing[0]} is missing)")
    return found


def _pairs(word: str, rest: str | None, field: str, written: str) -> Iterator[tuple[str | None, str]]:
    """Field (None where the word does not say) and value of every setting in a word."""
    named = False
    for piece in [] if rest is None else rest.split(","):
        key, equals, text = piece.partition("=") if "=" in piece else ("", "", piece)
        if not text.strip() or (equals and not key.strip()):
            raise BadValue(field, word, f"{written} ({piece.strip()!r} is no value)")
        if named and not equals:
            raise BadValue(field, word, f"{written} ({piece.strip()!r} has no name and stands after one that has)")
        named = bool(equals)
        yield (key.strip() if equals else None), text.strip()


def _hints(kind: Callable[..., object]) -> dict[str, Any]:
    """The types of the parameters, where they can be known."""
    while isinstance(kind, functools.partial):
        kind = kind.func
    try:
        return typing.get_type_hints(kind)
    except (NameError, TypeError, AttributeError):  # names that only type checkers see
        return {}


def _read(text: str, hint: Any, field: str) -> Any:
    """The value a text stands for in a field of that type; where the type is not known, a number if it is one."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _read_either(text, typing.get_args(hint), field)
    if typing.get_origin(hint) is Literal:
        choices = {str(choice): choice for choice in typing.get_args(hint)}
        if text not in choices:
            raise UnknownName(field, text, choices)
        return choices[text]
    if hint is bool:
        if text.lower() not in _TRUTHS:
            raise BadValue(field, text, "true or false")
        return _TRUTHS[text.lower()]
    if hint is int:
        return whole(text, field)
    if hint is float:
        return number(text, field)
    if hint is str:
        return text
    return _read_either(text, (int, float, str), field)


def _read_either(text: str, hints: tuple[Any, ...], field: str) -> Any:
    """The first type that takes the text; what `none` means where nothing is one of the choices."""
    if text.lower() == "none" and type(None) in hints:
        return None
    hints = tuple(hint for hint in hints if hint is not type(None))
    for hint in hints[:-1]:
        try:
            return _read(text, hint, field)
        except BadValue:
            continue
    return _read(text, hints[-1], field)


def _text(value: object) -> str:
    """A value as words have it: 3.0 is 3, True is true, None is none."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
