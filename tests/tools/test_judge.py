"""The fuzz would notice: what it calls a fault, on commands that were made up to have one."""

import json
import signal
import sqlite3

import pytest
from tools.call import Ended
from tools.fuzz.case import Case
from tools.fuzz.judge import faults

TRACEBACK = """Traceback (most recent call last):
  File "src/covey/cli/main.py", line 60, in main
    app()
  File "src/covey/grouping/cov.py", line 7, in cov
    x
KeyError: 'x'
"""


def judged(folder, code=0, out="", err="", words=("list",), **more):
    return faults(Case("made up", tuple(words), **more), Ended(code, out, err, 0.1), folder)


@pytest.mark.parametrize(
    ("ended", "fault"),
    [
        ({"code": 1, "err": TRACEBACK}, "traceback: KeyError at covey/grouping/cov.py in cov"),
        ({"code": -signal.SIGALRM}, "hangs: list"),
        ({"code": -signal.SIGXCPU}, "hangs: list"),
        ({"code": -signal.SIGSEGV}, "ended by SIGSEGV"),
        ({"code": 3}, "exit code 3"),
        ({"code": 2, "err": ""}, "a refusal that is not one sentence: ''"),
        ({"code": 2, "err": "covey: one\ncovey: two\n"}, "a refusal that is not one sentence: 'covey: one"),
        ({"out": "a \x1b[31mname"}, "control characters 0x1b reach the terminal"),
        ({"err": "x.py:3: RuntimeWarning: overflow in 17\n"}, "warning: x.py:0: RuntimeWarning: overflow in 0"),
        ({"out": "nothing", "words": ("list", "--json")}, "--json prints no JSON"),
        ({"out": '{"loss": NaN}', "words": ("list", "--json")}, "--json prints no JSON: NaN is no JSON"),
        ({"out": '{"model_sha256": "a"}', "words": ("resume", "--json"), "model": "b"}, "goes on to another model"),
    ],
)
def test_faults(tmp_path, ended, fault):
    (found,) = judged(tmp_path, **ended)
    assert found.startswith(fault)


def test_what_is_well(tmp_path):
    assert judged(tmp_path, out="a table\n") == []
    assert judged(tmp_path, code=2, err="covey: rounds is 0; allowed is more\n") == []
    assert judged(tmp_path, out='{"model_sha256": "a"}', words=("resume", "--json"), model="a") == []
    told = "fedclar, seed 0 failed: alone\ncovey: fedclar failed: alone\n"
    assert judged(tmp_path, code=2, err=told, words=("compare", "fedclar")) == []


def test_a_setting_that_is_accepted_and_not_kept(tmp_path):
    (tmp_path / "runs").mkdir()
    with sqlite3.connect(tmp_path / "runs" / "covey.db") as db:
        db.execute("CREATE TABLE runs (config TEXT)")
        stored = {"lr": 0.1, "rounds": 3, "options": {"sample": 0.5}}
        db.execute("INSERT INTO runs VALUES (?)", (json.dumps(stored),))
    db.close()
    given = {"lr": "0.10", "rounds": 3, "sample": 0.5}
    assert judged(tmp_path, words=("run", "fedavg"), given=given) == []
    assert judged(tmp_path, words=("run", "fedavg"), given=given | {"lr": 0.2, "quorum": 1}) == [
        "setting lr is accepted and not kept",
        "setting quorum is accepted and not kept",
    ]


def test_groups_that_are_not_those_of_the_file(tmp_path):
    (tmp_path / "fleet.csv").write_text("client,a\nx,1\ny,2\n")
    words = ("group", "fleet.csv", "--out", "groups.csv")
    (tmp_path / "groups.csv").write_text("client,group\nx,0\ny,0\n")
    assert judged(tmp_path, words=words) == []
    (tmp_path / "groups.csv").write_text("client,group\nx,0\n")
    assert judged(tmp_path, words=words) == ["the groups are not those of the clients in the file"]
