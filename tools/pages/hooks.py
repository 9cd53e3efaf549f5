"""What mkdocs calls: pages made from the code are added, and links to source files become names of files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from tools.pages.reference import pages

FOLDERS = "src|tests|examples|experiments|benchmarks|tools|README|CONTRIBUTING|CHANGELOG"
OUTSIDE = re.compile(rf"\[([^\]]+)\]\((?:\.\./)+((?:{FOLDERS})[^)]*)\)")
"""Links out of the folder of pages: the site holds no source, so the file's name has to do."""

HOW_TO = ("see", "grouping", "topology", "toml", "data", "models", "parts", "merges", "clock", "network", "store")
NAV: dict[str, list[str] | str] = {
    "Home": "index.md",
    "Tutorial": "tutorial.md",
    "How to": [f"{name}.md" for name in HOW_TO],
    "Algorithms": [],
    "Results": ["results.md", "performance.md", "reliability.md"],
    "Reference": ["reference/cli.md", "reference/settings.md", "reference/python.md", "reference/callbacks.md"],
    "Design": ["design.md", "theory.md", "security.md"],
}
"""Where pages stand; pages of algorithms and results stand with their like, and what is named nowhere under More."""


def on_config(config: Any, **_: Any) -> Any:
    """The list of pages, with every page there is."""
    config["nav"] = nav(sorted(str(p.relative_to(config["docs_dir"])) for p in Path(config["docs_dir"]).rglob("*.md")))
    return config


def nav(there: list[str]) -> list[Any]:
    """The list of these pages."""
    named = [page for listed in NAV.values() for page in ([listed] if isinstance(listed, str) else listed)]
    folders = {"Algorithms": "algorithms/", "Results": "results/"}
    found: list[Any] = []
    for title, listed in NAV.items():
        if isinstance(listed, str):
            found += [{title: listed}] if listed in there else []
            continue
        own = [page for page in there if title in folders and page.startswith(folders[title])]
        kept = [*(page for page in listed if page in there or page.startswith("reference/")), *own]
        found += [{title: kept}] if kept else []
    more = [page for page in there if page not in named and not page.startswith(tuple(folders.values()))]
    return found + ([{"More": more}] if more else [])


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the reference."""
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A link to a file of the repository as the file's path."""

    def written(found: re.Match[str]) -> str:
        text, path = found[1].strip("`"), found[2]
        return f"`{path}`" if path.endswith(text) else f"{found[1]} (`{path}`)"

    return OUTSIDE.sub(written, markdown)
