"""What `benchmarks.peers` rests on: the others train covey's models, and a contender's answer is a time of learning."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks import peers
from benchmarks.peer_scripts.networks import COVEY_NAMES, NETWORKS

from covey.data import Dataset
from covey.models import build_model


@pytest.mark.parametrize("name", NETWORKS)
def test_the_others_train_coveys_models(name: str) -> None:
    text = name == "char-lstm"
    x = torch.randint(0, 90, (3, 80)) if text else torch.rand(3, 1, 28, 28)
    ours = build_model(COVEY_NAMES.get(name, name), tuple(x.shape[1:]), 90 if text else 10, 0, dtype=x.dtype)
    theirs = NETWORKS[name]()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        other.data.copy_(mine)
    with torch.no_grad():
        torch.testing.assert_close(ours(x), theirs(x))


@pytest.fixture
def images(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten images a class, each class a shade of its own, instead of Fashion-MNIST."""
    y = np.arange(100) % 10
    x = np.ones((100, 1, 28, 28), np.float32) * y[:, None, None, None] / 10
    monkeypatch.setenv("COVEY_PEERS", str(tmp_path))
    monkeypatch.setattr(peers, "find", lambda _: True)
    monkeypatch.setattr(peers, "load", lambda _: Dataset("fashion-mnist", x, y, x, y, 10))


def test_the_table_has_a_ratio_for_the_loop(images: None) -> None:
    work = {**peers.WORK, "clients": 4, "cohort": 2, "samples": 20, "rounds": 2}
    contenders = [*peers.CONTENDERS["covey"][:1], *peers.CONTENDERS["loop"]]
    figures, source = peers.measure("softmax-regression", contenders, 1, work)
    assert source == "fashion-mnist"
    assert all(after < before for figure in figures.values() for before, after in figure.losses)
    found = peers.summary(figures, work)
    assert found["loop"] == pytest.approx(found["loop_us"] / found["covey_us"], rel=0.01)
    assert peers.steps(work) == 4  # 2 clients x 20 samples in batches of 10


def test_a_contender_that_learns_nothing_is_no_contender(images: None) -> None:
    work = {**peers.WORK, "clients": 4, "cohort": 2, "samples": 20, "rounds": 1, "lr": 0.0}
    with pytest.raises(SystemExit, match="loop learnt nothing on softmax-regression"):
        peers.measure("softmax-regression", list(peers.CONTENDERS["loop"]), 1, work)


def test_a_program_that_fails_says_why(images: None) -> None:
    with pytest.raises(SystemExit, match="there is no model of that name"):
        peers.run([peers.interpreter(None), "-c", "raise SystemExit('there is no model of that name')"])
