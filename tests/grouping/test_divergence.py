import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from covey.errors import BadValue
from covey.grouping.divergence import Divergences, divergences, ring_variance

numbers = st.floats(-100, 100)


@st.composite
def cases(draw):
    clients = draw(st.integers(1, 8))
    gradients = draw(arrays(float, (clients, 3), elements=numbers))
    sizes = draw(arrays(float, clients, elements=st.integers(1, 50)))
    of = draw(st.lists(st.integers(0, 2), min_size=clients, max_size=clients))
    groups = [np.flatnonzero(np.array(of) == k).tolist() for k in sorted(set(of))]
    return gradients, sizes, groups


def test_by_hand_in_two_dimensions():
    # All: (3 (4, 0) + 1 (0, 8)) / 4 = (3, 2); every client is its own group, so delta = 0.
    # Client 0: ||(1, -2)|| = sqrt 5, client 1: ||(-3, 6)|| = 3 sqrt 5; weighted 3/4 and 1/4: 6/4 sqrt 5.
    found = divergences([[4, 0], [0, 8]], [3, 1], [[0], [1]])
    assert found.delta == 0
    assert found.Delta == found.D == pytest.approx(1.5 * 5**0.5)


@given(cases())
def test_one_group_is_all_clients(case):
    gradients, sizes, _ = case
    found = divergences(gradients, sizes, [range(len(sizes))])
    assert found.Delta == pytest.approx(0, abs=1e-9)
    assert found.delta == pytest.approx(found.D)


@given(cases())
def test_groups_of_one_client_leave_no_delta(case):
    gradients, sizes, _ = case
    found = divergences(gradients, sizes, [[i] for i in range(len(sizes))])
    assert found.delta == pytest.approx(0, abs=1e-9)
    assert found.Delta == pytest.approx(found.D)


@given(cases(), arrays(float, 3, elements=numbers))
def test_equal_gradients_diverge_nowhere(case, gradient):
    _, sizes, groups = case
    same = np.tile(gradient, (len(sizes), 1))
    found = divergences(same, sizes, groups)
    assert [found.delta, found.Delta, found.D] == pytest.approx([0, 0, 0], abs=1e-9)
    assert ring_variance(same, sizes) == pytest.approx(0, abs=1e-9)


@given(cases())
def test_triangle_inequalities(case):
    found = divergences(*case)
    assert found.delta <= found.Delta + found.D + 1e-9  # TornadoAggregate, Eq. 26
    assert found.delta + found.Delta + 1e-9 >= found.D  # Eq. 28


def test_stars_can_be_worse_than_star():
    # TornadoAggregate, Theorem 2. Gradients -1, 0, 3, 0 with 2, 2, 1, 3 samples; the mean of all is (-2 + 3)/8 = 1/8.
    # D = (2 x 9/8 + 2 x 1/8 + 1 x 23/8 + 3 x 1/8)/8 = 46/64. Means of the groups {0, 3} and {1, 2}: -2/5 and 1.
    # delta = ((2 x 3/5 + 3 x 2/5) + (2 x 1 + 1 x 2))/8 = 6.4/8.
    found = divergences([[-1], [0], [3], [0]], [2, 2, 1, 3], [[0, 3], [1, 2]])
    assert [found.D, found.delta] == pytest.approx([46 / 64, 0.8])


def test_over_several_models_each_client_counts_its_largest_difference():
    # At the first model client 0 is 1 off, at the second 3; client 1 likewise: D = (3 + 3)/2.
    gradients = [[[0], [2]], [[-1], [5]]]
    assert divergences(gradients, [1, 1], [[0, 1]]) == Divergences(delta=3, Delta=0, D=3)
    assert ring_variance(gradients, [1, 1]) == 9


def test_a_client_in_no_group_counts_in_the_gradient_of_all():
    # All: (0 + 4)/2 = 2, the only group has 0: Delta = 1/2 x 2, D = 2.
    assert divergences([[0], [4]], [1, 1], [[0]]) == Divergences(delta=0, Delta=1, D=2)


@given(cases())
def test_ring_variance_is_the_variance_of_the_gradient_a_ring_meets(case):
    gradients, sizes, _ = case
    share = sizes / sizes.sum()
    expected = share @ (gradients**2).sum(axis=1) - ((share @ gradients) ** 2).sum()
    assert ring_variance(gradients, sizes) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("gradients", "sizes", "groups", "field"),
    [
        ([[1], [2]], [1, 1], [[0, 0]], "groups"),
        ([[1], [2]], [1, 1], [[0], [2]], "groups"),
        ([[1], [2]], [1, 1], [[0], []], "groups"),
        ([[1], [2]], [1, 1], [], "groups"),
        ([[1], [2]], [1, 0], [[0, 1]], "sizes"),
        ([[1], [2]], [], [[0, 1]], "sizes"),
        ([[1], [2]], [1, 1, 1], [[0, 1]], "gradients"),
        ([1, 2], [1, 1], [[0, 1]], "gradients"),
    ],
)
def test_what_makes_no_sense_is_refused(gradients, sizes, groups, field):
    with pytest.raises(BadValue) as caught:
        divergences(gradients, sizes, groups)
    assert caught.value.field == field
