from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
from PIL import Image
from tests.narrow import known

from covey.data import load
from covey.errors import BadData


def leaf(path, users):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {
                "users": list(users),
                "num_samples": [len(y) for _, y in users.values()],
                "user_data": {user: {"x": x, "y": y} for user, (x, y) in users.items()},
            }
        )
    )


def images(*values):
    return [[value] * 784 for value in values]


@pytest.mark.parametrize("inner", ["", "data"])
def test_femnist_split_by_leaf(home, inner):
    root = home / "femnist" / inner
    leaf(root / "train" / "all_data_0.json", {"f01": (images(0.5, 1.0), [10, 61])})
    leaf(root / "train" / "all_data_1.json", {"f02": (images(0.25), [0])})
    leaf(root / "test" / "all_data_0.json", {"f01": (images(0.75), [9])})
    read = load("femnist")
    assert read.x.shape == (3, 1, 28, 28)
    assert read.x.dtype == np.float32
    assert read.x[:, 0, 0, 0].tolist() == [0.5, 1.0, 0.25]
    assert read.y.tolist() == [10, 61, 0]
    assert (read.classes, read.owner_names) == (62, ("f01", "f02"))
    assert (known(read.owners).tolist(), known(read.test_owners).tolist()) == ([0, 0, 1], [0])


def test_femnist_before_leaf_split_it(home):
    leaf(home / "femnist" / "all_data" / "all_data_0.json", {"f01": (images(0.1, 0.2, 0.3), [1, 2, 3])})
    read = load("femnist")
    assert (read.y.tolist(), read.test_y.tolist()) == ([1, 2], [3])
    assert known(read.test_owners).tolist() == [0]


def test_femnist_of_tensorflow_federated(home):
    (home / "femnist").mkdir()
    for split, labels in (("train", [7, 8]), ("test", [9])):
        with h5py.File(home / "femnist" / f"fed_emnist_{split}.h5", "w") as file:
            for writer in ("f0000_14", "f0001_41"):
                group = file.create_group(f"examples/{writer}")
                group["pixels"] = np.full((len(labels), 28, 28), 0.5, np.float32)
                group["label"] = np.array(labels, np.int32)
    read = load("femnist")
    assert read.x.shape == (4, 1, 28, 28)
    assert read.y.tolist() == [7, 8, 7, 8]
    assert read.owner_names == ("f0000_14", "f0001_41")
    assert known(read.test_owners).tolist() == [0, 1]


def test_a_cut_h5_file_is_found(home):
    (home / "femnist").mkdir()
    for split in ("train", "test"):
        path = home / "femnist" / f"fed_emnist_{split}.h5"
        with h5py.File(path, "w") as file:
            file["examples/a/pixels"], file["examples/a/label"] = (
                np.ones((9, 28, 28), np.float32),
                np.zeros(9, np.int32),
            )
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(BadData, match=r"fed_emnist_test\.h5 is truncated or not TensorFlow Federated's FEMNIST"):
        load("femnist")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"users": ["a"], "user_data": {"a": {"x"', "0.json is truncated or not a LEAF file"),
        ('{"users": ["a"]}', "0.json is truncated or not a LEAF file"),
        ('{"users": ["a"], "user_data": {"a": {"x": [[0.1]], "y": [1]}}}', "0.json is truncated or not a LEAF file"),
        ('{"users": ["a"], "user_data": {"a": {"x": [], "y": [1]}}}', "0.json has 0 x but 1 y for user a"),
    ],
)
def test_damaged_json_is_found(home, text, sentence):
    for split in ("train", "test"):
        (home / "femnist" / split).mkdir(parents=True)
        (home / "femnist" / split / "0.json").write_text(text)
    with pytest.raises(BadData, match=sentence):
        load("femnist")


def test_leaf_files_in_the_shared_folder_could_be_any_set(home):
    for split in ("train", "test"):
        leaf(home / split / "0.json", {"f01": (images(0.5), [10])})
    with pytest.raises(BadData, match="femnist is not on this machine"):
        load("femnist")


@pytest.fixture
def celeba(home):
    folder = home / "celeba" / "data" / "raw" / "img_align_celeba"
    folder.mkdir(parents=True)
    for i, colour in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255)]):
        Image.new("RGB", (178, 218), colour).save(folder / f"00000{i}.png")
    leaf(
        home / "celeba" / "data" / "all_data" / "all_data.json",
        {"7": (["000000.png", "000001.png"], [1, 0]), "9": (["000002.png"], [1])},
    )
    return folder


def test_celeba_is_scaled_to_84(celeba):
    read = load("celeba")
    assert read.x.shape == (2, 3, 84, 84)
    assert read.x[:, :, 0, 0].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert (read.y.tolist(), known(read.owners).tolist(), read.owner_names) == ([1, 1], [0, 1], ("7", "9"))
    assert read.test_x[:, :, 0, 0].tolist() == [[0, 1, 0]]
    assert (read.test_y.tolist(), known(read.test_owners).tolist(), read.classes) == ([0], [0], 2)


def test_a_missing_portrait_is_named(celeba):
    (celeba / "000002.png").unlink()
    with pytest.raises(BadData, match=r"000002\.png is truncated or not a picture"):
        load("celeba")


def test_celeba_without_its_images_says_where_they_belong(celeba):
    celeba.rename(celeba.with_name("elsewhere"))
    with pytest.raises(BadData, match="img_align_celeba is missing: put CelebA's aligned images there"):
        load("celeba")
