import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from covey.merge import Gathering, Ida, Mean


def test_shares_by_hand():
    # Mean (3 x 0 + 4 + 8) / 5 = 2.4 by weights 3, 1, 1; distances 2.4, 1.6, 5.6.
    ida = Ida().open(Gathering())
    for value, weight in ((0.0, 3), (4.0, 1), (8.0, 1)):
        ida.add(0, torch.tensor([value]), weight)
    expected = (0 / 2.4 + 4 / 1.6 + 8 / 5.6) / (1 / 2.4 + 1 / 1.6 + 1 / 5.6)
    assert ida.close(()).item() == pytest.approx(expected, rel=1e-5)


@given(a=st.floats(0.1, 10), b=st.floats(0.1, 10))
def test_two_models_give_their_weighted_mean(a, b):
    # The distances from the mean are b/(a + b) and a/(a + b) of the way, so the inverse distances are as a to b.
    models = [torch.tensor([1.0, 2.0]), torch.tensor([-3.0, 5.0])]
    ida, mean = Ida().open(Gathering()), Mean().open(Gathering())
    for model, weight in zip(models, (a, b), strict=True):
        ida.add(0, model, weight)
        mean.add(0, model, weight)
    torch.testing.assert_close(ida.close(()), mean.close(()), rtol=1e-3, atol=1e-4)


def test_a_model_that_is_the_mean_does_not_count_infinitely():
    ida = Ida().open(Gathering())
    for value in (-1.0, 0.0, 1.0):
        ida.add(0, torch.tensor([value]), 1)
    found = ida.close(())
    assert torch.isfinite(found).all()
    assert found.abs().item() < 1e-5


def test_an_outlier_counts_less_than_in_the_mean():
    ida, mean = Ida().open(Gathering()), Mean().open(Gathering())
    for value in (0.0, 0.1, 0.2, 10.0):
        ida.add(0, torch.tensor([value]), 1)
        mean.add(0, torch.tensor([value]), 1)
    assert ida.close(()) < mean.close(())


def test_buffers_have_no_say_in_the_distances():
    # Parameters 0, 4, 8 as above; the buffer behind them is far apart and is merged with the same shares.
    ida = Ida().open(Gathering(trained=1))
    for value, buffer, weight in ((0.0, 1000.0, 3), (4.0, 0.0, 1), (8.0, -1000.0, 1)):
        ida.add(0, torch.tensor([value, buffer]), weight)
    shares = [1 / 2.4, 1 / 1.6, 1 / 5.6]
    expected = [(4 * shares[1] + 8 * shares[2]) / sum(shares), (1000 * shares[0] - 1000 * shares[2]) / sum(shares)]
    assert ida.close(()).tolist() == pytest.approx(expected, rel=1e-5)
