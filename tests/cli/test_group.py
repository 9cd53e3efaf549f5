import csv
import json
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
        table = {}
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
    plain = run_json(FLEET, "--min-size", 4)["cov"]
    assert run_json(FLEET, "--min-size", 4, "--search", 3)["cov"] < plain
    assert run_json(FLEET, "--min-size", 4, "--epsilon", 0.01)["cov"] > plain
    assert "epsilon 0.5; measured on the true counts" in run(FLEET, "--epsilon", 0.5)


def test_options_of_a_method_are_passed_on():
    loose, strict = (run_json(FLEET, "--option", f"max-cov={c}", "--min-size", 2) for c in (9, 0.2))
    assert strict["sizes"]["mean"] > loose["sizes"]["mean"]
    dealt = run_json(FLEET, "--method", "icg", "--groups", 6, "--option", "rest=deal", "--option", "iterations=2")
    assert dealt["left_out"] == 0


def test_the_number_of_groups_can_be_chosen():
    found = run_json(FLEET, "--groups", "auto", "--min-size", 4)
    assert 4 <= found["groups"] <= 8  # from one an edge to what groups of four allow
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
    (tmp_path / "bad.npy").write_text("nothing")
    with pytest.raises(BadData, match=r"bad\.npy: not a \.npy array"):
        run(FLEET, "--updates", tmp_path / "bad.npy")


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
        (["--plot", "groups.txt"], BadValue, "allowed is a file that ends with .png, .svg, .pdf"),
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
    with pytest.raises(BadValue, match="no column 'edge'"):
        run(tmp_path / "f.csv", "--network", "edges")
