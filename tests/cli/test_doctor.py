import json

import pytest
from tests.store.made import finished, with_rounds

from covey.store import Store


@pytest.fixture
def folder(tmp_path):
    with Store(tmp_path / "runs") as store:
        finished(store, 3)
        with_rounds(store, 3)
    return tmp_path / "runs"


def test_a_whole_store(covey, folder):
    assert covey("doctor", "--json").json == {"runs": 2, "whole": 2, "damaged": []}
    said = covey("doctor")
    assert (said.code, said.out) == (0, "2 runs, 2 whole\n")
    assert covey("doctor", "--out", folder, "--repair", "--json").json == {
        "runs": 2,
        "whole": 2,
        "damaged": [],
        "repaired": [],
    }


def test_a_damaged_store_is_exit_code_1_until_it_is_repaired(covey, folder):
    path = folder / "fedavg-digits-1" / "round-000003.safetensors"
    path.write_bytes(b"")
    said = covey("doctor", "--json")
    found = json.loads(said.out)
    assert (said.code, found["runs"], found["whole"]) == (1, 2, 1)
    assert [damage["run"] for damage in found["damaged"]] == ["fedavg-digits-1"]
    assert found["damaged"][0].keys() == {"run", "what"}
    assert str(path.relative_to(folder.parent)) in found["damaged"][0]["what"]
    said = covey("doctor")
    assert said.code == 1
    assert "2 runs, 1 whole" in said.out
    assert "fedavg-digits-1" in said.out
    assert "covey doctor --repair" in said.out
    said = covey("doctor", "--repair")
    assert (said.code, said.err) == (0, "")
    assert "round-000003.safetensors was set aside" in said.out
    assert covey("doctor", "--json").json == {"runs": 2, "whole": 2, "damaged": []}


def test_what_is_wrong_with_the_store_itself_is_of_no_run(covey, folder):
    for path in folder.glob("covey.db*"):
        path.write_bytes(b"no database" * 100)
    said = covey("doctor", "--json")
    assert said.code == 1
    assert json.loads(said.out)["damaged"][0] == {
        "run": None,
        "what": "its database cannot be read (file is not a database)",
    }


def test_a_folder_that_is_not_there(covey):
    assert covey("doctor", "--out", "nowhere").complaint == "out is 'nowhere'; allowed is a folder with runs"


def test_names_are_only_text(covey, folder):
    with Store(folder) as store:
        insert = "INSERT INTO runs VALUES (?, 5.0, 'running', '{}', '{}')"
        store.database.connection.execute(insert, ("\x1b[31m[/s]",))
    said = covey("doctor")
    assert said.code == 1
    assert r"\x1b[31m[/s]" in said.out
    assert "\x1b" not in said.out
