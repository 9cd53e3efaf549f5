"""The looks of a page: colours, sizes, and which curves each button shows."""

from __future__ import annotations

from pathlib import Path

from covey.report.drawing import style
from covey.report.lines import AXES

ASSETS = Path(__file__).parent / "assets"


def css() -> str:
    """All of it as CSS."""
    chosen = "".join(f".curves:has(#over-{a.metric}:checked) [data-axis={a.metric}]{{display:block}}" for a in AXES)
    return style() + (ASSETS / "page.css").read_text(encoding="utf-8") + chosen
