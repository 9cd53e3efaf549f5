"""A run from the page: a process of its own that is seen moving, is stopped, and goes on."""

import contextlib
import http.client
import json
import socket
import time

import pytest
from tests.ui.serving import serving

from covey.store import Store
from covey.ui.command import bind

SMALL = {"clients": 4, "samples": 20, "rounds": 4000, "mode": "one-by-one", "checkpoint_every": 1}


@contextlib.contextmanager
def news(served):
    """What is told live, one (kind, data) after another."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("GET", "/api/live", headers={"Host": f"127.0.0.1:{served.port}"})
    answer = connection.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")

    def told():
        kind = ""
        for line in answer:
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                kind = text.removeprefix("event: ")
            elif text.startswith("data: "):
                yield kind, json.loads(text.removeprefix("data: "))

    try:
        yield told()
    finally:
        answer.close()
        connection.close()


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_run_is_started_seen_stopped_and_gone_on_with(tmp_path):
    out = tmp_path / "runs"
    with serving(out) as served, news(served) as told:
        assert served.json("/api/start", {"algorithm": "ring", "settings": SMALL}) == {"run": "ring-digits-1"}
        seen = set()
        for kind, rows in told:
            seen |= {row["round"] for row in rows if kind == "runs" and row["status"] == "running"}
            if len(seen - {0}) >= 2:  # it moves
                break
        assert served.json("/api/stop", {"run": "ring-digits-1"}) == {"run": "ring-digits-1"}
        wait_for(lambda: served.json("/api/runs")[0]["status"] == "interrupted")
        with Store(out) as store:
            last = len(store.rounds("ring-digits-1"))
            store.amend("ring-digits-1", {"rounds": last + 1})
        assert served.json("/api/resume", {"run": "ring-digits-1"}) == {"run": "ring-digits-1"}
        wait_for(lambda: served.json("/api/runs")[0]["status"] == "finished")
        assert served.json("/api/runs")[0]["round"] == last + 1


def test_a_run_that_cannot_begin_says_why(tmp_path):
    with serving(tmp_path / "runs") as served, news(served) as told:
        served.json("/api/start", {"algorithm": "fedavgg"})
        errors = (job["error"] for kind, jobs in told if kind == "jobs" for job in jobs if job["error"])
        assert "algorithm is 'fedavgg'" in next(errors)
        assert served.json("/api/runs") == []


@pytest.mark.parametrize("words", [["--token", "short"], ["--host", "no.such.host.invalid"]])
def test_what_the_command_refuses(words, monkeypatch, capsys):
    import sys

    from covey.cli.main import main

    monkeypatch.setattr(sys, "argv", ["covey", "ui", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("covey: ")


def test_the_address_answers_as_soon_as_it_is_told():
    bound = bind("127.0.0.1", 0)
    with bound, socket.create_connection(bound.getsockname(), timeout=5) as caller:
        assert caller.getpeername() == bound.getsockname()
