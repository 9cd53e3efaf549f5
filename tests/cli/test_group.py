import ast
import csv
import json
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from covey.cli.group import group
from covey.errors import BadData, BadValue, UnknownName
from covey.grouping import GROUPINGS

FLEET = Path(__file__).parents[2] / "examples" / "fleet.csv"
app = typer.Typer()
app.command()(group)


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def run_json(*arguments):
    return json.loads(run(*arguments, "--json"))


def rows_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_json_has_the_promised_keys():
    found = run_json(FLEET, "--method", "cov", "--min-size", 4)
    assert {"method", "groups", "sizes", "cov", "emd", "kl", "left_out", "seconds"} <= found.keys()
    assert found["method"] == "cov"
    assert found["sizes"]["min"] >= 4
    assert found["sizes"]["mean"] * found["groups"] + found["left_out"] == 40


def test_groups_are_written_with_the_clients_names(tmp_path):
    out = tmp_path / "groups.csv"
    found = run_json(FLEET, "--method", "icg", "--groups", 6, "--out", out)
    rows = rows_of(out)
    assert [row["client"] for row in rows] == [row["client"] for row in rows_of(FLEET)]
    # 40 = 6 x 6 + 4: four clients sit out and have no group
    assert sum(row["group"] == "" for row in rows) == found["left_out"] == 4
    assert {row["group"] for row in rows} == {"", *"012345"}


def test_the_order_of_the_lines_does_not_matter(tmp_path):
    header, *lines = FLEET.read_text().splitlines()
    shuffled = tmp_path / "shuffled.csv"
    shuffled.write_text("\n".join([header, *np.random.default_rng(0).permutation(lines)]))
    groups = []
    for file in (FLEET, shuffled):
        run(file, "--method", "cov", "--seed", 3, "--out", tmp_path / "g.csv")
        table: dict[str, set[str]] = {}
        for row in rows_of(tmp_path / "g.csv"):
            table.setdefault(row["group"], set()).add(row["client"])
        groups.append(sorted(map(sorted, table.values())))
    assert groups[0] == groups[1]


