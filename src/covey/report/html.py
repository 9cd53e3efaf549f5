"""HTML in which every text is only ever text: names of runs, clients and files may come from strangers."""

from __future__ import annotations

import html
from typing import Any

VOID = ("input", "meta", "link", "br")


class Html(str):
    """Text that is markup already; anything else is escaped on its way into a page."""

    __slots__ = ()


def tag(name: str, /, *inside: object, **attributes: Any) -> Html:
    """An element. An attribute that is None or False is left out, True has no value; `class_` is `class`.

    >>> print(tag("p", "a < b", tag("b", "!"), class_="x", hidden=True))
    <p class="x" hidden>a &lt; b<b>!</b></p>
    """
    told = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(str(value), quote=True)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{told}>" if name in VOID else f"<{name}{told}>{join(*inside)}</{name}>")


def join(*parts: object) -> Html:
    """The parts one after another; lists are laid open, None is nothing."""
    found = []
    for part in parts:
        if isinstance(part, Html):
            found.append(str(part))
        elif isinstance(part, list | tuple):
            found.append(str(join(*part)))
        elif part is not None:
            found.append(html.escape(str(part), quote=True))
    return Html("".join(found))


def table(heads: list[str], rows: list[list[object]], *, numbers: bool = True, caption: str = "") -> Html:
    """A table whose first column names its rows; it scrolls where the screen is narrow."""
    head = tag("tr", [tag("th", text, scope="col") for text in heads])
    body = [tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]]) for row in rows]
    told = tag("caption", caption, class_="unseen") if caption else None
    inner = tag("table", told, tag("thead", head), tag("tbody", body), class_="numbers" if numbers else None)
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption or heads[0])
