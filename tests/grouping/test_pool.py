import numpy as np

from covey.grouping.measures import concentration_of
from covey.grouping.pool import Pool


def test_concentrations_are_those_of_the_unions(fleet):
    labels = fleet(30)
    pool = Pool(labels)
    pool.open()
    members: list[int] = []
    for _ in range(29):  # long enough for joined clients to be dropped from the arrays
        expected = concentration_of(labels[members].sum(axis=0) + labels[pool.ids])
        free = pool.free[pool.ids]
        assert np.allclose(pool.concentrations()[free], expected[free])
        assert np.isinf(pool.concentrations()[~free]).all()
        members.append(pool.join(int(np.flatnonzero(free)[0])))
        assert np.isclose(pool.concentration, concentration_of(labels[members].sum(axis=0)))
    assert sorted(members) == list(range(29))
    assert len(pool.ids) < 30


def test_a_group_without_samples_is_as_bad_as_one_label_alone():
    pool = Pool(np.array([[0, 0], [0, 0], [3, 3]]))
    pool.open()
    pool.join(0)
    assert pool.concentration == 1
    assert pool.concentrations().tolist() == [np.inf, 1.0, 0.5]
