"""The page about parts of one's own: its file is written, and every command on it runs."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import SMALL, covey  # noqa: F401 (a fixture)

PAGE = (Path(__file__).parent.parent / "docs" / "parts.md").read_text(encoding="utf-8")
OWN = PAGE[PAGE.index("## Parts of your own") :]
CODE = "\n\n".join(re.findall(r"```python\n(.*?)```", OWN, re.DOTALL))
COMMANDS = [
    command
    for block in re.findall(r"```\n(covey .*?)```", OWN, re.DOTALL)
    for command in block.splitlines()
    if "./mine.py" in command
]
LITTLE = {"run": SMALL, "compare": SMALL, "price": SMALL, "group": ()}


@pytest.fixture
def mine(covey, tmp_path):  # noqa: F811
    (tmp_path / "mine.py").write_text(CODE)
    rng = np.random.default_rng(0)
    rows = [f"c{i},{a},{b}" for i, (a, b) in enumerate(rng.integers(0, 9, (7, 2)).tolist())]
    (tmp_path / "fleet.csv").write_text("\n".join(["client,a,b", *rows]))
    return covey


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_page_run(mine, command):
    _, name, *words = shlex.split(command)
    given = [word for word in words if word.startswith("--")]
    pairs = [word for word in zip(LITTLE[name][::2], LITTLE[name][1::2], strict=True) if word[0] not in given]
    little = [word for pair in pairs for word in pair if name != "price" or pair[0] not in ("--mode", "--rounds")]
    found = mine(name, *words, *little, *([] if "--json" in words else ["--json"])).json
    assert found


def test_every_kind_of_part_has_a_command():
    kinds = ["run", "group", "sampling", "partition", "data", "model", "local", "augment", "merge", "server"]
    kinds += ["attack", "network"]
    assert all(any(kind in command for command in COMMANDS) for kind in kinds)


def test_a_grouping_of_ones_own_groups(mine):
    found = mine("group", "fleet.csv", "--method", "./mine.py:by_size", "--groups", "3", "--json").json
    assert found["groups"] == 3
    found = mine(
        "group",
        "fleet.csv",
        "--method",
        "./mine.py:by_size",
        "--option",
        "descending=false",
        "--out",
        "o.csv",
        "--json",
    ).json
    assert found["groups"] == 2


def test_an_algorithm_of_ones_own_has_settings(mine):
    pairs = mine("run", "./mine.py:Pairs", *SMALL, "--json").json
    threes = mine("run", "./mine.py:Pairs", "--set", "size=4", *SMALL, "--json").json
    # cloud to the first, from each to the next, from the last to the cloud: 2 pairs are 6 sends, one four is 5
    assert threes["traffic_bytes"] / pairs["traffic_bytes"] == pytest.approx(5 / 6)
    assert "size is 'x'" in mine("run", "./mine.py:Pairs", "--set", "size=x", *SMALL).complaint
    assert "setting is 'sizes'" in mine("run", "./mine.py:Pairs", "--set", "sizes=2", *SMALL).complaint


def test_an_attack_of_ones_own_changes_what_attackers_answer(mine):
    # everybody but one of four attacks: the model of round 3 is little different from the first one's
    idle, honest = (mine("run", "fedavg", *SMALL, *more, "--json").json for more in (ATTACKED, ()))
    assert (idle["attackers"], "attackers" in honest) == (3, False)
    assert idle["attack_success"] == pytest.approx(1 - idle["accuracy"])
    assert idle["loss"] > honest["loss"]


ATTACKED = ("--attack", "./mine.py:Idle:0.75")
ADDRESSES = {
    "algorithm": "./mine.py:Pairs",
    "model": "./mine.py:Narrow",
    "data": "./mine.py:coins",
    "partition": "./mine.py:Stripes:2",
    "local": "./mine.py:Signed",
    "merge": "./mine.py:Median",
    "server": "./mine.py:Halfway:share=0.5",
    "attack": "./mine.py:Idle",
    "network": "./mine.py:TwoRooms",
    "executor": "./mine.py:Talkative",
}


@pytest.mark.parametrize("setting", ADDRESSES)
def test_a_file_names_code_only_where_it_is_allowed(mine, tmp_path, setting):
    lines = {"algorithm": "fedavg", "samples": 20, "clients": 4, "rounds": 1, "model": "softmax-regression"}
    lines |= {"mode": "one-by-one", setting: ADDRESSES[setting]}
    (tmp_path / "mine.toml").write_text("".join(f"{name} = {value!r}\n" for name, value in lines.items()))
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    sentence = mine("run", "mine.toml").complaint
    assert sentence.startswith(f"{setting} of mine.toml is '{ADDRESSES[setting]}'; allowed is a name, since")
    assert "--allow-code" in sentence
    assert mine("run", "mine.toml", "--allow-code", "--json").json["rounds"] == 1
    # what is typed in its place is the user's own
    assert mine("run", "mine.toml", "--set", f"{setting}={ADDRESSES[setting]}", "--json").json["rounds"] == 1


@pytest.mark.parametrize("word", ["os:abort", "os:_exit", "sys:exit", "os.path:join", "./trap.py:x", "/bin/trap.py:x"])
@pytest.mark.parametrize("line", ["model = '{}'", "algorithm = '{}'", "server = '{}'", "options = {{grouping = '{}'}}"])
def test_nothing_of_a_strangers_file_is_imported(mine, tmp_path, word, line):
    (tmp_path / "trap.py").write_text("import pathlib\npathlib.Path('sprung').touch()\nx = 1\n")
    (tmp_path / "x.toml").write_text(line.format(word))
    assert "only with --allow-code" in mine("run", "x.toml").complaint
    assert "only with --allow-code" in mine("price", "x.toml").complaint
    assert not (tmp_path / "sprung").exists()


def test_a_stored_run_names_code_only_where_it_is_allowed(mine, tmp_path):
    from covey.store import Store

    assert mine("run", "./mine.py:Pairs", *SMALL, "--json").json["rounds"] == 3
    with Store(tmp_path / "runs") as store:
        (record,) = store.runs()
        store.mark(record.run, "running", {})
    assert f"algorithm of {record.run} is './mine.py:Pairs'" in mine("resume").complaint
    assert f"algorithm of {record.run} is './mine.py:Pairs'" in mine("price", record.run).complaint
    assert mine("price", record.run, "--allow-code", "--json").json["algorithm"] == "./mine.py:Pairs"
    assert mine("resume", "--allow-code", "--json").json["rounds"] == 3


def test_code_that_ends_the_program_is_said_to(mine, tmp_path):
    (tmp_path / "rude.py").write_text("class Rude:\n    def plan(self, round, fleet, state, rng):\n        exit(0)\n")
    assert mine("run", "./rude.py:Rude", *SMALL).complaint == (
        "code of a part has tried to end the program (SystemExit: 0)"
    )
