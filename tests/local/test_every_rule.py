"""What every registered local rule promises."""

from functools import partial

import numpy as np
import pytest
import torch
from tests.narrow import a, samples
from tests.tiny import loop_of, random_fleet, small_network

from covey.checkpoint import Checkpoint
from covey.execute.batches import Deck
from covey.execute.dropout import Dropout
from covey.execute.effects import Job
from covey.execute.layout import Layout
from covey.execute.local import LocalExecutor
from covey.execute.trainers import Memory, OneByOne, Stacked, Task
from covey.local import RULES, make_rule
from covey.local.optimiser import Sgd

SPECS = [*RULES.names, "fedprox:0.5", "fedfusion:multi", "fedfusion:single", "fedmmd:1"]
SIZES = (7, 4, 9, 2)  # batches of 3: the last one is short, and clients differ in their steps


def rounds_of(spec: str, mode: str, momentum: float = 0.0) -> torch.Tensor:
    settings = {"local": spec, "mode": mode, "batch": 3, "lr": 0.2, "rounds": 2, "momentum": momentum}
    loop = loop_of("fedavg", random_fleet(SIZES), small_network(), **settings)
    progress = loop.begin()
    loop.go(progress)
    return progress.models[0]


@pytest.mark.parametrize(
    ("spec", "momentum"), [*((spec, 0.0) for spec in SPECS), *((spec, 0.9) for spec in RULES.names)]
)
def test_stacked_equals_one_by_one(spec, momentum):
    alone = rounds_of(spec, "one-by-one", momentum)
    assert torch.isfinite(alone).all()
    torch.testing.assert_close(rounds_of(spec, "stacked", momentum), alone, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's compiler against torch itself
@pytest.mark.parametrize("spec", RULES.names)
def test_compiled_equals_one_by_one(spec, monkeypatch):
    # Traced and differentiated as for any backend; generating C++ would take most of a minute and is torch's business.
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    torch.testing.assert_close(rounds_of(spec, "compiled"), rounds_of(spec, "one-by-one"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", SPECS)
def test_padding_does_not_matter(spec):
    fleet, rule = random_fleet(SIZES), make_rule(spec)
    data = samples(fleet)
    x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
    layout = Layout(rule.adapt(small_network(), x[:1]))
    task = Task(layout, x, y, Deck(data, 3), rule, Sgd(momentum=0.5))
    model = layout.initial()
    generator = torch.Generator().manual_seed(0)
    shared = {name: 0.1 * torch.randn(layout.size, generator=generator) for name in rule.remembers}
    memory = Memory(rule.remembers, layout.size)
    jobs = [Job(client, model, epochs=2, rate=0.1, key=7, shared=shared) for client in range(4)]
    together = {t.job: t for t in Stacked(task, 4).train(jobs, memory)}
    for trainer in (Stacked(task, 1), OneByOne(task)):
        for alone in trainer.train(jobs, memory):
            found = together[alone.job]
            assert found.steps == alone.steps
            torch.testing.assert_close(found.model, alone.model, rtol=1e-4, atol=1e-5)
            for name, kept in alone.memory.items():
                torch.testing.assert_close(found.memory[name], kept, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("spec", SPECS)
def test_resumes_to_the_bit(spec, tmp_path):
    settings = {"local": spec, "mode": "one-by-one", "batch": 3, "lr": 0.2, "rounds": 4, "sample": 0.5}
    whole = loop_of("fedavg", random_fleet(SIZES), small_network(), **settings)
    expected, path = whole.begin(), tmp_path / "checkpoint.safetensors"

    def save_round_2(report):
        if report.metrics["round"] == 2:
            path.write_bytes(Checkpoint(whole.checkpoint(expected)).encode())

    whole.go(expected, [save_round_2])
    again = loop_of("fedavg", random_fleet(SIZES), small_network(), **settings)
    progress = again.restore(Checkpoint.load(path).data)
    assert progress.round == 2
    again.go(progress)
    assert torch.equal(progress.models[0], expected.models[0])


@pytest.mark.parametrize("spec", SPECS)
def test_a_failed_try_leaves_no_trace(spec):
    settings = {"local": spec, "mode": "one-by-one", "batch": 3, "lr": 0.2, "rounds": 1, "quorum": 0.9}
    loop = loop_of("fedavg", random_fleet(SIZES), small_network(), **settings)
    expected = loop.begin()
    loop.go(expected)
    kept = {name: dict(own) for name, own in a(LocalExecutor, loop.executor).memory.own.items()}

    loop = loop_of("fedavg", random_fleet(SIZES), small_network(), **settings)
    local = a(LocalExecutor, loop.executor)
    loop.executor = Dropout(local, lambda job: "away" if job.attempt == 0 and job.client < 2 else None)
    progress = loop.begin()
    loop.go(progress)
    assert torch.equal(progress.models[0], expected.models[0])
    for name, own in local.memory.own.items():
        assert all(torch.equal(own[client], kept[name][client]) for client in range(4))


def test_a_rule_takes_its_number_from_its_name():
    assert vars(make_rule("fedprox:0.5"))["mu"] == 0.5
    assert vars(make_rule("fedmmd:2"))["weight"] == 2
    assert vars(make_rule("fedfusion:multi"))["kind"] == "multi"


@pytest.mark.parametrize("spec", ["fedprox:-1", "fedmmd:-1", "fedfusion:triple", "sgd:3", "scaffold:1", "fedprox:much"])
def test_a_bad_rule_is_named(spec):
    with pytest.raises(ValueError, match="allowed is"):
        make_rule(spec)


def test_rules_compose_with_any_algorithm():
    parts = {"local": "scaffold", "server": "adam", "merge": "ida"}
    loop = loop_of("fedgsp", random_fleet(SIZES), small_network(), beta=2, **parts)
    progress = loop.begin()
    before = progress.models[0]
    loop.go(progress)
    assert np.isfinite(progress.models[0].numpy()).all()
    assert not torch.equal(progress.models[0], before)
