import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from tests.fakes import small_fleet
from torch import nn

from covey.execute import trainers
from covey.execute.batches import Deck
from covey.execute.effects import Job
from covey.execute.layout import Layout
from covey.execute.trainers import Memory, OneByOne, Stacked, Task
from covey.local import Adam, Sgd, make_rule

SIZES = [3, 10, 17, 24, 5, 40]
MOMENTUM = Sgd(momentum=0.9, weight_decay=0.01)
KEY = 12345


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def task_of(module=None, *, optimiser=MOMENTUM, rule="sgd", batch=8, sizes=SIZES):
    data = small_fleet(sizes).data
    layout = Layout(module or network())
    return Task(
        layout,
        torch.from_numpy(data.x),
        torch.from_numpy(data.y),
        Deck(data, batch),
        make_rule(rule),
        optimiser,
    )


def jobs_of(task, *, epochs=(2,), rates=(0.1,), shared=None, key=KEY):
    model = task.layout.initial()
    shared = shared or {name: torch.zeros(task.layout.size) for name in task.rule.remembers}
    return [
        Job(
            i,
            model + 0.01 * i,
            epochs=epochs[i % len(epochs)],
            rate=rates[i % len(rates)],
            visit=i % 2,
            key=key,
            shared=shared,
        )
        for i in range(len(task.deck.sizes))
    ]


def vectors(task, seed):
    """Something to remember under every name of the rule."""
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(task.layout.size, generator=generator) * 0.1 for name in task.rule.remembers}


def memory_of(task):
    memory = Memory(task.rule.remembers, task.layout.size)
    for client in (0, 2):
        memory.put(client, vectors(task, client))
    return memory


def trained(trainer, jobs, memory=None):
    memory = memory or Memory(trainer.task.rule.remembers, trainer.task.layout.size)
    results = {done.job: done for done in trainer.train(jobs, memory)}
    assert sorted(results) == list(range(len(jobs)))
    return [results[number] for number in range(len(jobs))]


def close(found, wanted, tolerance=1e-4):
    """Equal up to so much of the largest value."""
    assert found.shape == wanted.shape
    assert float((found - wanted).abs().max()) <= tolerance * float(wanted.abs().max())


# --- one by one, the specification


def plain(task, job, make_optimiser):
    """What anybody would write: torch's own module, loss and optimiser, one batch after the other."""
    module = network()
    torch.nn.utils.vector_to_parameters(job.model, module.parameters())
    optimiser = make_optimiser(module.parameters(), job.rate)
    dealt = task.deal([job])
    valid = torch.ones(dealt.samples.shape) if dealt.valid is None else dealt.valid
    for samples, counts in zip(dealt.samples[0], valid[0], strict=True):
        chosen = samples[counts > 0]
        if len(chosen):
            optimiser.zero_grad()
            F.cross_entropy(module(task.x[chosen]), task.y[chosen]).backward()
            optimiser.step()
    return torch.nn.utils.parameters_to_vector(module.parameters()).detach()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Sgd(), lambda p, lr: torch.optim.SGD(p, lr)),
        (MOMENTUM, lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9, weight_decay=0.01)),
        (Adam(), lambda p, lr: torch.optim.Adam(p, lr)),
        (Adam(weight_decay=0.01), lambda p, lr: torch.optim.Adam(p, lr, weight_decay=0.01)),
    ],
    ids=["sgd", "momentum", "adam", "adam with decay"],
)
def test_one_by_one_is_a_plain_loop(ours, theirs):
    task = task_of(optimiser=ours)
    jobs = jobs_of(task, epochs=(3, 1), rates=(0.1, 0.05))
    for job, done in zip(jobs, trained(OneByOne(task), jobs), strict=True):
        assert torch.allclose(done.model, plain(task, job, theirs), rtol=0, atol=1e-6)


def test_training_leaves_the_received_model_alone():
    task = task_of()
    jobs = jobs_of(task)
    before = [job.model.clone() for job in jobs]
    for trainer in (OneByOne(task), Stacked(task, 4)):
        trained(trainer, jobs)
        assert all(torch.equal(job.model, was) for job, was in zip(jobs, before, strict=True))


# --- stacked and compiled equal it


