import pickle

import pytest

from covey.errors import BadData, BadValue, CoveyError, RunFailed, UnknownName


@pytest.mark.parametrize(
    "error",
    [
        BadValue("rounds", -1, "a whole number"),
        BadValue("model", lambda: None, "a name"),  # what cannot be sent is sent as it is shown
        UnknownName("algorithm", "fedavgg", ["fedavg", "ring"]),
        RunFailed("the disk is full"),
        BadData("no file"),
    ],
)
def test_an_error_says_the_same_in_another_process(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    assert isinstance(again, CoveyError)
    if isinstance(error, BadValue) and isinstance(again, BadValue):
        assert (again.field, again.allowed) == (error.field, error.allowed)