def test_the_picture_is_drawn(tmp_path):
    run(FLEET, "--plot", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_people_get_a_table_and_the_members():
    text = run(FLEET, "--method", "random", "--groups", 2)
    assert "CoV" in text
    assert "van-01" in text
    assert "left out" not in text.splitlines()[-1]
    assert "left out: van-" in run(FLEET, "--method", "icg", "--groups", 6)


def test_names_are_printed_as_they_are(tmp_path):
    (tmp_path / "f.csv").write_text("client,x\n[bold]a[/],1\n")
    assert "[bold]a[/]" in run(tmp_path / "f.csv")


def test_noise_and_search_are_passed_on():
    plain = run_json(FLEET, "--min-size", 4, "--search", 0)["cov"]
    assert run_json(FLEET, "--min-size", 4, "--search", 3)["cov"] < plain
    assert run_json(FLEET, "--min-size", 4, "--search", 0, "--epsilon", 0.01)["cov"] > plain
    assert "epsilon 0.5; measured on the true counts" in run(FLEET, "--epsilon", 0.5)


def test_options_of_a_method_are_passed_on():
    loose, strict = (run_json(FLEET, "--option", f"max-cov={c}", "--min-size", 2) for c in (9, 0.2))
    assert strict["sizes"]["mean"] > loose["sizes"]["mean"]
    dealt = run_json(FLEET, "--method", "icg", "--groups", 6, "--option", "rest=deal", "--option", "iterations=2")
    assert dealt["left_out"] == 0


def test_the_number_of_groups_can_be_chosen():
    found = run_json(FLEET, "--groups", "auto", "--min-size", 4)
    assert 4 <= found["groups"] <= 8  # from one per edge to what groups of four allow
    assert found["sizes"]["min"] >= 4


def test_all_methods_are_compared_and_the_others_say_why(tmp_path):
    fleet = tmp_path / "no-edges.csv"
    fleet.write_text("client,a,b\n" + "".join(f"c{i},{i + 1},{9 - i}\n" for i in range(8)))
    found = run_json(fleet, "--method", "all", "--groups", 2)
    assert {row["method"] for row in found} == set(GROUPINGS.names)
    by_name = {row["method"]: row for row in found}
    assert by_name["edge"]["error"].startswith("edges is None")
    worked = [row["cov"] for row in found if "error" not in row]
    assert worked == sorted(worked)
    assert "edge cannot run: edges is None" in run(fleet, "--method", "all", "--groups", 2)


def test_every_method_is_told_as_it_ends():
    result = CliRunner().invoke(app, [str(FLEET), "--method", "all"])
    told = [line.split()[0] for line in result.stderr.splitlines()]
    assert told == GROUPINGS.names
    assert "random 8 groups, CoV 0." in result.stderr


def test_what_takes_minutes_is_left_out_unless_asked_for(monkeypatch):
    # with a minute made a hundredth of a second, the search for heads and links is too long; with --slow it runs
    monkeypatch.setattr("covey.cli.group.MINUTES", 0.01)
    rows = {row["method"]: row for row in run_json(FLEET, "--method", "all")}
    assert rows["ihc"] == {"method": "ihc", "left_out_because": "it takes about 1 second here; --slow runs it"}
    assert "cov" in rows["random"]
    assert "ihc was left out: it takes about 1 second here" in run(FLEET, "--method", "all")
    rows = {row["method"]: row for row in run_json(FLEET, "--method", "all", "--slow")}
    assert rows["ihc"]["groups"] > 1


def test_what_takes_hours_is_refused_unless_asked_for(monkeypatch):
    monkeypatch.setattr("covey.cli.group_job.HOURS", 0.0001)
    with pytest.raises(BadValue, match=r"^clients is 40; allowed is at most about \d+ for grouping 'random'"):
        run(FLEET, "--method", "random")
    assert run_json(FLEET, "--method", "random", "--slow")["groups"] == 8


def test_the_default_search_makes_groups_clearly_better_than_random_ones():
    # the README's example: the paper's grouping alone is no better than random here
    found, drawn = run_json(FLEET, "--min-size", 5), run_json(FLEET, "--min-size", 5, "--method", "random")
    assert found["search"] == 3
    assert found["cov"] < 0.8 * drawn["cov"]
    assert "after 3 passes of search; --search 0 is the paper's grouping" in run(FLEET, "--min-size", 5)


def test_a_search_that_takes_long_is_not_made_by_default(monkeypatch):
    monkeypatch.setattr("covey.cli.group_job.SEARCHING", 1e-6)
    assert "search" not in run_json(FLEET, "--min-size", 5)
    assert run_json(FLEET, "--min-size", 5, "--search", 2)["search"] == 2


@pytest.mark.parametrize("name", sorted(set(GROUPINGS.names) - {"fl-hc", "cfl", "fedclar"}))
def test_groups_keep_to_edges_when_asked_and_it_is_said_whether_they_do(name):
    inside = run_json(FLEET, "--method", name, "--within-edges")
    assert inside["crossing"] == 0
    if name != "edge":
        assert run_json(FLEET, "--method", name, "--across-edges")["crossing"] > 0


def test_it_is_said_whether_groups_cross_edges(tmp_path):
    assert "no group crosses an edge" in run(FLEET)
    text = run(FLEET, "--method", "random", "--groups", 2)
    assert "2 of 2 groups have clients of several edges; --within-edges keeps them apart" in text
    (tmp_path / "f.csv").write_text("client,x\na,1\n")
    assert "edge" not in run(tmp_path / "f.csv")
    assert "crossing" not in run_json(tmp_path / "f.csv")


def test_sizes_are_kept(tmp_path):
    for name in ("kmedoids", "emd-iid", "cov", "cdg"):
        sizes = run_json(FLEET, "--method", name, "--min-size", 5, "--max-size", 6, "--across-edges")["sizes"]
        assert sizes["min"] >= 5
        assert sizes["max"] <= 6


def test_a_fleet_can_be_an_array(tmp_path):
    labels = np.random.default_rng(0).integers(0, 9, (30, 3))
    np.save(tmp_path / "f.npy", labels)
    np.save(tmp_path / "e.npy", np.arange(30) % 3)
    found = run_json(tmp_path / "f.npy", "--edges", tmp_path / "e.npy", "--method", "edge", "--out", tmp_path / "g.csv")
    assert found["groups"] == 3
    assert [row["group"] for row in rows_of(tmp_path / "g.csv")][:4] == ["0", "1", "2", "0"]
    assert rows_of(tmp_path / "g.csv")[29]["client"] == "29"
    with pytest.raises(BadValue, match=r"edges is .*; allowed is nothing: .*fleet.csv can have a column 'edge'"):
        run(FLEET, "--edges", tmp_path / "e.npy")


def test_grouping_does_without_what_only_training_needs():
    loaded = "import sys; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    call = f"import covey.cli.group as g; g.group(g.Path({str(FLEET)!r})); {loaded}"
    said = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True).stdout
    modules = set(ast.literal_eval(said.splitlines()[-1]))
    assert not modules & {"torch", "sklearn", "ortools", "scipy", "matplotlib", "networkx", "pandas"}


