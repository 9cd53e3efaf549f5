import networkx as nx
import pytest

from covey.errors import BadData, BadValue
from covey.network.spec import network_from, read
from covey.network.topology import Link

EDGE_OF = [0, 0, 0, 1, 1, 2]

GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="c" for="edge" attr.name="capacity" attr.type="{type}"/>
<key id="l" for="edge" attr.name="latency" attr.type="double"/>
<graph edgedefault="undirected"><node id="x"/><node id="y"/>
<edge source="x" target="y"><data key="c">{value}</data><data key="l">0.1</data></edge></graph></graphml>
"""


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("fat-tree:4", 16),
        ("jellyfish:4,3", 8),  # ceil(6 / 4) = 2 hosts at each of 4 switches
        ("jellyfish:4,3,5", 20),
        ("star", 6),
        ("ring", 6),
        ("tree:3", 9),  # 3 edges, the largest with 3 clients
        ("tree:2", 6),  # not the fleet's edges: ceil(6 / 2) hosts each
    ],
)
def test_names(text, hosts):
    network = network_from(text, EDGE_OF, link=Link(5e6, 0.1))
    assert len(network.hosts) == hosts
    assert set(network.capacity) == {5e6}
    assert set(network.latency) == {0.1}


def test_jellyfish_depends_on_the_seed_only():
    one, two, three = (network_from("jellyfish:10,3", range(10), seed=seed) for seed in (1, 1, 2))
    assert one.arcs == two.arcs != three.arcs


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("torus", "network is 'torus'; allowed is one of FILE.csv, FILE.graphml, fat-tree, jellyfish"),
        ("", "network is ''; allowed is one of"),
        ("fat-tree", r"network is 'fat-tree'; allowed is fat-tree:PODS.*\(pods is missing\)"),
        ("fat-tree:x", "pods of fat-tree is 'x'; allowed is a whole number"),
        ("fat-tree:2.5", "pods of fat-tree is '2.5'"),
        ("fat-tree:²", "pods of fat-tree is '²'"),
        ("fat-tree:4,link=3", "setting of fat-tree is 'link'; allowed is one of pods"),
        ("jellyfish:5", r"jellyfish:SWITCHES,DEGREE.*\(degree is missing\)"),
        ("star:5", "network is 'star:5'; allowed is star"),
        ("tree:", "network is 'tree:'; allowed is tree:EDGES"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(text, sentence):
    with pytest.raises(BadValue, match=sentence):
        network_from(text, EDGE_OF)


def test_networks_in_the_words_of_their_fields():
    named = network_from("jellyfish:switches=4,degree=3,hosts=5", EDGE_OF)
    assert named.arcs == network_from("jellyfish:4,3,5", EDGE_OF).arcs


@pytest.mark.parametrize("text", ["star", "ring", "lab.csv"])
def test_a_trunk_is_refused_where_there_is_none(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.csv").write_text("source,target,capacity,latency\nx,y,1MB/s,1ms\n")
    assert network_from(text, [0, 0])
    with pytest.raises(BadValue, match=r"trunk is '1e[+]06B/s,0.001s'; allowed is left out"):
        network_from(text, [0, 0], trunk=Link(1e6))


@pytest.mark.parametrize("text", ["fat-tree:0", "fat-tree:-4", "tree:0", "jellyfish:0,0"])
def test_numbers_out_of_range_are_refused(text):
    with pytest.raises(BadValue, match=r"a (whole )?number from 1"):
        network_from(text, EDGE_OF)


def test_more_clients_than_hosts():
    with pytest.raises(BadValue, match="a host for each of 6 clients \\(it has 2 hosts\\)"):
        network_from("fat-tree:2", EDGE_OF)


def test_csv_with_units_roles_and_a_default(tmp_path):
    path = tmp_path / "lab.csv"
    path.write_text(
        "source, target, capacity, latency, source_role, target_role\n"
        "cloud, rack, 1GB/s, 2ms, cloud, edge\n"
        "rack, a, 1e6, 0.5, , host\n"
        "rack, b, , , , host\n"
    )
    network = read(path, link=Link(7.0, 0.25))
    assert (network.cloud, network.edges, network.hosts) == ("cloud", ("rack",), ("a", "b"))
    links = {arc: (c, s) for arc, c, s in zip(network.arcs, network.capacity, network.latency, strict=True)}
    assert links["cloud", "rack"] == (1e9, 0.002)
    assert links["rack", "a"] == (1e6, 0.5)
    assert links["b", "rack"] == (7.0, 0.25)
    assert network_from(str(path), [0, 0], link=Link(7.0, 0.25)).hosts == ("a", "b")


def test_graphml_whose_attributes_have_no_type(tmp_path):
    (tmp_path / "a.graphml").write_text(GRAPHML.format(type="string", value="5e6").replace(' attr.type="string"', ""))
    assert set(read(tmp_path / "a.graphml").capacity.tolist()) == {5e6}


def test_graphml(tmp_path):
    graph: nx.Graph[str] = nx.Graph()
    graph.add_edge("a", "b", capacity="8Mbps", latency="1ms")
    graph.add_edge("b", "c", capacity=2e6, latency=0.0)
    nx.write_graphml(graph, tmp_path / "lab.graphml")
    network = read(tmp_path / "lab.graphml")
    assert network.hosts == ("a", "b", "c")
    assert sorted(network.capacity) == [1e6, 1e6, 2e6, 2e6]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "from,to\nx,y\n", "needs the columns source,target,capacity,latency"),
        ("a.csv", "source,target,capacity,latency\nx,,1MB/s,1ms\n", "line 2 of .* needs a source and another"),
        ("a.csv", "source,target,capacity,latency\nx,y,1MB/s,1ms\ny,x,1MB/s,1ms\n", "line 3 of"),
        ("a.csv", "source,target,capacity,latency\nx,y,1MB/s,1ms\nz,w,1MB/s,1ms\n", "is disconnected"),
        ("a.csv", "source,target,capacity,latency\nx,y,0,1ms\n", "capacity of link x to y is 0.0"),
        ("a.csv", "source,target,capacity,latency\nx,y,9 bananas,1ms\n", "capacity of link x to y is '9 bananas'"),
        ("a.csv", "source,target,capacity,latency\n", "no host"),
        ("a.csv", "source,target,capacity,latency\nx,x,1MB/s,1ms\n", "line 2 of .* needs a source and another target"),
        ("a.csv", "source,target\n\0,y\n", "capacity of link|cannot be read"),
        ("a.csv", "source,target\nx," + "y" * 200_000 + "\n", "field larger than field limit"),
        ("a.csv", "source,target,capacity,latency\nx,y,1e400,1ms\n", "capacity of link x to y is inf"),
        ("a.csv", "source,target,capacity,latency,source_role\nx,y,1,1,king\n", "has role 'king'"),
        ("a.graphml", "<graphml", "cannot be read"),
        ("a.graphml", "", "cannot be read"),
        ("a.graphml", "<a/>", "cannot be read"),
        ("a.graphml", GRAPHML.format(type="double", value="fast"), "cannot be read: could not convert string to float"),
        ("a.graphml", GRAPHML.format(type="int", value="1.5"), "cannot be read: invalid literal for int"),
        ("a.graphml", GRAPHML.format(type="boolean", value="maybe"), "cannot be read: 'maybe'"),
        ("a.graphml", GRAPHML.format(type="wavelength", value="1"), "cannot be read"),
        ("a.graphml", GRAPHML.format(type="double", value="nan"), "capacity of link x to y is nan"),
        ("a.graphml", GRAPHML.format(type="string", value="-5"), "capacity of link x to y is -5.0"),
    ],
)
def test_broken_files(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises((BadData, BadValue), match=message):
        read(tmp_path / name)


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(BadData, match="cannot be read"):
        read(tmp_path / "none.csv")
    with pytest.raises(BadValue, match="network is"):
        read(tmp_path / "lab.xlsx")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        # 3 x 300 x 150 x 150 links
        ("fat-tree:300", r"pods is 300; allowed is at most 110: .* \(this makes 20,250,000, about 22\.3 GB\)"),
        ("fat-tree:111", "pods is 111; allowed is at most 110"),  # 3 x 111 x 56 x 56 = 1,044,288
        ("fat-tree:999999999999999999", "pods is 999999999999999999"),
        ("tree:1000000", "edges is 1000000; allowed is at most 500,000"),  # an edge and its one host are 2 links
        ("jellyfish:1000000,4", "switches is 1000000; allowed is at most 333,333"),  # 4 / 2 + 1 links a switch
        ("jellyfish:4,3,1000000", "switches is 4; allowed is one with at most 1,000,000 links"),
    ],
)
def test_networks_of_gigabytes_are_refused_before_they_are_built(text, sentence):
    with pytest.raises(BadValue, match=sentence):
        network_from(text, EDGE_OF)


def test_files_of_gigabytes_are_refused_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr("covey.network.topology.MOST_LINKS", 2)
    (tmp_path / "lab.csv").write_text("source,target\na,b\nb,c\nc,d\n")
    nx.write_graphml(nx.path_graph(4), tmp_path / "lab.graphml")
    for name in ("lab.csv", "lab.graphml"):
        with pytest.raises(BadValue, match=r"network is .*; allowed is one with at most 2 links \(this makes 3"):
            read(tmp_path / name)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x00" * 50])
@pytest.mark.parametrize("ending", ["csv", "graphml"])
def test_bytes_that_are_no_text(tmp_path, data, ending):
    (tmp_path / f"lab.{ending}").write_bytes(data)
    with pytest.raises(BadData, match=r"network file .*lab\..* (cannot be read|needs the columns)"):
        read(tmp_path / f"lab.{ending}")
