"""Where tables go: as wide as the terminal, and wide enough to read when there is none."""

from __future__ import annotations

from rich.console import Console

PIPE_WIDTH = 140


def console() -> Console:
    """Standard output; a pipe or a file has no width of its own."""
    out = Console()
    return out if out.is_terminal else Console(width=PIPE_WIDTH)
