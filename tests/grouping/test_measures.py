import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from covey.errors import BadValue
from covey.grouping import Grouping, group, measure
from covey.grouping.measures import CPD_GROUPS, cov_of, cpd_of, emd_of, hops_of, kl_of, qcid_of
from covey.prices import SPEECH_SECURE

counts = arrays(np.int64, (3, 4), elements=st.integers(0, 10**6))


@given(counts)
def test_cov_is_standard_deviation_over_mean(sums):
    for row, value in zip(sums, cov_of(sums), strict=True):
        expected = row.std() / row.mean() if row.sum() else math.sqrt(3)  # nothing: as one of four labels alone
        assert value == pytest.approx(expected, abs=1e-6)


@given(counts)
def test_qcid_is_the_squared_distance_from_even_shares(sums):
    for row, value in zip(sums, qcid_of(sums), strict=True):
        if row.sum():
            assert value == pytest.approx(((row / row.sum() - 1 / 4) ** 2).sum(), abs=1e-9)


@given(counts)
def test_distances_from_all_vanish_for_all(sums):
    assert emd_of([sums.sum(axis=0)], sums.sum(axis=0))[0] in (0.0, 2.0)
    assert (emd_of(sums, sums.sum(axis=0)) <= 2 + 1e-12).all()
    assert (kl_of(sums, sums.sum(axis=0)) >= 0).all()
    assert np.isfinite(kl_of(sums, sums.sum(axis=0))).all()


def test_kl_and_emd_by_hand():
    # shares (3/4, 1/4) against (1/2, 1/2): EMD 1/4 + 1/4; KL 3/4 ln(3/2) + 1/4 ln(1/2)
    assert emd_of([[3, 1]], [5, 5])[0] == pytest.approx(0.5)
    assert kl_of([[3, 1]], [5, 5])[0] == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))


def test_cpd_by_hand():
    # labels (1, 0) and (0, 1) are sqrt(2) apart, the kernel is exp(-2 / (2 x 2)) = c between them and 1 within a label
    # group (8, 0): all pairs equal, 1; group (3, 3): half the pairs equal, (1 + c)/2; between them (1 + c)/2 as well
    c = math.exp(-1 / 2)
    assert cpd_of([[8, 0], [3, 3]]) == pytest.approx(1 + (1 + c) / 2 - 2 * (1 + c) / 2)


def test_cpd_is_the_median_over_pairs():
    # shares (1, 0), (1, 0), (1, 0), (0, 1): squared distances 0 (three pairs) and 2 (three): the median is 1, the mean
    # too; with a fifth group (1, 0): six pairs at 0, four at 2: median 0, mean 0.8
    sums = [[4, 0], [7, 0], [1, 0], [0, 5]]
    factor = 1 - math.exp(-1 / 2)
    assert cpd_of(sums) == pytest.approx(factor)
    assert cpd_of([*sums, [2, 0]]) == 0


def test_cpd_has_one_bandwidth_for_all_groupings():
    # the shares of the second grouping differ by a tenth of the first's, in both of two labels: a hundredth of its CPD,
    # whatever the other groups of each are
    assert cpd_of([[60, 40], [50, 50]]) == pytest.approx(cpd_of([[51, 49], [50, 50]]) * 100)


def test_cpd_says_that_clustering_before_dealing_helps(fleet):
    labels = fleet(120, 10, 0.2)
    dealt, drawn = (
        np.mean([cpd_of(group(name, labels, groups=12, rng=np.random.default_rng(s)).sums(labels)) for s in range(5)])
        for name in ("icg", "random")
    )
    assert dealt < 0.7 * drawn


def test_cpd_of_many_groups_looks_at_some():
    sums = np.tile(np.eye(3), (CPD_GROUPS, 1))
    assert cpd_of(sums) == pytest.approx(2 * (1 - math.exp(-1 / 2)))  # two thirds of the pairs differ


def test_hops_go_to_the_head_or_else_to_the_nearest_member():
    distances = np.array([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
    assert hops_of(Grouping(((0, 1, 2),)), distances) == 1 + 2  # to client 1
    assert hops_of(Grouping(((0, 1, 2),), heads=(2,)), distances) == 5 + 2


def test_measure_brings_all_together():
    labels = [[4, 0], [0, 4], [6, 0], [0, 2], [1, 1]]
    grouping = Grouping(((0, 1), (2, 3)), left_out=(4,))
    found = measure(
        grouping,
        labels,
        distances=np.ones((5, 5)) - np.eye(5),
        updates=[[0.0], [2.0], [4.0], [4.0], [1.0]],
        prices=SPEECH_SECURE,
    ).to_dict()
    assert found["groups"] == 2
    assert found["sizes"] == {"min": 2, "mean": 2.0, "max": 2}
    assert found["cov"] == pytest.approx((0 + 0.5) / 2)
    # all hold (11, 7): EMD of (4, 4) is 2 |1/2 - 11/18| = 2/9, of (6, 2) 2 |3/4 - 11/18| = 5/18; 8 samples each
    assert found["emd"] == pytest.approx((2 / 9 + 5 / 18) / 2)
    assert found["left_out"] == 1
    assert found["hops"] == 2
    assert found["secure_seconds"] == pytest.approx(4 * (4 * 0.00564634 + 2 * 0.04887151 + 0.03296802))
    # gradients: groups' means 1 and 4, of all (0 + 8 + 24 + 8 + 2)/18 = 7/3; delta = (4 + 4)/18
    assert found["delta"] == pytest.approx(8 / 18)
    assert found["Delta"] == pytest.approx((8 * (7 / 3 - 1) + 8 * (4 - 7 / 3)) / 18)


def test_kl_and_emd_are_weighted_by_samples():
    # groups (6, 0) and (1, 1), all (7, 1): a mean over groups would count the smaller one as much as the larger
    found = measure(Grouping(((0,), (1,))), [[6, 0], [1, 1]]).to_dict()
    kl = math.log(8 / 7), math.log(4 / 7) / 2 + math.log(4) / 2
    assert found["kl"] == pytest.approx((6 * kl[0] + 2 * kl[1]) / 8)
    assert found["emd"] == pytest.approx((6 * (1 / 8 + 1 / 8) + 2 * (3 / 8 + 3 / 8)) / 8)


def test_hops_go_from_the_members_to_the_head():
    # there and back differ: row i, column j is the way from i to j
    distances = np.array([[0, 1, 1], [10, 0, 10], [10, 10, 0]])
    assert hops_of(Grouping(((0, 1, 2),), heads=(0,)), distances) == 10 + 10
    assert hops_of(Grouping(((0, 1, 2),)), distances) == 1 + 10  # to client 1 (or 2)


def test_without_network_and_gradients_there_are_no_such_figures():
    assert not {"hops", "delta", "Delta"} & measure(Grouping(((0,),)), [[1, 2]]).to_dict().keys()


def test_no_groups_no_measures():
    with pytest.raises(BadValue, match="at least one group"):
        measure(Grouping((), left_out=(0,)), [[1]])
