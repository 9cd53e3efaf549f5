from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from tests.narrow import a

from covey.data import DATASETS, PARTITIONS, parse_partition
from covey.data.own import FORMATS

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
    code = PAGE.split("### From Python\n")[1].split("\n\n`load_fleet`")[0]
    names: dict[str, Any] = {}
    exec("\n".join(line[4:] for line in code.splitlines()), names)
    assert [names[name].clients for name in ("fleet", "lists", "named")] == [10, 2, 2]


def test_the_page_names_every_setting_of_every_format():
    for kind, line in (("npz", "mine.npz"), ("csv", "table.csv"), ("images", "photos/"), ("huggingface", "saved/")):
        row = next(row for row in PAGE.splitlines() if row.startswith(f"| `{line}`"))
        told = re.findall(r"`(\w+)`", row.split("|")[3])
        assert sorted(told) == sorted(field.name for field in fields(a(type, FORMATS[kind])))
