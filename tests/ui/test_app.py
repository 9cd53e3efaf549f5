"""What the page answers: runs, parts of pages, groupings, plans; and what it refuses."""

import json

import pytest
from tests.ui.serving import made_up, serving

from covey.store import Store

BAD = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    found = tmp_path_factory.mktemp("runs")
    made_up(found, 3)
    (odd,) = made_up(found, 1, algorithm="ring", data=BAD, options={"beta": BAD})
    with Store(found) as store:
        store.add_event(odd, 0, "tag", BAD)
        store.add_event(odd, 0, "note", BAD)
    return found


@pytest.fixture(scope="module")
def served(out):
    with serving(out) as found:
        yield found


def test_runs_as_json(served):
    rows = served.json("/api/runs")
    assert [row["name"] for row in rows] == ["ring-digits-1", "fedavg-digits-3", "fedavg-digits-2", "fedavg-digits-1"]
    assert rows[-1]["accuracy"] == pytest.approx(0.8)
    assert (rows[-1]["round"], rows[-1]["rounds"], rows[-1]["status"]) == (4, 4, "finished")
    assert rows[0]["tags"] == [BAD]


def test_a_folder_without_a_store_has_no_runs(tmp_path):
    with serving(tmp_path / "none") as served:
        assert served.json("/api/runs") == []
        assert "There is no run yet" in served.ask("/")[2]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "path", ["/", "/run/ring-digits-1", "/compare?run=ring-digits-1&run=fedavg-digits-1", "/groups", "/plan", "/new"]
)
def test_names_are_text_on_every_page(served, path):
    status, headers, text = served.ask(path)
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert "<img" not in text
    assert "<script>" not in text


@pytest.mark.parametrize(
    "path",
    ["/run/..%2F..%2Fetc%2Fpasswd", "/run/%2e%2e", "/api/details?run=../x", "/api/curves?run=..", "/static/..%2Fapp.py",
     "/static/../command.py", "/run/nobody", "/nowhere"],
)  # fmt: skip
def test_paths_lead_nowhere_else(served, path):
    status, _, text = served.ask(path)
    assert status == 404
    assert "root:" not in text
    assert "import" not in text


def test_parts_of_a_page(served):
    assert "0.800" in served.json("/api/curves?run=fedavg-digits-1")["html"]
    told = served.json("/api/details?run=fedavg-digits-1")["html"]
    assert "has no checkpoint" in told  # nobody ran it
    told = served.json("/api/details?run=ring-digits-1")["html"]
    assert "<img" not in told
    assert "&lt;img" in told


CSV = "client,a,b\nx,1,9\ny,9,1\nz,5,5\nw,2,8\nv,8,2\nu,4,6\n"


def test_a_file_is_grouped(served):
    found = served.json("/api/group", {"csv": CSV, "method": "cov", "min_size": 2})
    assert sorted(name for group in found["groups"] for name in group) == list("uvwxyz")
    assert found["figures"]["cov"] < found["cov_before"]
    assert found["cost"]["seconds"] > 0
    assert found["after"].startswith("<svg")


def test_a_built_in_fleet_is_grouped_otherwise_with_other_settings(served):
    def ask(**more):
        return served.json("/api/group", {"fleet": {"clients": 20}, "method": "cov", **more})["figures"]

    assert ask(min_size=2)["groups"] > ask(min_size=8)["groups"]


def test_names_in_a_file_are_text(served):
    csv = f"client,{BAD},b\n{BAD},1,2\ny,2,1\nz,1,1\nw,3,1\n"
    found = served.json("/api/group", {"csv": csv, "method": "random", "min_size": 2})
    assert "<img" not in found["before"] + found["after"]
    assert "&lt;img" in found["before"]
    assert [BAD] in [[name for name in group if name == BAD] for group in found["groups"]]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"csv": "a,b\n1,2\n"}, "the file, line 1: no column 'client'"),
        ({"csv": "client,a\nx,many\n"}, "the file, line 2"),
        ({"csv": ""}, "the file"),
        ({"csv": CSV, "method": "nope"}, "grouping is 'nope'"),
        ({"csv": CSV, "method": "./mine.py:Mine"}, "grouping is './mine.py:Mine'"),
        ({"csv": CSV, "min_size": 0}, "min_size"),
        ({"csv": CSV, "min_size": 99}, "min_size"),
        ({"csv": CSV, "groups": "many"}, "groups"),
        ({"csv": CSV, "extra": 1}, "extra"),
        ({"fleet": {"partition": "./mine.py:Mine"}}, "partition"),
        ({"fleet": {"clients": 10**9}}, "clients"),
    ],
)
def test_what_cannot_be_grouped_gets_a_sentence(served, asked, sentence):
    status, _, text = served.ask("/api/group", asked)
    assert status in (400, 422)
    assert sentence in json.loads(text)["error"]
    assert "/covey-" not in text  # no path of this machine


