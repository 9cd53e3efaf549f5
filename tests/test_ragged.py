from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.ragged import Ragged

ROWS = st.lists(st.lists(st.integers(-5, 20), max_size=6), max_size=8)


@given(ROWS)
def test_it_is_a_sequence_of_the_rows(rows):
    ragged = Ragged.of(rows)
    assert [row.tolist() for row in ragged] == rows
    assert [ragged[i].tolist() for i in range(len(rows))] == rows
    assert [ragged[-i - 1].tolist() for i in range(len(rows))] == rows[::-1]
    assert [row.tolist() for row in ragged[1::2]] == rows[1::2]
    assert ragged.sizes.tolist() == [len(row) for row in rows]
    assert ragged.rows.tolist() == [i for i, row in enumerate(rows) for _ in row]


@given(ROWS, st.data())
def test_rows_are_taken_in_the_order_asked_for(rows, data):
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    assert [row.tolist() for row in Ragged.of(rows).take(wanted)] == [rows[i] for i in wanted]


@given(ROWS)
def test_every_row_is_sorted_by_itself(rows):
    assert [row.tolist() for row in Ragged.of(rows).sorted()] == [sorted(row) for row in rows]


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=8))
def test_what_rows_hold_is_counted(rows):
    kinds = np.arange(10) % 3
    counted = Ragged.of(rows).tally(kinds, 3).tolist()
    assert counted == [[sum(j % 3 == kind for j in row) for kind in range(3)] for row in rows]


def test_rows_are_views():
    ragged = Ragged.of([[1, 2], [3]])
    ragged[0][1] = 9
    assert ragged.flat.tolist() == [1, 9, 3]


def test_equal_rows_make_equals():
    assert Ragged.of([[1], [2]]) == Ragged.of([[1], [2]])
    assert Ragged.of([[1], [2]]) != Ragged.of([[1, 2]])
    assert Ragged.of([[1]]) != [[1]]


@pytest.mark.parametrize("row", [2, -3])
def test_a_row_that_is_not_there(row):
    with pytest.raises(IndexError, match="of 2"):
        Ragged.of([[1], [2]])[row]
