import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from tests.narrow import known
from torch import nn

from covey.execute import evaluate
from covey.execute.layout import Layout
from covey.fleet import FleetData

X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]])
Y = torch.tensor([0, 1, 1])


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.head = nn.BatchNorm1d(2), nn.Linear(2, 2)

    def forward(self, x):
        return self.head(self.norm(x))


def test_scores_of_every_sample():
    layout = Layout(nn.Linear(2, 2, bias=False))
    right, loss = evaluate.scores(layout, torch.tensor([1.0, 0.0, 0.0, 1.0]), X, Y)
    assert right.tolist() == [1, 1, 0]
    assert loss.tolist() == pytest.approx(F.cross_entropy(X, Y, reduction="none").tolist())
    right, _ = evaluate.scores(layout, torch.tensor([1.0, 0.0, 0.0, 1.0]), X, Y, torch.tensor([2, 0]))
    assert right.tolist() == [0, 1]


def test_no_samples_have_no_scores():
    right, loss = evaluate.scores(Layout(nn.Linear(2, 2)), torch.zeros(6), X[:0], Y[:0])
    assert len(right) == len(loss) == 0


def test_means_of_parts():
    means = evaluate.per_client(torch.tensor([1.0, 0.0, 1.0]), [2, 0, 1])
    assert means[[0, 2]].tolist() == [0.5, 1.0]
    assert np.isnan(means[1])


def test_the_gradient_is_that_of_the_mean_loss_whatever_the_batch(monkeypatch):
    layout = Layout(nn.Linear(2, 2))
    flat = torch.arange(6.0) / 6
    leaf = flat.clone().requires_grad_()
    F.cross_entropy(X @ leaf[:4].view(2, 2).T + leaf[4:], Y).backward()
    for batch in (1, 2, 1000):
        monkeypatch.setattr(evaluate, "BATCH", batch)
        assert torch.allclose(evaluate.gradient(layout, flat, X, Y, torch.arange(3)), known(leaf.grad), atol=1e-6)


def test_the_gradient_changes_no_model():
    layout = Layout(Norm())
    flat = layout.initial()
    before = flat.clone()
    first = evaluate.gradient(layout, flat, X, Y, torch.arange(3))
    assert len(first) == layout.trained == layout.size - 4
    assert torch.equal(flat, before)


def test_clients_that_share_samples_are_each_scored_on_their_own():
    data = FleetData(
        "shared",
        x=X.numpy(),
        y=Y.numpy(),
        test_x=X.numpy(),
        test_y=Y.numpy(),
        train_of=[[0], [1], [2], [0]],
        test_of=[[0, 2], [2, 2], [], [1, 0]],
        classes=2,
    )
    evaluator = evaluate.LocalEvaluator(Layout(nn.Linear(2, 2, bias=False)), data)
    keep, swap = torch.tensor([1.0, 0.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0])
    found = evaluator.own_accuracies([keep, swap], np.array([0, 0, 0, 1]))
    # kept, samples 0 and 1 are right and 2 is wrong; swapped, it is the other way round
    assert found[[0, 1, 3]].tolist() == [0.5, 0.0, 0.0]
    assert np.isnan(found[2])


def test_scores_on_what_clients_train_on():
    layout = Layout(nn.Linear(2, 2, bias=False))
    parts = tuple(np.array(part) for part in ([0], [1, 2], [0, 2]))
    nothing = tuple(np.zeros(0, dtype=np.int64) for _ in parts)
    data = FleetData("tiny", X.numpy(), Y.numpy(), X.numpy(), Y.numpy(), parts, nothing, 2)
    right, wrong = torch.tensor([1.0, 0.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0])
    home = np.array([0, 0, 1])  # clients 0 and 1 have the first model, client 2 the second
    found = evaluate.OnTraining(evaluate.LocalEvaluator(layout, data), layout, data).scores([right, wrong], home)
    # samples 0, 1, 2 under the first model: 1, 1, 0; samples 0, 2 under the second, whose answers are turned: 0, 1
    assert found.train_accuracy == pytest.approx(3 / 5)
    losses = F.cross_entropy(X, Y, reduction="none"), F.cross_entropy(X.flip(1), Y, reduction="none")
    assert found.train_loss == pytest.approx(float(losses[0].sum() + losses[1][0] + losses[1][2]) / 5)
    assert found.accuracy == evaluate.LocalEvaluator(layout, data).scores([right, wrong], home).accuracy


class Views(nn.Module):
    """Looks at its images in a way that depends on the order of their dimensions in memory."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(2, 3, 2), nn.Linear(12, 2)

    def forward(self, x):
        return self.head(self.conv(x).view(len(x), -1))


@pytest.mark.parametrize("flatten", [True, False])
def test_images_are_scored_whatever_their_order(flatten, monkeypatch):
    monkeypatch.setattr(evaluate, "IMAGES", 3)
    torch.manual_seed(0)
    x, y = torch.randn(7, 2, 3, 3), torch.tensor([0, 1, 0, 1, 1, 0, 1])
    module = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Flatten(), nn.Linear(12, 2)) if flatten else Views()
    layout = Layout(module)
    model = layout.initial()
    before = model.clone()
    with torch.no_grad():
        out = module(x)
    right, loss = evaluate.scores(layout, model, x, y)
    assert right.tolist() == (out.argmax(dim=1) == y).float().tolist()
    torch.testing.assert_close(loss, F.cross_entropy(out, y, reduction="none"))
    assert torch.equal(model, before)


def test_gradients_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4000, 300)).astype(np.float32), rng.integers(0, 10, 4000)
    data = FleetData("d", x, y, x[:1], y[:1], (np.arange(4000),), (np.arange(0),), 10)
    layout = Layout(nn.Linear(300, 10))
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(evaluate.LocalEvaluator(layout, data).gradients(layout.initial(), [0]))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(found[0], found[1])