@pytest.mark.parametrize("chunk", [1, 4, 6, 100])
@pytest.mark.parametrize("optimiser", [MOMENTUM, Adam(weight_decay=0.01)], ids=["momentum", "adam"])
def test_stacked_equals_one_by_one_on_ragged_clients(chunk, optimiser):
    task = task_of(optimiser=optimiser)
    jobs = jobs_of(task, epochs=(2, 1, 4), rates=(0.1, 0.05))
    for alone, together in zip(trained(OneByOne(task), jobs), trained(Stacked(task, chunk), jobs), strict=True):
        close(together.model, alone.model)
        assert together.finite


@pytest.mark.parametrize("sizes", [[16, 16, 16], [3, 3], [0, 4]])
@pytest.mark.parametrize("batch", [8, 0])
def test_full_batches_small_clients_and_none_at_all(sizes, batch):
    task = task_of(sizes=sizes, batch=batch)
    jobs = jobs_of(task)
    for alone, together in zip(trained(OneByOne(task), jobs), trained(Stacked(task, 8), jobs), strict=True):
        close(together.model, alone.model)
        moved = not torch.equal(alone.model, jobs[alone.job].model)
        assert moved == (sizes[jobs[alone.job].client] > 0)


@pytest.mark.parametrize("rule", ["fedprox:0.5", "scaffold"])
def test_rules_and_their_memory_are_the_same_in_a_stack(rule):
    task = task_of(rule=rule, optimiser=Sgd())
    jobs = jobs_of(task, epochs=(2, 1), shared=vectors(task, 9))
    pairs = zip(
        trained(OneByOne(task), jobs, memory_of(task)),
        trained(Stacked(task, 4), jobs, memory_of(task)),
        strict=True,
    )
    for alone, together in pairs:
        close(together.model, alone.model)
        assert set(together.memory) == set(alone.memory) == set(task.rule.remembers)
        for name, vector in alone.memory.items():
            close(together.memory[name], vector)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_compiled_equals_one_by_one():
    """Six ragged clients in stacks of four, of which the second is filled up."""
    task = task_of(nn.Linear(4, 3))
    jobs = jobs_of(task)
    pairs = zip(trained(OneByOne(task), jobs), trained(Stacked(task, 4, compiled=True), jobs), strict=True)
    for alone, together in pairs:
        close(together.model, alone.model)


# --- models of a user's own


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 5), nn.Linear(5, 3)
        self.body.requires_grad_(False)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(F.dropout(x, 0.5, self.training))


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.spare = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x)


def test_frozen_parameters_stay():
    module = Frozen()
    before = module.body.weight.clone()
    task = task_of(module)
    jobs = jobs_of(task)
    for alone, together in zip(trained(OneByOne(task), jobs), trained(Stacked(task, 4), jobs), strict=True):
        assert len(alone.model) == 5 * 3 + 3
        close(together.model, alone.model)
    assert torch.equal(module.body.weight, before)


def test_what_a_module_draws_depends_on_round_client_and_visit_only():
    task = task_of(Dropping())
    jobs = jobs_of(task)
    first = trained(OneByOne(task), jobs)
    torch.rand(5)
    again = trained(OneByOne(task), jobs[::-1])[::-1]
    assert all(torch.equal(a.model, b.model) for a, b in zip(first, again, strict=True))
    other = trained(OneByOne(task), jobs_of(task, key=KEY + 1)[:1])[0]
    assert not torch.equal(other.model, first[0].model)


def test_a_stack_trains_in_training_mode():
    """Evaluation leaves a module in its other mode; dropout must not be gone for that."""
    task = task_of(Dropping())
    task.layout.module.eval()
    with pytest.raises(RuntimeError, match="random"):
        trained(Stacked(task, 4), jobs_of(task))


def test_parameters_that_the_loss_does_not_see_only_decay():
    task = task_of(Unused(), optimiser=Sgd(), batch=0)
    jobs = jobs_of(task, epochs=(1,))
    for alone, together in zip(trained(OneByOne(task), jobs), trained(Stacked(task, 8), jobs), strict=True):
        close(together.model, alone.model)
        assert torch.equal(alone.model[15:], jobs[alone.job].model[15:])


@pytest.mark.parametrize("make", [OneByOne, lambda task: Stacked(task, 4)], ids=["one by one", "stacked"])
def test_a_model_that_is_not_finite_says_so(make):
    task = task_of()
    jobs = jobs_of(task, rates=(0.1, float("1e37")))
    assert [done.finite for done in trained(make(task), jobs)] == [True, False] * 3


