"""Where tables go: as wide as the terminal, and wide enough to read when there is none."""

from __future__ import annotations

import os

from rich.console import Console

PIPE_WIDTH = 140


def console() -> Console:
    """Standard output; a pipe or a file has no width of its own, unless COLUMNS gives it one."""
    out = Console()
    return out if out.is_terminal or "COLUMNS" in os.environ else Console(width=PIPE_WIDTH)
