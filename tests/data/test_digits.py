from __future__ import annotations

import numpy as np

from covey.data import load


def test_shape_range_and_sizes():
    digits = load("digits")
    assert digits.shape == (1, 8, 8)
    assert digits.x.dtype == np.float32
    assert (digits.x.min(), digits.x.max()) == (0, 1)
    assert len(digits.x) + len(digits.test_x) == 1797


def test_the_test_set_is_a_fifth_of_every_class():
    digits = load("digits")
    train, test = np.bincount(digits.y), np.bincount(digits.test_y)
    np.testing.assert_array_equal(test, np.ceil((train + test) / 5))


def test_it_is_the_same_every_time():
    np.testing.assert_array_equal(load("digits").test_x, load("digits").test_x)