def test_memory_is_zero_at_first():
    memory = Memory(["variate"], 3)
    memory.put(1, {"variate": torch.full((3,), 2.0)})
    assert memory.of(0)["variate"].tolist() == [0, 0, 0]
    assert memory.of(1)["variate"].tolist() == [2, 2, 2]


# --- what SCAFFOLD remembers with other optimisers than plain SGD


@pytest.mark.parametrize("make", [OneByOne, lambda task: Stacked(task, 4)], ids=["one by one", "stacked"])
@pytest.mark.parametrize("optimiser", [Sgd(), Sgd(momentum=0.9), Adam()], ids=["sgd", "momentum", "adam"])
def test_the_variate_of_a_constant_gradient_is_that_gradient(make, optimiser):
    """A model whose loss is linear: every step has the same gradient, and so has their mean, however steps are made."""
    task = task_of(Slope(), rule="scaffold", optimiser=optimiser, batch=2, sizes=[6, 8])
    task.y.fill_(1)
    for done in trained(make(task), jobs_of(task, rates=(0.01,))):
        close(done.memory["variate"], torch.tensor([1.0, -1.0, 0.0]), 1e-3)


class Slope(nn.Module):
    """Logits whose cross-entropy has about the gradient (1, -1, 0) by the bias, whatever the sample and the step.

    The first two logits are shifted so far towards the first, and all labels count as the second, that their
    probabilities stay at 1 and 0; the third is out of the question.
    """

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return self.bias + torch.tensor([60.0, 0.0, -60.0]) + 0.0 * x[:, :3]


@pytest.mark.parametrize("way", ["one by one", "stacked"])
@pytest.mark.parametrize("optimiser", [Sgd(), Adam()], ids=["sgd", "adam"])
def test_what_is_remembered_does_not_depend_on_the_rate_of_a_job(way, optimiser):
    # one step with all samples: a new control variate is the gradient itself, however far the step led
    task = task_of(rule="scaffold", optimiser=optimiser, batch=0)
    found = {}
    for rate in (0.01, 0.3):
        trainer = OneByOne(task) if way == "one by one" else Stacked(task, 3)
        found[rate] = [done.memory["variate"] for done in trained(trainer, jobs_of(task, epochs=(1,), rates=(rate,)))]
    for slow, fast in zip(found[0.01], found[0.3], strict=True):
        close(slow, fast, 1e-3)
        assert float(fast.abs().max()) > 0.01


def test_dropout_inside_a_network_is_drawn_anew_at_every_visit():
    module = nn.Sequential(nn.Linear(4, 30), nn.Dropout(0.5), nn.Linear(30, 3))
    task = task_of(module, optimiser=Sgd(), sizes=[1, 2])
    model = task.layout.initial()
    once, again, later = (
        trained(OneByOne(task), [Job(0, model, rate=0.1, visit=visit, key=KEY)])[0].model for visit in (0, 0, 1)
    )
    assert torch.equal(once, again)
    assert not torch.equal(once, later)  # the client has one sample, so that nothing else differs


@pytest.mark.parametrize("at_once", [1, 10**6])
def test_a_stack_that_begins_before_another_is_read_does_not_write_over_it(monkeypatch, at_once):
    monkeypatch.setattr(trainers, "RESULTS", at_once)
    task = task_of()
    one, other = jobs_of(task), jobs_of(task, rates=(0.3,))
    alone = [trained(Stacked(task, 2), jobs) for jobs in (one, other)]
    both = Stacked(task, 2)
    memory = Memory((), task.layout.size)
    first, second = both.train(one, memory), both.train(other, memory)
    turns = [(next(first), next(second)) for _ in one]
    for side in (0, 1):
        for done in (turn[side] for turn in turns):
            assert torch.equal(done.model, alone[side][done.job].model)


def test_results_stay_what_they_are_when_the_next_stack_is_trained():
    task = task_of()
    trainer = Stacked(task, 2)
    results = trained(trainer, jobs_of(task))
    kept = [done.model.clone() for done in results]
    trained(trainer, jobs_of(task, rates=(0.5,)))
    assert all(torch.equal(done.model, model) for done, model in zip(results, kept, strict=True))
