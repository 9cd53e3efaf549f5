"""The site's pages that are made from the code, and where pages stand."""

import pytest
from tools.pages.hooks import nav, on_page_markdown
from tools.pages.reference import pages

import covey
from covey.cli.main import COMMANDS
from covey.experiment import Experiment


@pytest.fixture(scope="module")
def made():
    return pages()


def test_the_reference_names_everything(made):
    for name in COMMANDS:
        assert f"## covey {name}\n" in made["reference/cli.md"]
    assert "| `--out` | folder of the run store (default: runs) |" in made["reference/cli.md"]
    assert "| `ALGORITHM\\|FILE.toml` | what to run |" in made["reference/cli.md"]
    for name in set(Experiment.model_fields) - {"algorithm", "options"}:
        assert f"| `{name}` |" in made["reference/settings.md"]
    for name in covey.__all__:
        assert f"## covey.{name}\n" in made["reference/python.md"]
    assert "## covey.track.TensorBoard" in made["reference/callbacks.md"]


def test_fences_are_closed(made):
    for text in made.values():
        assert text.count("\n```") % 2 == 0


def test_every_page_stands_somewhere():
    found = nav(["algorithms/fedavg.md", "index.md", "new.md", "results/a.md", "see.md"])
    assert found[0] == {"Home": "index.md"}
    assert {"How to": ["see.md"]} in found
    assert {"Algorithms": ["algorithms/fedavg.md"]} in found
    assert {"Results": ["results/a.md"]} in found
    assert found[-1] == {"More": ["new.md"]}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "see [the loop](../src/covey/loop.py), [data](data.md)",
            "see the loop (`src/covey/loop.py`), [data](data.md)",
        ),
        ("[fleet.csv](../examples/fleet.csv)", "`examples/fleet.csv`"),
        ("[`walk`](../../src/covey/execute/walk.py)", "`walk` (`src/covey/execute/walk.py`)"),
    ],
)
def test_links_to_source_are_names_of_files(text, shown):
    assert on_page_markdown(text) == shown
