from __future__ import annotations

import numpy as np
import pytest
from tests.narrow import known

from covey.data.users import by_user, hold_out
from covey.errors import BadData


def samples(*values):
    return np.array(values, np.float32)[:, None], np.array(values, np.int64)


def test_everybody_is_numbered_over_both_splits():
    read = by_user("n", {"a": samples(1, 2), "b": samples(3)}, {"c": samples(4), "a": samples(5, 6)}, classes=10)
    assert read.owner_names == ("a", "b", "c")
    assert read.y.tolist() == [1, 2, 3]
    assert known(read.owners).tolist() == [0, 0, 1]
    assert read.test_y.tolist() == [4, 5, 6]
    assert known(read.test_owners).tolist() == [2, 0, 0]


def test_users_without_samples_own_nothing():
    empty = (np.empty((0, 1), np.float32), np.empty(0, np.int64))
    read = by_user("n", {"a": samples(1), "b": samples(2)}, {"a": empty, "b": samples(3)}, classes=10)
    assert known(read.test_owners).tolist() == [1]


def test_a_set_without_test_samples_is_refused():
    with pytest.raises(BadData, match="n has no test samples"):
        by_user("n", {"a": samples(1)}, {}, classes=10)


@pytest.mark.parametrize(("held", "tests"), [(1, 0), (2, 1), (10, 1), (14, 1), (16, 2), (100, 10)])
def test_hold_out_takes_a_tenth_but_never_all(held, tests):
    train, test = hold_out({"a": samples(*range(held))})
    assert train["a"][1].tolist() == list(range(held - tests))
    assert test["a"][1].tolist() == list(range(held - tests, held))