def test_distances_from_a_table_a_graph_a_topology_and_edges(tmp_path):
    (tmp_path / "f.csv").write_text("client,edge,x\na,n,1\nb,n,2\nc,s,3\n")
    (tmp_path / "d.csv").write_text("client,a,b,c\na,0,1,2\nb,1,0,4\nc,2,4,0\n")
    graph = nx.Graph([("a", "switch"), ("switch", "b"), ("switch", "core"), ("core", "c")])
    nx.write_graphml(graph, tmp_path / "n.graphml")
    (tmp_path / "links.csv").write_text("source,target\na,b\nb,c\n")

    def hops(network):
        return run_json(tmp_path / "f.csv", "--method", "random", "--groups", 1, "--network", network)["hops"]

    assert hops(tmp_path / "d.csv") == 1 + 2  # to a
    assert hops(tmp_path / "n.graphml") == 2 + 3  # to a or b: 2 to the other, 3 to c
    assert hops(tmp_path / "links.csv") == 1 + 1  # to b
    assert hops("edges") == 2 + 4  # to a or b: 2 to the other, 4 to c
    assert hops("star") == 2 + 2  # through the middle


def test_updates_from_a_file(tmp_path):
    np.save(tmp_path / "u.npy", np.random.default_rng(0).normal(size=(40, 3)))
    found = run_json(FLEET, "--method", "random", "--updates", tmp_path / "u.npy")
    assert found["delta"] > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"NUMPY", b"nothing"),
        (b"}", b" "),  # numpy gives its reader of Python 2 headers a try, whose errors are of another kind
        (b"(40, 3)", b"(%d,)" % 10**25),
        (b"<f8", b"<c8"),
    ],
)
def test_a_damaged_array_is_refused_in_a_sentence(tmp_path, old, new):
    np.save(tmp_path / "u.npy", np.zeros((40, 3)))
    content = (tmp_path / "u.npy").read_bytes()
    grown = len(new) - len(old)
    padding = b" " * max(grown, 0)  # the header keeps its length
    assert padding in content
    (tmp_path / "u.npy").write_bytes(content.replace(padding, b"", 1).replace(old, new, 1))
    with pytest.raises(BadData, match=r"u\.npy: not a \.npy array of numbers"):
        run(FLEET, "--updates", tmp_path / "u.npy")


def test_updates_that_are_no_table(tmp_path):
    np.save(tmp_path / "u.npy", np.zeros(40))
    with pytest.raises(BadData, match=r"u\.npy: an array of shape \(40,\), not a table with one row per client"):
        run(FLEET, "--method", "fedclar", "--updates", tmp_path / "u.npy")


def test_an_array_that_python_2_wrote(tmp_path):
    np.save(tmp_path / "u.npy", np.zeros((40, 3)))
    content = (tmp_path / "u.npy").read_bytes()
    (tmp_path / "u.npy").write_bytes(content.replace(b"(40, 3), }  ", b"(40L, 3L), }"))
    assert run_json(FLEET, "--method", "random", "--updates", tmp_path / "u.npy")["groups"] > 0


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (["--method", "covv"], UnknownName, "did you mean 'cov'"),
        (["--groups", "many"], BadValue, "groups is 'many'; allowed is a whole number from 1 up, or 'auto'"),
        (["--groups", "41"], BadValue, "groups is 41; allowed is a whole number from 1 to 40"),
        (["--min-size", "0"], BadValue, "min_size is 0"),
        (["--network", "mesh"], BadValue, "network is 'mesh'"),
        (["--network", "none.csv"], BadData, "none.csv: no such file"),
        (["--method", "random", "--search", "2"], BadValue, "option is 'search'"),
        (["--method", "all", "--out", "x.csv"], BadValue, "one method where --out, --plot or --prices is given"),
        (["--option", "deal"], BadValue, "option is 'deal'; allowed is a name, an equals sign and a value"),
        (["--option", "max-cov=low"], BadValue, "max_cov is 'low'; allowed is a number"),
        (["--option", "search=2.5"], BadValue, "search is '2.5'; allowed is a whole number"),
        (["--option", "candidates=few"], BadValue, "candidates is 'few'; allowed is a number"),
        (["--option", "deal=assign"], BadValue, "option is 'deal'; allowed is one that grouping 'cov' has: max_cov"),
        (["--epsilon", "0"], BadValue, "epsilon is 0.0"),
        (["--out", "no/such/folder/g.csv"], BadValue, "allowed is a file in a folder that exists"),
        (["--plot", "groups.txt"], BadValue, "allowed is the name of a file that ends in .png, .pdf, .svg or .jpg"),
    ],
)
def test_wrong_settings_are_one_clear_sentence(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        run(FLEET, *arguments)


def test_a_client_missing_in_the_network_is_named(tmp_path):
    nx.write_graphml(nx.path_graph(3), tmp_path / "n.graphml")
    with pytest.raises(BadData, match="client 'van-01' is not a node of the network"):
        run(FLEET, "--network", tmp_path / "n.graphml")


def test_edges_cannot_be_a_network_where_there_are_none(tmp_path):
    (tmp_path / "f.csv").write_text("client,x\na,1\n")
    with pytest.raises(BadValue, match="network is 'edges'; allowed is a file or a topology, since no edges are given"):
        run(tmp_path / "f.csv", "--network", "edges")
