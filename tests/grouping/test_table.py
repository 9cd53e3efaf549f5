import numpy as np
import pytest
from tests.narrow import known

from covey.errors import BadData
from covey.grouping import Grouping
from covey.grouping.table import read_clients, read_distances, write_groups


@pytest.fixture
def file(tmp_path):
    def write(text, name="fleet.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_distances_that_do_not_fit_into_memory_are_refused_before_they_are_read(file, monkeypatch):
    path = file("client,ada,bob\nada,0,5\nbob,5.5,0\n", "d.csv")
    monkeypatch.setattr("covey.grouping.table.free_memory", lambda: 24 * 2**2)
    assert read_distances(path, ["ada", "bob"]).shape == (2, 2)
    monkeypatch.setattr("covey.grouping.table.free_memory", lambda: 24 * 2**2 - 1)
    with pytest.raises(BadData, match="of memory"):
        read_distances(path, ["ada", "bob"])


def test_a_fleet(file):
    table = read_clients(file("\ufeffclient, edge ,cat,dog\nada,north,3,0\n\nbob,south,0,4.0\neve,north,1,2\n"))
    assert tuple(table.names) == ("ada", "bob", "eve")
    assert table.label_names == ("cat", "dog")
    assert table.labels.tolist() == [[3, 0], [0, 4], [1, 2]]
    assert known(table.edges).tolist() == [0, 1, 0]


def test_edges_are_optional_and_columns_in_any_order(file):
    table = read_clients(file("dog,client\n3,ada\n"))
    assert table.edges is None
    assert table.labels.tolist() == [[3]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("client,cat\n", "a header but no client"),
        ("name,cat\nada,1\n", "line 1: no column 'client' .there are 'name', 'cat'."),
        ("client,edge\nada,north\n", "line 1: no column with a label"),
        ("client;cat\nada;1\n", "line 1: columns are separated by semicolons, not by commas"),
        ("client\tcat\nada\t1\n", "line 1: columns are separated by tabs"),
        ("client,cat,cat\nada,1,2\n", "line 1: column 'cat' is there twice"),
        ("client,,cat\nada,1,2\n", "line 1: column '' has no name"),
        ("client,cat\nada,-1\n", "line 2, column 'cat': '-1' is not a whole number from 0 up"),
        ("client,cat\nada,1\nbob,1.5\n", "line 3, column 'cat': '1.5' is not a whole number"),
        ("client,cat\nada,nan\n", "line 2, column 'cat': 'nan' is not a whole number"),
        ("client,cat\nada,1e3\n", "line 2, column 'cat': '1e3' is not a whole number"),
        ("client,cat\nada,\n", "line 2, column 'cat': '' is not a whole number"),
        ('client,cat,dog\nada,",",1\n', "line 2, column 'cat': ',' is not a whole number"),
        ('client,cat,dog\nada,"1,2",1\n', "line 2, column 'cat': '1,2' is not a whole number"),
        ("client,cat\nada,9999999999999999999\n", "is not a whole number"),
        ("client,cat\nada,1\n\nbob,2\nada,3\n", "line 5: client 'ada' is on line 2 already"),
        ("client,cat\n,1\n", "line 2: the client has no name"),
        ("client,cat\nada,1,2\n", "line 2: 3 fields where the header has 2"),
        ("client,edge,cat\nada,,1\n", "line 2: client 'ada' has no edge"),
        ('client,cat\n"ada,1\n', "line 2: unexpected end of data"),
        (b"client,cat\n\xff\xfe,1\n", "not a text file in UTF-8"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(file, text, sentence):
    with pytest.raises(BadData, match=sentence):
        read_clients(file(text))


def test_the_line_is_named_at_which_sums_are_no_longer_exact(file):
    # 2^53 is about 9.007e15: the tenth client with (nearly) 10^15 samples is one too many, on line 11
    rows = "".join(f"c{i},999999999999999\n" for i in range(12))
    with pytest.raises(BadData, match=r"line 11: the clients up to here hold more than 9,007,199,254,740,992 samples"):
        read_clients(file("client,cat\n" + rows))


def test_no_such_file_and_no_file(tmp_path):
    with pytest.raises(BadData, match="no such file"):
        read_clients(tmp_path / "none.csv")
    with pytest.raises(BadData, match="Is a directory"):
        read_clients(tmp_path)


def test_groups_out_and_in(tmp_path):
    write_groups(tmp_path / "g.csv", ["ada", "bob", "eve"], Grouping(((2, 0),), left_out=(1,)))
    assert (tmp_path / "g.csv").read_text() == "client,group\nada,0\nbob,\neve,0\n"
    write_groups(tmp_path / "g.csv", ["ada", "bob"], Grouping(((0,), (1,)), heads=(0, 1)))
    assert (tmp_path / "g.csv").read_text() == "client,group,head\nada,0,1\nbob,1,1\n"


def test_distances_by_name_in_the_fleets_order(file):
    path = file("client,bob,ada\nada,5,0\nbob,0,5.5\n", "d.csv")
    assert np.array_equal(read_distances(path, ["ada", "bob"]), [[0.0, 5.0], [5.5, 0.0]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("client,ada\nada,0\n", "client 'bob' has no row"),
        ("client,ada\nada,0\nbob,1\n", "client 'bob' has no column"),
        ("client,ada,bob\nada,0,far\nbob,1,0\n", "line 2, column 'bob': 'far' is not a number from 0 up"),
        ("client,ada,bob\nada,0,-1\nbob,1,0\n", "'-1' is not a number from 0 up"),
        ("client,ada,bob\nada,0,inf\nbob,1,0\n", "'inf' is not a number from 0 up"),
    ],
)
def test_wrong_distances(file, text, sentence):
    with pytest.raises(BadData, match=sentence):
        read_distances(file(text, "d.csv"), ["ada", "bob"])
