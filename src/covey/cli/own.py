"""The settings of an algorithm's own, for the help of commands that take its name."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import Any

from pydantic.fields import FieldInfo
from rich.table import Table

from covey.cli.console import console, plain


def print_own_settings(words: Sequence[str]) -> None:
    """After the help of a command: what `--set` takes for the algorithms among its words."""
    words = [word for word in words if not word.startswith("-")]
    if not words:
        return  # algorithms need torch, and a page of help does not
    from covey.algorithms import ALGORITHMS

    for name in dict.fromkeys(word for word in words if word in ALGORITHMS):
        entry = ALGORITHMS.entry(name)
        table = Table(box=None, title=f"{name}: --set KEY=VALUE", title_justify="left", header_style="bold")
        for column in ("setting", "default", "meaning"):
            table.add_column(column, overflow="fold")
        for row in own_settings(entry.thing, entry.settings):
            table.add_row(*map(plain, row))
        console().print(table)


def own_settings(algorithm: Any, chosen: typing.Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, default and meaning of every setting; `chosen` are the defaults of a preset.

    >>> from covey.algorithms import ALGORITHMS
    >>> own_settings(ALGORITHMS["fedavg"], {})[0][:2]
    ('sample', '1.0')
    """
    hints = typing.get_type_hints(algorithm, include_extras=True)
    found = []
    for field in dataclasses.fields(algorithm):
        if not field.init:
            continue
        default = chosen.get(field.name, field.default)
        found.append(
            (field.name, "" if default in (None, dataclasses.MISSING) else str(default), _meaning(hints[field.name]))
        )
    return found


def _meaning(hint: Any) -> str:
    """The description beside a field, and what it allows where that is one of few words."""
    described = [info.description for info in getattr(hint, "__metadata__", ()) if isinstance(info, FieldInfo)]
    kind = typing.get_args(hint)[0] if described else hint
    words = [str(word) for word in typing.get_args(kind)] if typing.get_origin(kind) is typing.Literal else []
    text = next((text for text in described if text), "")
    return f"{text} ({', '.join(words)})" if words else text
