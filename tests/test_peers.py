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
    """Ten images a class, each class a bright row of its own, instead of Fashion-MNIST."""
    y = np.arange(100) % 10
    x = np.zeros((100, 1, 28, 28), np.float32)
    x[np.arange(100), 0, y] = 1
    monkeypatch.setenv("COVEY_PEERS", str(tmp_path))
    monkeypatch.setattr(peers, "find", lambda _: True)
    monkeypatch.setattr(peers, "load", lambda _: Dataset("fashion-mnist", x, y, x, y, 10))


@pytest.mark.parametrize(("name", "way"), [("covey", "plain"), ("loop", "1")])
def test_a_contender_learns_in_a_process_of_its_own(images: None, name: str, way: str) -> None:
    work = {**peers.WORK, "clients": 4, "cohort": 2, "samples": 20, "rounds": 2}
    data, source = peers.prepare("softmax-regression", work)
    assert source == "fashion-mnist"
    found = peers.ask(peers.CONTENDERS[name][0], way, "softmax-regression", data, work)
    assert found["loss_after"] < found["loss_before"]
    assert len(found["seconds"]) == 2


def test_the_fastest_round_of_the_best_way_counts(images: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = {"plain": [0.004, 0.002], "1": [0.03, 0.02], "all": [0.05, 0.01]}
    answer = {"first_round_seconds": 1.0, "loss_before": 2.3, "loss_after": 2.0}
    monkeypatch.setattr(peers, "ask", lambda contender, way, *_: {**answer, "seconds": rounds[way]})
    work = {**peers.WORK, "clients": 4, "cohort": 2, "samples": 20}
    contenders = [peers.CONTENDERS["covey"][0], *peers.CONTENDERS["loop"]]
    figures, _ = peers.measure("softmax-regression", contenders, 1, work)
    assert figures["loop"].way == "all"
    assert peers.summary(figures, work) == {
        "covey_us": 500.0,  # 2 ms over 2 clients x 20 samples in batches of 10, which are 4 steps
        "loop_us": 2500.0,
        "loop": 5.0,
        "covey_first_round_seconds": 1.0,
    }


def test_who_learns_nothing_is_no_contender(images: None, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"seconds": [1.0], "first_round_seconds": 1.0, "loss_before": 2.3, "loss_after": 2.3}
    monkeypatch.setattr(peers, "ask", lambda *_: answer)
    with pytest.raises(SystemExit, match="loop learnt nothing on softmax-regression"):
        peers.measure("softmax-regression", list(peers.CONTENDERS["loop"]), 1, {**peers.WORK, "clients": 4})


def test_a_program_that_fails_says_why() -> None:
    with pytest.raises(SystemExit, match="there is no model of that name"):
        peers.run([peers.interpreter(None), "-c", "raise SystemExit('there is no model of that name')"])
