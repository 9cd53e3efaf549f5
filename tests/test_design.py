"""The page about the design shows the layers that the import contract in pyproject.toml checks."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_page_shows_the_layers_that_are_checked():
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    checked = [set(line.split(" | ")) for line in contract["layers"] if line != "__main__"]
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    shown = page.split("```layers\n")[1].split("```")[0].splitlines()
    assert [set(line.split(", ")) for line in shown] == checked
