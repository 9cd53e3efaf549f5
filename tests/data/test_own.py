"""Data of one's own: files, folders and objects become data sets, and what cannot is said in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.narrow import known, samples

from covey.data import load, load_fleet
from covey.data.arrays import dataset_of, held_out
from covey.data.objects import dataset_from, from_partitions
from covey.errors import BadData, BadValue, UnknownName
from covey.experiment import Experiment


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


X = np.random.default_rng(0).random((60, 4))
Y = np.arange(60) % 3


def table(rows=60, name="t.csv"):
    lines = ["id,a,b,species,site"]
    lines += [f"q{i},{X[i, 0]},{X[i, 1]},{'cab'[Y[i]]},s{i % 4}" for i in range(rows)]
    Path(name).write_text("\n".join(lines))


def images(folder, *, clients=("",), classes=("cat", "dog"), each=3, size=(6, 5), mode="RGB"):
    rng = np.random.default_rng(1)
    for client in clients:
        for kind in classes:
            place = folder / client / kind
            place.mkdir(parents=True)
            for i in range(each):
                shape = size[::-1] if mode == "L" else (*size[::-1], 3)
                Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8)).save(place / f"{i}.png")


class Pairs(torch.utils.data.Dataset):
    def __init__(self, count=30, item=None):
        self.count, self.item = count, item or (lambda i: (torch.full((1, 2, 2), i / 30), i % 3))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i >= self.count:
            raise IndexError(i)
        return self.item(i)


def test_an_npz_keeps_a_fifth_of_every_owners_samples_to_test_on():
    np.savez("a.npz", x=X, y=Y, owners=np.arange(60) % 6)
    found = load("a.npz")
    assert (found.name, found.shape, found.classes, found.x.dtype) == ("a", (4,), 3, np.dtype(np.float32))
    assert found.owner_names == ("0", "1", "2", "3", "4", "5")
    # ten samples an owner: two to test on, eight to train on
    assert np.bincount(known(found.test_owners)).tolist() == [2] * 6
    assert np.bincount(known(found.owners)).tolist() == [8] * 6


def test_an_npz_with_test_samples_as_keras_writes_it_is_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (9, 5, 5), dtype=np.uint8)
    np.savez("m.npz", x_train=pixels, y_train=Y[:9], x_test=pixels[:2], y_test=Y[:2])
    found = load("m.npz")
    assert found.shape == (1, 5, 5)
    np.testing.assert_allclose(found.x[:, 0], pixels / 255, rtol=1e-6)
    assert len(found.test_x) == 2


def test_pixels_with_the_channel_last_are_turned():
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 5, 3), dtype=np.uint8)
    found = dataset_of("p", {"x": pixels, "y": [0, 1, 0, 1]}, test=0)
    assert found.shape == (3, 6, 5)
    np.testing.assert_allclose(found.x[2, 1], pixels[2, :, :, 1] / 255, rtol=1e-6)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"y": Y}, "has no array x"),
        ({"x": X}, "has no array y"),
        ({"x": X, "y": Y[:5]}, "x has 60 samples and y 5 classes"),
        ({"x": X, "y": Y + 0.5}, "y has the value 0.5; a class is a whole number or a text"),
        ({"x": X, "y": np.stack([Y, Y], 1)}, r"y has the shape \(60, 2\), not one value per sample"),
        ({"x": np.where(X > 0.9, np.nan, X), "y": Y}, r"x\[\d+, \d\] is nan, not a finite number"),
        ({"x": X.astype(str), "y": Y}, r"x is of type <U\d+ and shape \(60, 4\), not numbers"),
        ({"x": [[1.0], [1.0, 2.0]], "y": [0, 1]}, "x cannot be made an array"),
        ({"x": X, "y": Y, "owners": Y[:4]}, "owners has 4 entries for 60 samples"),
        ({"x": X, "y": Y, "test_x": X}, "test_x is given without test_y"),
        ({"x": X, "y": Y, "test_x": X[:, :2], "test_y": Y}, r"test_x is 'samples of shape \(2,\)'"),
        ({"x": X, "y": Y, "test_owners": Y}, "test_owners is given without owners"),
        ({"x": X, "y": Y, "test_x": X, "test_y": list("ab")}, "y and test_y are of different types"),
        ({"x": X[:0], "y": Y[:0]}, "y is empty"),
        ({"x": X, "y": Y, "z": Y}, "z is no array of a data set"),
    ],
)
def test_what_is_wrong_with_arrays_names_the_array(arrays, sentence):
    with pytest.raises(BadData, match=sentence):
        dataset_of("mine", arrays)


def test_files_that_are_no_npz_are_said_to_be_none(here):
    (here / "a.npz").write_bytes(b"PK no zip")
    with pytest.raises(BadData, match=r"a\.npz is truncated or not an \.npz file of arrays"):
        load("a.npz")
    np.savez("b.npz", x=np.array([{}], dtype=object), y=np.zeros(1))  # would have to be unpickled
    with pytest.raises(BadData, match="allow_pickle"):
        load("b.npz")
    np.savez("c.npz", z=X)
    with pytest.raises(BadData, match=r"c\.npz has no array x .*; its arrays are z"):
        load("c.npz")


def test_a_table_has_classes_owners_and_numbers():
    table()
    found = load("t.csv:label=species,owner=site,drop=id")
    assert (found.shape, found.classes, found.owner_names) == ((2,), 3, ("s0", "s1", "s2", "s3"))
    np.testing.assert_allclose(found.x[0], X[0, :2], rtol=1e-6)
    assert found.y[:3].tolist() == [2, 0, 1]  # c, a, b


def test_a_table_may_be_standardised_shaped_and_split(here):
    rows = [f"{i},{10 * i},{i % 2},{'test' if i > 5 else 'train'}" for i in range(8)]
    (here / "n.csv").write_text("\n".join(["a,b,label,part", *rows]))
    found = load("n.csv:split=part,shape=1x2")
    assert found.shape == (1, 2)
    assert found.test_x.reshape(-1, 2).tolist() == [[6, 60], [7, 70]]
    assert found.y.tolist() == [0, 1, 0, 1, 0, 1]
    # 0 … 7: mean 3.5, variance (3.5² + 2.5² + 1.5² + 0.5²) / 4 = 5.25
    np.testing.assert_allclose(load("n.csv:split=part,standardise=yes").x[0], [-3.5 / 5.25**0.5] * 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("t.csv", "line 1: no column 'label' .there are 'id', 'a', 'b', 'species', 'site'"),
        ("t.csv:label=species", "line 2, column 'id': 'q0' is not a finite number: drop the column with drop=id"),
        ("t.csv:label=species,drop=id+site+a+b", "no column of numbers beside 'species'"),
        ("t.csv:label=species,drop=id+site,shape=3x3", "shape is '3x3', and a sample has 2 numbers"),
        ("t.csv:label=species,drop=id,split=site", "column 'site': 's0' is neither 'train' nor 'test'"),
        ("nope.csv", "nope.csv: no such file"),
        ("nope/", "nope/: no such folder"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(word, sentence):
    table()
    with pytest.raises(BadData, match=sentence):
        load(word)


def test_a_setting_that_a_format_does_not_have_is_refused():
    table()
    with pytest.raises(UnknownName, match="did you mean 'label'"):
        load("t.csv:lable=species")
    with pytest.raises(BadValue, match=r"test is 2\.0"):
        load("t.csv:label=species,test=2")


def test_a_folder_of_images_has_a_folder_a_class(here):
    images(here / "pets", each=5)
    found = load("pets/")
    assert (found.name, found.shape, found.classes, found.owners) == ("pets", (3, 5, 6), 2, None)
    assert (len(found.y), len(found.test_y)) == (8, 2)
    assert 0.9 < found.x.max() <= 1
    assert load("./pets:size=4,grey=true").shape == (1, 4, 4)


def test_a_folder_of_images_may_have_a_folder_a_client_below_train_and_test(here):
    images(here / "p" / "train", clients=("ada", "bob"), mode="L")
    images(here / "p" / "test", clients=("bob",), each=1, mode="L")
    found = load("p/")
    assert (found.shape, found.owner_names, known(found.test_owners).tolist()) == ((1, 5, 6), ("ada", "bob"), [1, 1])
    assert np.bincount(known(found.owners)).tolist() == [6, 6]


def test_what_is_wrong_with_images_is_said(here):
    (here / "empty").mkdir()
    with pytest.raises(BadData, match=r"is not a folder of images as CLASS/.* .no image in it."):
        load("./empty")
    images(here / "p")
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(here / "p" / "dog" / "9.png")
    with pytest.raises(BadData, match=r"9\.png is not as large as the first image; .* set size"):
        load("p/")
    (here / "p" / "dog" / "9.png").write_bytes(b"no image")
    with pytest.raises(BadData, match=r"9\.png is truncated or not an image"):
        load("p/")
    (here / "p" / "dog" / "9.png").rename(here / "p" / "9.png")
    with pytest.raises(BadData, match=r"9\.png"):
        load("p/")


def test_a_saved_data_set_of_hugging_face_is_read(here):
    import datasets

    datasets.disable_progress_bars()
    rng = np.random.default_rng(0)
    made = datasets.Dataset.from_dict(
        {
            "image": [Image.fromarray(rng.integers(0, 256, (4, 4), dtype=np.uint8)) for _ in range(20)],
            "label": [i % 2 for i in range(20)],
            "hand": ["ab"[i // 10] for i in range(20)],
        }
    )
    made.save_to_disk("hf")
    found = load("hf/:owner=hand")
    assert (found.shape, found.classes, found.owner_names, len(found.y)) == ((1, 4, 4), 2, ("a", "b"), 16)
    datasets.DatasetDict({"train": made, "test": made.select(range(4))}).save_to_disk("both")
    assert len(load("./both").test_y) == 4
    with pytest.raises(BadData, match="has no column 'hands'; its columns are image, label, hand: set owner"):
        load("hf/:owner=hands")
    numbers = datasets.Dataset.from_dict({"features": X.tolist(), "label": list(map(str, Y))})
    assert dataset_from(numbers).shape == (4,)
    assert dataset_from({"train": numbers, "test": numbers}).test_x.shape == (60, 4)
    (here / "hf" / "dataset_info.json").write_text("{")
    with pytest.raises(BadData, match="not a data set that save_to_disk wrote"):
        load("hf/")


@pytest.mark.parametrize(
    "thing",
    [
        (X, Y),
        (X.tolist(), Y.tolist()),
        (torch.tensor(X, requires_grad=True), torch.tensor(Y)),
        (torch.tensor(X).bfloat16(), Y[:, None]),
        {"x": X.astype(np.float16), "y": [["c", "a", "b"][k] for k in Y]},
        (X[:50], Y[:50], X[50:], Y[50:]),
        ((X[:50], Y[:50]), (X[50:], Y[50:])),
    ],
)
def test_arrays_of_any_usual_type_make_a_fleet(thing):
    fleet = load_fleet(thing, clients=4, partition="iid")
    assert (fleet.clients, fleet.classes, samples(fleet).shape, samples(fleet).x.dtype) == (
        4,
        3,
        (4,),
        np.dtype(np.float32),
    )


def test_a_torch_data_set_or_a_pair_of_them_makes_a_fleet():
    assert dataset_from(Pairs()).shape == (1, 2, 2)
    found = dataset_from((Pairs(), Pairs(6)))
    assert (len(found.y), len(found.test_y)) == (30, 6)
    pictures = Pairs(8, lambda i: (Image.fromarray(np.full((3, 3), i, np.uint8)), i % 2))
    assert dataset_from(pictures).shape == (1, 3, 3)


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [
        (Pairs(3, lambda i: i), "item 0 is not a pair of a sample and its class, but int"),
        (Pairs(3, lambda i: (torch.zeros(i + 1), 0)), r"x\[1\] has the shape \(2,\), and x\[0\] \(1,\)"),
        (Pairs(0), "x has no samples"),
        (3.5, "data is 3.5; allowed is a covey.Dataset, .x, y."),
        ([X, Y], "allowed is a covey.Dataset"),
    ],
)
def test_objects_that_are_no_data_are_said_to_be_none(thing, sentence):
    with pytest.raises((BadData, BadValue), match=sentence):
        dataset_from(thing)


class Partitioner:
    """As those of Flower Datasets: partitions by number."""

    num_partitions = 3

    def load_partition(self, partition_id):
        return X[partition_id::3], Y[:20]


def test_partitions_of_others_are_clients():
    fleet = load_fleet(Partitioner())
    assert (fleet.clients, fleet.names) == (3, ("0", "1", "2"))
    # 20 samples a partition, of which a fifth is to test on
    assert fleet.sizes.tolist() == [16, 16, 16]
    np.testing.assert_allclose(samples(fleet).x[samples(fleet).train_of[1][0]], X[1::3][0])
    with pytest.raises(BadValue, match="num_partitions is None"):
        from_partitions(type("P", (), {"load_partition": lambda self, i: (X, Y)})())
    with pytest.raises(BadValue, match="partition 0 is 'int'; allowed is a data set of Hugging Face"):
        from_partitions(type("P", (), {"num_partitions": 1, "load_partition": lambda self, i: 3})())


def test_held_out_samples_are_of_every_class():
    apart = held_out(np.array([0] * 10 + [1] * 5 + [2]), None, 0.2)
    # a fifth of 10, 5 and 1 samples is 2, 1 and 0
    assert [int(apart[part].sum()) for part in (slice(10), slice(10, 15), slice(15, 16))] == [2, 1, 0]


def test_data_that_says_whose_it_is_is_split_that_way_unless_told():
    table()
    np.savez("n.npz", x=X, y=Y)
    word = "t.csv:label=species,owner=site,drop=id"
    assert (Experiment.make({"data": word}).partition, Experiment.make({"data": word}).clients) == ("natural", 0)
    assert Experiment.make({"data": word, "partition": "iid"}).clients == 50
    assert Experiment.make({"data": word, "clients": 2}).clients == 2
    assert Experiment.make({"data": "n.npz"}).partition == "dirichlet:0.1"
    assert Experiment.make({"partition": "index:owners.json"}).clients == 0
    assert load_fleet(word).names == ("s0", "s1", "s2", "s3")


def test_index_lists_and_files_say_who_owns_what(here):
    lists = [[0, 3, 6], [1, 4]]
    assert load_fleet((X, Y), partition=lists, test_fraction=0).sizes.tolist() == [3, 2]
    (here / "o.json").write_text(json.dumps({"ada": [0, 3, 6], "bob": [1, 4]}))
    (here / "o.csv").write_text("client,sample\nada,0\nbob,1\nada,3\nbob,4\nada,6\n")
    np.save("o.npy", np.array([0, 1, -1, 0, 1, -1, 0]))
    for file, names in (("o.json", ("ada", "bob")), ("o.csv", ("ada", "bob")), ("o.npy", None)):
        fleet = load_fleet((X, Y), partition=f"index:{file}", test_fraction=0)
        assert fleet.names == names
        assert [part.tolist() for part in samples(fleet).train_of] == lists


@pytest.mark.parametrize(
    ("partition", "sentence"),
    [
        ([[0, 1], [1]], r"partition\[1\] is 1; allowed is lists of samples from 0 to 47, each in one"),
        ([[0], [48]], r"partition\[1\] is 48"),
        ([[0.5]], r"partition\[0\] is 0.5"),
        ([], "partition is \\[\\]"),
        (7, "partition is 7; allowed is a text such as 'iid'"),
        ("index:o.txt", "a file that ends in .csv, .json or .npy"),
        ("index:o.csv", "line 3: sample 'x' is not a whole number from 0 up"),
        ("index:no.csv", "no.csv: no such file"),
        ("index:o.json", "neither lists of samples"),
        ("index:p.json", r"p.json, partition\[0\] is 99"),
    ],
)
def test_lists_that_are_none_are_refused(here, partition, sentence):
    (here / "o.csv").write_text("client,sample\nada,0\nbob,x\n")
    (here / "o.json").write_text("3")
    (here / "p.json").write_text("[[99]]")
    with pytest.raises((BadValue, BadData), match=sentence):
        load_fleet((X, Y), partition=partition)
