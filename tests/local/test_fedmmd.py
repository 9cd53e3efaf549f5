from math import exp

import pytest
import torch
from tests.tiny import model_after, random_fleet, small_network

from covey.local.fedmmd import LEAST, WIDTHS, FedMmd, discrepancy


def test_the_discrepancy_of_two_points_by_hand():
    # k(a, a) + k(b, b) - 2 k(a, b) with distance 2: 1 + 1 - 2 exp(-4 / (2 s)) for every width s.
    expected = sum(2 - 2 * exp(-4 / (2 * width)) for width in WIDTHS)
    assert discrepancy(torch.tensor([[1.0]]), torch.tensor([[3.0]])).item() == pytest.approx(expected, rel=1e-5)


def test_the_widths_start_at_1_and_the_least_is_that_of_the_authors():
    widths = [1, *range(5, 36, 5), 100, 10**3, 10**4, 10**5, 10**6]
    assert list(WIDTHS) == widths
    assert LEAST == 1 / 10_000


def test_rows_that_do_not_count_do_not_matter():
    rows = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    others = rows + 0.5
    mask = torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0])
    torch.testing.assert_close(discrepancy(rows, others, mask), discrepancy(rows[:3], others[:3]))


def test_the_loss_is_cross_entropy_plus_lambda_times_at_least_the_least():
    rule, y = FedMmd(0.5), torch.tensor([0])
    logits = {"a": torch.tensor([[0.0, 0.0]]), "b": torch.tensor([[0.0, 2.0]])}

    def call(params, x):
        return params["logits"]

    alike = rule.loss(call, {"logits": logits["a"]}, {"logits": logits["a"]}, y, y, None)
    assert alike.item() == pytest.approx(torch.log(torch.tensor(2.0)).item() + 0.5 * LEAST, rel=1e-6)
    apart = rule.loss(call, {"logits": logits["a"]}, {"logits": logits["b"]}, y, y, None)
    distance = sum(2 - 2 * exp(-4 / (2 * width)) for width in WIDTHS)
    assert apart.item() == pytest.approx(torch.log(torch.tensor(2.0)).item() + 0.5 * distance, rel=1e-5)


def test_weight_0_is_fedavg_and_a_weight_changes_the_model():
    settings = {"batch": 3, "lr": 0.2, "epochs": 2}
    fleet = random_fleet((7, 4, 9))
    plain = model_after("fedavg", fleet, small_network(), **settings)
    torch.testing.assert_close(model_after("fedavg", fleet, small_network(), local="fedmmd:0", **settings), plain)
    changed = model_after("fedavg", fleet, small_network(), local="fedmmd", **settings)
    assert not torch.allclose(changed, plain, atol=1e-3)
