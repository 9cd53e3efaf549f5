"""One input: the words of a command, and the files they are about."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Content = bytes | str
"""What a file holds; or, as text, what it is in place of a file: `fifo`, `folder`, or `-> target` for a link."""


@dataclass(frozen=True)
class Case:
    """`covey *words` in a folder with these files.

    `given` are the settings among them that a run has to keep; `model` is the digest of the model that a resumed run
    ends with.
    """

    kind: str
    words: tuple[str, ...]
    files: dict[str, Content] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    model: str | None = None

    @property
    def command(self) -> str:
        """The words as one types them."""
        return shlex.join(["covey", *self.words])

    @property
    def size(self) -> int:
        """How much there is to look at for whoever has to find the fault."""
        return len(self.command) + sum(map(len, self.files.values()))

    def lay_out(self, folder: Path) -> None:
        """Put the files into a new folder, in place of what it was."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif content == "fifo":
                os.mkfifo(path)
            elif content == "folder":
                path.mkdir()
            else:
                path.symlink_to(content.removeprefix("-> "))
