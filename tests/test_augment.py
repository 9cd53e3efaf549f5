import numpy as np
import pytest
from tests.narrow import samples

from covey.augment import augmented
from covey.data import Fleet
from covey.errors import BadValue


@pytest.fixture(scope="module")
def fleet():
    return Fleet.load("digits", clients=6, partition="dirichlet:0.2", samples=60, seed=3)


def test_counts_grow_towards_the_mean(fleet):
    counts = fleet.labels.sum(axis=0)
    for alpha in (0.5, 1.0):
        grown = augmented(fleet, alpha, np.random.default_rng(0)).labels.sum(axis=0)
        wanted = counts * np.maximum(1, counts.mean() / counts) ** alpha
        # every sample is copied a whole number of times, the fraction by chance: off by less than a count's root or so
        assert (np.abs(grown - wanted) <= 2 + 2 * np.sqrt(counts)).all()
        assert (grown[counts >= counts.mean()] == counts[counts >= counts.mean()]).all()


def test_labels_and_test_samples_stay(fleet):
    grown = augmented(fleet, 1.0, np.random.default_rng(0))
    old, new = samples(fleet), samples(grown)
    assert new.test_of == old.test_of
    assert new.test_x is old.test_x
    assert (new.x[: len(old.x)] == old.x).all()
    for i, own in enumerate(new.train_of):
        assert set(old.train_of[i]) <= set(own)
        assert set(new.y[own]) == set(old.y[old.train_of[i]])
        assert np.bincount(new.y[own], minlength=10).tolist() == grown.labels[i].tolist()


def test_images_are_shifted_by_at_most_an_eighth(fleet):
    grown = augmented(fleet, 1.0, np.random.default_rng(0))
    added = samples(grown).x[len(fleet.data.x) :]
    moves = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]  # 8 // 8 pixel each way
    padded = np.pad(fleet.data.x[:, 0], ((0, 0), (1, 1), (1, 1)))
    originals = {padded[i, 1 - a : 9 - a, 1 - b : 9 - b].tobytes() for i in range(len(padded)) for a, b in moves}
    assert len(added)
    assert all(image[0].tobytes() in originals for image in added)


def test_texts_are_copied_and_other_numbers_get_noise(fleet):
    from dataclasses import replace

    noise = np.random.default_rng(0).random((len(fleet.data.y), 3), dtype=np.float32)
    for x in (np.arange(len(fleet.data.y) * 3).reshape(-1, 3), noise):
        data = replace(fleet.data, x=x, test_x=x[:0], test_y=fleet.data.test_y[:0])
        grown = samples(augmented(replace(fleet, data=data), 1.0, np.random.default_rng(0)))
        added = grown.x[len(x) :]
        known = {row.tobytes() for row in x}
        assert all((row.tobytes() in known) == (x.dtype == np.int64) for row in added)
        assert added.dtype == x.dtype


def test_needs_data():
    with pytest.raises(BadValue, match="fleet is 'one without data'"):
        augmented(Fleet(np.ones((2, 2))), 1.0, np.random.default_rng(0))