def node(kind, *children, **more):
    return {"kind": kind, "children": list(children), **more}


def test_a_plan_is_drawn_counted_and_priced(served):
    plan = node("star", node("ring", {"kind": "train", "times": 3}, times=2))
    found = served.json("/api/plan", {"plan": plan, "parameters": 1000, "link": "1MB/s,0s"})
    assert found["sketch"] == "Star(Ring(Train))"
    assert (found["clients"], found["trainings"]) == (6, 6)
    assert found["transfers"] == {"client to client": 4, "client to cloud": 2, "cloud to client": 2}
    assert found["bytes"] == (4 + 2 + 2) * 4 * 1000
    assert found["price"]["bytes_per_round"] == found["bytes"]
    assert found["drawing"].startswith("<svg")


@pytest.mark.parametrize(
    ("plan", "sketch"),
    [
        (
            node("mesh", node("star", {"kind": "train", "times": 2}, times=3, at="head"), links="all"),
            "Mesh(Star(Train))",
        ),
        (node("forest", node("ring", {"kind": "train", "times": 2}, times=3)), "Forest(Ring(Train))"),
        (node("ring", node("star", {"kind": "train", "times": 2}, times=3, at="edge", rounds=2)), "Ring(Star(Train))"),
    ],
)
def test_every_kind_can_be_composed(served, plan, sketch):
    assert served.json("/api/plan", {"plan": plan, "network": "tree:3"})["sketch"] == sketch


def deep(levels):
    return {"kind": "train"} if not levels else node("star", deep(levels - 1))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"plan": node("star")}, "something inside"),
        ({"plan": node("star", {"kind": "train", "times": 1000}, {"kind": "train"})}, "at most 1,000"),
        ({"plan": deep(9)}, "depth"),
        ({"plan": node("star", node("star", {"kind": "train", "times": 500}, rounds=100))}, "at most 20,000"),
        ({"plan": {"kind": "square"}}, "kind"),
        ({"plan": deep(1), "network": "/etc/passwd"}, "network"),
        ({"plan": deep(1), "network": "nowhere"}, "network"),
        ({"plan": deep(1), "link": "fast"}, "link"),
        ({"plan": deep(1), "device": "./mine.py:Phone"}, "device"),
        ({}, "plan"),
    ],
)
def test_what_cannot_be_priced_gets_a_sentence(served, asked, sentence):
    status, _, text = served.ask("/api/plan", asked)
    assert status in (400, 422)
    assert sentence in json.loads(text)["error"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"algorithm": "./mine.py:Mine"}, "algorithm is './mine.py:Mine'"),
        ({"algorithm": "--help"}, "algorithm"),
        ({"algorithm": "fedavg", "settings": {"model": "./mine.py:Net"}}, "model"),
        ({"algorithm": "fedavg", "settings": {"model": "os:abort"}}, "model"),
        ({"algorithm": "fedavg", "settings": {"network": "/etc/passwd"}}, "files are for the command line"),
        ({"algorithm": "fedavg", "settings": {"prices": "../x.json"}}, "files are for the command line"),
        ({"algorithm": "fedavg", "settings": {"--out": "x"}}, "the name of a setting"),
        ({"algorithm": "fedavg", "settings": {"lr": [1]}}, "settings"),
        ({"algorithm": "fedavg", "name": "../../x"}, "name is '../../x'"),
        ({"algorithm": "fedavg", "name": "fedavg-digits-1"}, "one that no run in"),
        ({"algorithm": "fedavg", "more": 1}, "more"),
    ],
)
def test_what_cannot_be_started_gets_a_sentence(served, out, asked, sentence):
    before = folders_in(out)
    status, _, text = served.ask("/api/start", asked)
    assert status in (400, 422)
    assert sentence in json.loads(text)["error"]
    assert folders_in(out) == before


def folders_in(out):
    """All there is but the database, beside which SQLite puts files as others look at it."""
    return sorted(path.name for path in out.iterdir() if not path.name.startswith("covey."))


def test_only_its_own_runs_can_be_stopped(served):
    status, _, text = served.ask("/api/stop", {"run": "fedavg-digits-1"})
    assert (status, "started from this page" in text) == (400, True)
    assert served.ask("/api/resume", {"run": "nobody"})[0] == 404
