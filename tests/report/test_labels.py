from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from covey.errors import BadValue
from covey.fleet import Fleet
from covey.report.labels import CLASSES, CLIENTS, label_matrix


def fleet(clients, classes, edges=1):
    labels = np.random.default_rng(0).integers(0, 9, (clients, classes))
    labels[:, 0] += 1
    return Fleet(labels, edge_of=np.arange(clients) * edges // clients)


@pytest.mark.parametrize(("clients", "classes"), [(1, 1), (CLIENTS, CLASSES), (CLIENTS + 1, 10), (10, CLASSES + 1)])
def test_a_picture_is_drawn(tmp_path, clients, classes):
    path = label_matrix(fleet(clients, classes), tmp_path / "p.png", title="who holds what")
    with Image.open(path) as picture:
        shades = np.asarray(picture.convert("L"))
    assert min(shades.shape) > 200
    assert len(np.unique(shades)) > 20


def test_more_samples_more_ink(tmp_path):
    """A client that holds one class has one bubble; one that holds ten has ten."""

    def ink(labels):
        path = label_matrix(Fleet(np.array(labels)), tmp_path / "p.png")
        with Image.open(path) as picture:
            colours = np.asarray(picture.convert("HSV"))[..., 1]
        return (colours > 120).sum()

    assert ink([[5] * 10] * 3) > 5 * ink([[5] + [0] * 9] * 3)


def test_one_sample_each_can_be_drawn_large(tmp_path):
    assert label_matrix(Fleet(np.eye(100, dtype=np.int64)), tmp_path / "p.png").exists()


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(BadValue, match=r"plot is .*p.what'; allowed is the name of a file that ends in \.png"):
        label_matrix(fleet(3, 3), tmp_path / "p.what")
