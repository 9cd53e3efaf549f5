from __future__ import annotations

import re
from pathlib import Path

from covey.data import DATASETS, PARTITIONS, parse_partition

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text()


def first_column(heading):
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [
        text
        for line in section.splitlines()
        if line.startswith("| `")
        for text in re.findall(r"`([^`]+)`", line.split("|")[1])
    ]


def test_the_page_describes_every_set():
    assert sorted(first_column("Sets")) == sorted(DATASETS.names)


def test_the_page_describes_every_partition_as_it_is_written():
    written = first_column("Partitions")
    for text in written:
        parse_partition(text)
    assert {text.split(":")[0] for text in written} == set(PARTITIONS.names)


def test_the_python_of_the_page_runs():
    code = PAGE.split("## Your own data\n")[1].split("\n\nWith `owners`")[0]
    names: dict[str, object] = {}
    exec("\n".join(line[4:] for line in code.splitlines()), names)
    assert names["fleet"].clients == 10
