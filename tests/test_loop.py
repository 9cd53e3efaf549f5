from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np
import pytest
import torch
from tests.fakes import small_fleet
from tests.narrow import known
from torch import nn

from covey.algorithms import Algorithm, FedAvg
from covey.algorithms.base import settings
from covey.checkpoint import Checkpoint, fingerprint
from covey.errors import BadPlan, RunFailed
from covey.execute.dropout import Dropout
from covey.execute.effects import Answer, Job
from covey.execute.evaluate import LocalEvaluator
from covey.execute.local import LocalExecutor, Training, make_task
from covey.experiment.life import Kept, Stored
from covey.local import Rule, make_rule
from covey.loop import TRIES, Limits, Loop, Report, Ways, _fault, _mean
from covey.merge import Merges, make_server
from covey.plan import Forest, Mesh, Ring, Star, Train, client, edge
from covey.store import Store

SIZES = [6, 9, 12, 8]
FLEET = small_fleet(SIZES)


def network():
    torch.manual_seed(3)
    return nn.Linear(4, 3)


def loop_of(
    algorithm,
    *,
    fails=None,
    server="replace",
    rule=None,
    recorder=None,
    seed=0,
    lr=0.2,
    batch=4,
    epochs=1,
    module=None,
    **limits,
):
    rule, training = rule or Rule(), Training(lr=lr, batch=batch, epochs=epochs)
    task = make_task(module or network(), FLEET.data, training, rule)
    local = LocalExecutor(task, mode="one-by-one")
    return Loop(
        algorithm,
        FLEET,
        task.layout,
        local if fails is None else Dropout(local, fails),
        LocalEvaluator(task.layout, FLEET.data),
        Ways(training=training, rule=rule, merges=Merges(), server=make_server(server)),
        Limits(**{"rounds": 3, **limits}),
        seed=seed,
        recorder=recorder,
    )


def going(loop, callbacks=()):
    """The summary, and the metrics of every round."""
    rounds = []
    return loop.go(loop.begin(), [lambda report: rounds.append(report.metrics), *callbacks]), rounds


@settings
class Fixed(Algorithm):
    """The same plan every round."""

    tree: object

    def plan(self, round, fleet, state, rng):
        return self.tree


# --- the end of a run


def test_a_run_trains_for_its_rounds():
    summary, rounds = going(loop_of(FedAvg()))
    assert [metrics["round"] for metrics in rounds] == [1, 2, 3]
    assert summary["rounds"] == 3
    assert rounds[-1]["loss"] < rounds[0]["loss"]
    assert rounds[-1].items() <= summary.items()


def test_the_metrics_of_a_star():
    _, rounds = going(loop_of(FedAvg()))
    bytes_ = 15 * 4  # 4 x 3 weights and 3 biases in single precision
    for r, metrics in enumerate(rounds, start=1):
        assert metrics["trainings"] == r * 4
        assert metrics["models"] == 1
        assert metrics["traffic"] == {"client-cloud": r * 4 * bytes_, "cloud-client": r * 4 * bytes_}
        assert metrics["traffic_bytes"] == r * 8 * bytes_
        assert metrics["wall_seconds"] > 0


@pytest.mark.parametrize("score", ["accuracy", "own_accuracy"])
def test_it_stops_at_a_target(score):
    _, rounds = going(loop_of(FedAvg(), rounds=5))
    target = rounds[1][score]
    first = next(r for r, metrics in enumerate(rounds, start=1) if metrics[score] >= target)
    summary, _ = going(loop_of(FedAvg(), rounds=5, **{f"target_{score}": target}))
    assert summary["rounds"] == first < 5
    assert rounds[0]["accuracy"] != rounds[0]["own_accuracy"]  # so that the one is not taken for the other


def test_any_callback_may_stop_it_and_all_are_asked():
    asked = []
    stop = [
        lambda report: report.metrics["round"] == 2,
        lambda report: asked.append(report.metrics["round"]),
    ]
    summary, _ = going(loop_of(FedAvg(), rounds=9), stop)
    assert summary["rounds"] == 2
    assert asked == [1, 2]


def test_what_a_callback_sees():
    reports: list[Report] = []
    loop = loop_of(FedAvg(), recorder=Kept("mine"))
    summary = loop.go(loop.begin(), [reports.append])
    assert {report.run for report in reports} == {"mine"}
    assert {report.rounds for report in reports} == {3}
    assert reports[0].plan == Star(Train(i) for i in range(4))
    assert fingerprint(reports[-1].models) == summary["model_sha256"]
    assert len({fingerprint(report.models) for report in reports}) == 3


def test_rounds_are_evaluated_every_so_often_and_at_the_end():
    summary, rounds = going(loop_of(FedAvg(), rounds=5, evaluate_every=2))
    assert [("accuracy" in m, "loss" in m) for m in rounds] == [(r in (2, 4, 5),) * 2 for r in range(1, 6)]
    every, all_rounds = going(loop_of(FedAvg(), rounds=5))
    assert [m["accuracy"] for m in rounds if "accuracy" in m] == [all_rounds[k]["accuracy"] for k in (1, 3, 4)]
    assert summary["model_sha256"] == every["model_sha256"]


def test_a_run_that_is_stopped_early_is_evaluated(tmp_path):
    with Store(tmp_path) as store:
        run = store.create("fixed", {})
        with store.owned(run):
            loop = loop_of(FedAvg(), rounds=9, evaluate_every=9, checkpoint_every=9, recorder=Stored(store, run))
            summary, _ = going(loop, [lambda report: report.metrics["round"] == 3])
        assert summary["accuracy"] == store.rounds(run)[-1]["accuracy"]
        assert Checkpoint.load(store.latest(run)).data["round"] == 3


def test_checkpoints_every_so_often_and_at_the_end(tmp_path):
    with Store(tmp_path) as store:
        run = store.create("fixed", {})
        with store.owned(run):
            going(loop_of(FedAvg(), rounds=5, checkpoint_every=2, recorder=Stored(store, run)))
        assert [row["checkpoint"] for row in store.rounds(run)] == [False, True, False, True, True]


# --- going on from a checkpoint


def saved(loop, progress, tmp_path):
    path = tmp_path / "checkpoint"
    path.write_bytes(Checkpoint(loop.checkpoint(progress)).encode())
    return Checkpoint.load(path).data


@pytest.mark.parametrize(
    "make",
    [
        lambda **more: loop_of(FedAvg(sample=0.5), **more),
        lambda **more: loop_of(Fixed(tree=Forest([Ring([Train(0), Train(1)]), Train(2)])), **more),
        lambda **more: loop_of(Fixed(tree=Mesh([Train(0), Train(1)], [(0, 1)])), **more),
        lambda **more: loop_of(FedAvg(), server="adam:0.1", **more),
        lambda **more: loop_of(Counting(), **more),
    ],
    ids=["sampling", "forest", "mesh", "server memory", "state"],
)
def test_a_run_can_be_cut_anywhere(make, tmp_path):
    whole, _ = going(make(rounds=4))
    for cut in (1, 2, 3):
        first = make(rounds=4)
        progress = first.begin()
        first.go(progress, [lambda report, cut=cut: report.metrics["round"] == cut])
        progress.done = False  # the callback stood for a kill
        second = make(rounds=4)
        summary = second.go(second.restore(saved(first, progress, tmp_path)))
        same = ("model_sha256", "traffic", "trainings", "accuracy", "rounds", "models")
        assert {key: summary[key] for key in same} == {key: whole[key] for key in same}


def test_what_rules_remember_survives(tmp_path):
    def make():
        return loop_of(FedAvg(sample=0.5), rule=make_rule("scaffold"), rounds=4)

    whole, _ = going(make())
    first = make()
    progress = first.begin()
    first.go(progress, [lambda report: report.metrics["round"] == 2])
    progress.done = False
    second = make()
    assert second.go(second.restore(saved(first, progress, tmp_path)))["model_sha256"] == whole["model_sha256"]


def test_a_run_that_has_ended_stays_ended(tmp_path):
    """Killed after its last checkpoint and before the store knew that it was over."""
    first = loop_of(FedAvg(), rounds=5, target_accuracy=0.01)
    progress = first.begin()
    ended = first.go(progress)
    assert ended["rounds"] == 1
    second = loop_of(FedAvg(), rounds=5, target_accuracy=0.01)
    again = second.go(second.restore(saved(first, progress, tmp_path)))
    assert again == ended


def remembering():
    """A run with all there is to remember: clients' vectors, the server's, its optimiser's."""
    return loop_of(FedAvg(), rule=make_rule("scaffold"), server="adam:0.1", rounds=2)


def test_what_a_checkpoint_holds_is_what_a_run_takes(tmp_path):
    loop = remembering()
    progress = loop.begin()
    loop.go(progress)
    data = saved(loop, progress, tmp_path)
    remembering().check(data)
    assert data["executor"]["memory"]["variate"][0].shape == (loop.layout.size,)


@pytest.mark.parametrize(
    ("names", "value", "sentence"),
    [
        (["extra"], 1, "it has an unknown extra"),
        (["models"], [], "its models are not vectors"),
        (["models", 0], torch.zeros(3), "its models are not vectors"),
        (["models", 0], "no tensor", "its models/0 is a str, not a Tensor"),
        (["home"], [0, 0, 0, 0], "its home is a list, not a ndarray"),
        (["home"], np.zeros(9, dtype=np.int64), "which model each of 4 clients has"),
        (["home"], np.full(4, 7), "it names models that are not there"),
        (["home"], np.zeros(4), "which model each of 4 clients has"),
        (["where"], [], "it does not say where every model is"),
        (["where", 0], ["edge"], "its where/0 is a list and none of what it may be"),
        (["where", 0], ["moon", 3], "it names places that are none"),
        (["traffic", 0], None, "its traffic/0 is None, not a list"),
        (["traffic", 0], ["cloud", "client"], "its traffic/0 has 2 members, not 3"),
        (["traffic", 0], ["cloud", 1.0, 3], "its traffic/0/1 is a float, not a str"),
        (["round"], "3", "its round is a str, not an int"),
        (["round"], -1, "its round is -1"),
        (["trainings"], None, "its trainings is None, not an int"),
        (["shared"], {}, "what its server remembers is not what this local rule does"),
        (["shared", "variate"], torch.zeros(3), "what its server remembers is not what this local rule does"),
        (["server", 0], [], "its server/0 is a list, not a dict"),
        (["spent"], {"simulated_seconds": "long"}, "its spent/simulated_seconds is a str, not a float"),
        (["executor"], {}, "the executor's state has no memory"),
        (["executor", "memory"], {}, "what clients remember has no variate"),
        (
            ["executor", "memory", "variate", 0],
            torch.zeros(3),
            "what clients remember are not vectors of 15 numbers",
        ),
        (["executor", "memory", "variate", 0], 3, "its variate/0 is an int, not a Tensor"),
    ],
)
def test_a_forged_checkpoint_is_refused(tmp_path, names, value, sentence):
    loop = remembering()
    progress = loop.begin()
    loop.go(progress)
    data = saved(loop, progress, tmp_path)
    inside = data
    for name in names[:-1]:
        inside = inside[name]
    inside[names[-1]] = value
    with pytest.raises(ValueError, match=sentence):
        remembering().check(data)


@settings
class Remembering(Algorithm):
    """Plans by one thing it remembers, learns by another."""

    def start(self, fleet, rng):
        return {"who": [0, 1], "seen": 0}

    def plan(self, round, fleet, state, rng):
        return Star(Train(i) for i in state["who"])

    def learn(self, state, outcome, rng):
        return {**state, "seen": state["seen"] + 1}


def test_a_checkpoint_of_which_no_plan_can_be_made_is_refused(tmp_path):
    loop = loop_of(Remembering(), rounds=2)
    progress = loop.begin()
    loop.go(progress)
    data = saved(loop, progress, tmp_path)
    loop.check(data)
    for state, sentence in [
        ({"seen": 0}, r"no plan of its state \(KeyError: 'who'\)"),
        ({"who": 3}, r"no plan of its state \(TypeError: 'int' object is not iterable\)"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            loop.check({**data, "state": state})
    loop.check({**data, "state": {"who": [9]}})  # a plan, if one that the round will not have
    with pytest.raises(BadPlan, match="client 9"):
        going_on(loop, {**data, "state": {"who": [9]}, "done": False})


def going_on(loop, data):
    return loop.go(loop.restore(data))


@pytest.mark.parametrize(
    ("forged", "sentence"),
    [
        ({"state": {"who": [0]}}, r"the algorithm cannot go on from what .* remembered \(KeyError: 'seen'\)"),
        ({"server": {0: {"m": torch.zeros(3)}}}, r"the server's step cannot go on .* \(RuntimeError: The size"),
    ],
)
def test_what_a_checkpoint_says_was_remembered_and_nobody_can_read(forged, sentence):
    loop = loop_of(Remembering(), server="adam:0.1", rounds=1)
    progress = loop.begin()
    loop.go(progress)
    data = {**loop.checkpoint(progress), "done": False}
    with pytest.raises(RunFailed, match=f"round 2 failed: {sentence}"):
        going_on(loop_of(Remembering(), server="adam:0.1", rounds=3), {**data, **forged})


def test_an_algorithm_s_own_fault_keeps_its_traceback():
    with pytest.raises(KeyError, match="seen"):
        going(loop_of(Forgetful()))


@settings
class Forgetful(Remembering):
    """Loses what it needs."""

    def start(self, fleet, rng):
        return {"who": [0, 1]}


# --- failures and quorum


def losing(tries):
    """Clients 1 to 3 are lost in so many tries of round 2."""
    return lambda job: "asleep" if job.client and job.round == 2 and job.attempt < tries else None


def test_a_round_below_its_quorum_is_tried_again(tmp_path):
    with Store(tmp_path) as store:
        run = store.create("fedavg", {})
        with store.owned(run):
            summary, rounds = going(loop_of(FedAvg(), fails=losing(2), quorum=0.5, recorder=Stored(store, run)))
        events = store.events(run)
    assert summary["model_sha256"] == going(loop_of(FedAvg()))[0]["model_sha256"]
    # round 2: twice one training of four, then all four; what was sent in vain was sent all the same
    assert [metrics["trainings"] for metrics in rounds] == [4, 4 + 1 + 1 + 4, 4 + 1 + 1 + 4 + 4]
    assert [(event["round"], event["kind"], event["text"]) for event in events] == [
        (2, "lost", "3 of 4 trainings: asleep"),
        (2, "retry", "try 1 came to too little"),
        (2, "lost", "3 of 4 trainings: asleep"),
        (2, "retry", "try 2 came to too little"),
    ]


def test_a_quorum_that_is_met_is_enough():
    one, rounds = going(loop_of(FedAvg(), fails=losing(1), quorum=0.25))
    assert [metrics["trainings"] for metrics in rounds] == [4, 5, 9]
    assert one["model_sha256"] != going(loop_of(FedAvg()))[0]["model_sha256"]


def test_a_round_that_never_reaches_its_quorum_fails_and_keeps_what_there_was(tmp_path):
    with Store(tmp_path) as store:
        run = store.create("fedavg", {})
        with store.owned(run):
            with pytest.raises(RunFailed) as caught:
                going(loop_of(FedAvg(), fails=losing(TRIES), quorum=0.5, recorder=Stored(store, run)))
            assert str(caught.value) == (
                "round 2 failed 5 times: fewer than the quorum of 50% answered (3 of 4 trainings: asleep); lower quorum"
            )
            assert Counter(event["kind"] for event in store.events(run)) == {"lost": 5, "retry": 5}
            again = loop_of(FedAvg(), quorum=0.5, recorder=Stored(store, run))
            round, checkpoint = known(store.rewind(run))
            assert round == 1
            summary = again.go(again.restore(checkpoint.data))
    assert summary["model_sha256"] == going(loop_of(FedAvg()))[0]["model_sha256"]


def test_without_a_quorum_a_round_nobody_answers_is_tried_again():
    everybody = lambda tries: lambda job: "asleep" if job.attempt < tries else None  # noqa: E731
    summary, _ = going(loop_of(FedAvg(), fails=everybody(4)))
    assert summary["model_sha256"] == going(loop_of(FedAvg()))[0]["model_sha256"]
    with pytest.raises(RunFailed, match=r"round 1 failed 5 times: nobody answered \(4 of 4 trainings: asleep\)"):
        going(loop_of(FedAvg(), fails=everybody(5)))


def test_every_try_asks_for_a_new_plan():
    seen = []

    @settings
    class Sampling(Algorithm):
        def plan(self, round, fleet, state, rng):
            seen.append((round, int(rng.integers(2**40))))
            return Star(Train(i) for i in range(4))

    going(loop_of(Sampling(), fails=losing(2), quorum=0.5))
    assert [round for round, _ in seen] == [1, 1, 2, 2, 2, 3]  # the first is looked at before the run begins
    assert len({draw for _, draw in seen}) == 5


# --- several models


def test_every_client_is_tested_with_its_own_model():
    plan = Forest([Star([Train(0), Train(1)], at=edge(0)), Star([Train(2), Train(3)], at=edge(1))])
    loop = loop_of(Fixed(tree=plan))
    progress = loop.begin()
    summary = loop.go(progress)
    assert summary["models"] == 2
    assert progress.home.tolist() == [0, 0, 1, 1]
    own = loop.evaluator.own_accuracies(progress.models, np.array([0, 0, 1, 1]))
    assert summary["own_accuracy"] == pytest.approx(own.mean())
    swapped = loop.evaluator.own_accuracies(progress.models, np.array([1, 1, 0, 0]))
    assert own.tolist() != swapped.tolist()


def test_who_is_not_in_a_plan_keeps_its_model():
    class Halves(Fixed):
        def plan(self, round, fleet, state, rng):
            return Forest([Train(0), Train(1), Train(2)]) if round == 1 else Forest([Train(3), Train(0)], slots=[2, 1])

    loop = loop_of(Halves(tree=None), rounds=2)
    progress = loop.begin()
    loop.go(progress)
    assert progress.home.tolist() == [1, 1, 2, 2]


def test_models_of_heads_stay_where_they_are():
    """Each of two rings sends one model inside and hands it back to its first client for the next round."""
    plan = Forest([Ring([Train(0), Train(1)]), Ring([Train(2), Train(3)])])
    _, rounds = going(loop_of(Fixed(tree=plan)))
    bytes_ = 15 * 4
    assert [metrics["traffic_bytes"] // bytes_ for metrics in rounds] == [2, 2 + 4, 2 + 4 + 4]


def test_one_model_after_several_is_their_mean():
    class Meeting(Fixed):
        def plan(self, round, fleet, state, rng):
            return Forest([Train(0), Train(1)]) if round == 1 else Star([Train(2, rate=0)])

    loop = loop_of(Meeting(tree=None), rounds=2)
    models = []
    loop.go(loop.begin(), [lambda report: models.append(report.models)])
    assert len(models[0]) == 2
    assert torch.allclose(models[1][0], (models[0][0] + models[0][1]) / 2, atol=1e-7)


# --- learning


@settings
class Counting(Algorithm):
    """Remembers something of every kind, and plans by it."""

    def start(self, fleet, rng):
        return {"seen": [], "array": rng.integers(9, size=3), "tensor": torch.zeros(2), "by client": {1: "one"}}

    def plan(self, round, fleet, state, rng):
        who = int(state["array"].sum() + state["tensor"].sum() + len(state["seen"])) % fleet.clients
        return Star([Train(who), Train(rng.integers(fleet.clients))])

    def learn(self, state, outcome, rng):
        assert state["by client"] == {1: "one"}
        return {
            **state,
            "seen": [*state["seen"], outcome.round],
            "array": state["array"] + rng.integers(9, size=3),
            "tensor": state["tensor"] + outcome.round,
        }


def test_learning_starts_before_the_first_round():
    loop = loop_of(Counting())
    progress = loop.begin()
    assert progress.state["seen"] == [0]
    loop.go(progress)
    assert progress.state["seen"] == [0, 1, 2, 3]


@settings
class Splitting(Algorithm):
    """After round 1 every half of the clients gets a model of its own."""

    def plan(self, round, fleet, state, rng):
        if round == 1:
            return Star(Train(i) for i in range(4))
        return Forest([Star([Train(0), Train(1)]), Star([Train(2), Train(3)])])

    def learn(self, state, outcome, rng):
        if outcome.round == 1:
            outcome.models = [outcome.models[0], outcome.models[0] * 2]
            outcome.home = np.array([0, 0, 1, 1])
            outcome.traffic["client", "cloud"] += 10
        return state


def test_learning_may_replace_models_and_homes():
    loop = loop_of(Splitting(), rounds=2)
    models, rounds = [], []
    progress = loop.begin()
    loop.go(progress, [lambda report: models.append(report.models), lambda report: rounds.append(report.metrics)])
    assert torch.equal(models[0][1], models[0][0] * 2)
    assert [metrics["models"] for metrics in rounds] == [2, 2]
    assert progress.home.tolist() == [0, 0, 1, 1]
    assert not torch.allclose(models[1][0], models[1][1])
    # round 1: 4 models down, 4 up, and 10 things that learning asked for
    assert rounds[0]["traffic_bytes"] == (8 + 10) * 15 * 4


def test_updates_are_kept_for_those_who_ask():
    kept = []

    @settings
    class Asking(Fixed):
        keeps_updates = True

        def learn(self, state, outcome, rng):
            kept.append((outcome.updates, outcome.before, outcome.models, outcome.trained, outcome.lost))
            return state

    fails = lambda job: "asleep" if job.client == 1 else None  # noqa: E731
    going(loop_of(Asking(tree=Star([Train(0), Train(1), Train(2)], weights=[1, 1, 3])), rounds=1, fails=fails))
    updates, before, models, trained, lost = kept[-1]
    assert sorted(updates) == sorted(trained) == [0, 2]
    assert lost == [(1, "asleep")]
    assert torch.allclose(models[0] - before[0], (updates[0] + 3 * updates[2]) / 4, atol=1e-6)


def test_updates_of_a_try_that_came_to_nothing_are_forgotten():
    kept = []

    @settings
    class Asking(Algorithm):
        keeps_updates = True
        tries: ClassVar[list[int]] = []

        def plan(self, round, fleet, state, rng):
            self.tries.append(round)
            return Star(Train(i) for i in ((0, 1) if len(self.tries) == 1 else (2, 3)))

        def learn(self, state, outcome, rng):
            kept.append((sorted(outcome.updates), outcome.trained, outcome.lost))
            return state

    lost = lambda job: "asleep" if job.client == 1 else None  # noqa: E731
    going(loop_of(Asking(), rounds=1, fails=lost, quorum=0.8))
    # first 0 and 1, of whom 1 is lost: one of two is below the quorum; then 2 and 3
    assert kept[-1] == ([2, 3], [2, 3], [])


def test_what_learning_may_ask():
    answers = {}

    @settings
    class Curious(Fixed):
        def learn(self, state, outcome, rng):
            if outcome.round == 0:
                answers["gradients"] = outcome.gradients()
                answers["losses"] = outcome.losses([1, 2])
                answers["shuffled"] = outcome.shuffled(outcome.models[0], rng)
                answers["model"] = outcome.models[0]
            return state

    loop_of(Curious(tree=Train(0))).begin()
    assert answers["gradients"].shape == (4, 15)
    assert answers["losses"].shape == (2, 1)
    assert sorted(answers["shuffled"][:12].tolist()) == sorted(answers["model"][:12].tolist())
    assert not torch.equal(answers["shuffled"], answers["model"])


# --- what rounds cost


class Noting:
    """A meter of 5 a round that notes what had been spent before."""

    def __init__(self):
        self.before = []

    def after(self, ran):
        self.before.append((ran.round, ran.spent))
        return {"spent": ran.spent.get("spent", 0.0) + 5.0}


def test_a_meter_is_told_what_all_rounds_before_have_cost():
    loop = loop_of(FedAvg(), fails=losing(1), quorum=0.5)
    meter = Noting()
    loop.meters = [meter]
    summary, rounds = going(loop)
    # round 2 is tried twice, and what was spent in vain was spent all the same
    assert meter.before == [(1, {}), (2, {"spent": 5.0}), (2, {"spent": 10.0}), (3, {"spent": 15.0})]
    assert [metrics["spent"] for metrics in rounds] == [5.0, 15.0, 20.0]
    assert summary["spent"] == 20.0


# --- buffers


def with_buffers():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 3))


@pytest.mark.parametrize("server", ["replace", "adam:0.1"])
def test_buffers_are_merged_and_not_stepped(server):
    def after(tree, server):
        loop = loop_of(Fixed(tree=tree), server=server, rounds=1, batch=0, module=with_buffers())
        models = []
        loop.go(loop.begin(), [lambda report: models.append(report.models[0])])
        return models[0][loop.layout.trained :]

    alone = [after(Train(i), "replace") for i in (0, 1)]
    assert len(alone[0]) == 3 + 3  # running means and variances; the count of batches is no part of a model
    assert not torch.allclose(alone[0], alone[1])
    merged = after(Star([Train(0), Train(1)]), server)
    assert torch.allclose(merged, (6 * alone[0] + 9 * alone[1]) / (6 + 9), atol=1e-6)


# --- the server


def test_a_server_step_goes_from_the_old_model_towards_the_merged_one():
    plain, stepped = (loop_of(FedAvg(), server=server, rounds=1) for server in ("replace", "adam:0.1"))
    start = plain.layout.initial()
    models = []
    for loop in (plain, stepped):
        loop.go(loop.begin(), [lambda report: models.append(report.models[0])])
    change, step = models[0] - start, models[1] - start
    # Adam's first step: 0.1 x (1 - b1) D / (sqrt(b2 tau^2 + (1 - b2) D^2) + tau)
    wanted = 0.1 * 0.1 * change / (torch.sqrt(0.99 * 1e-6 + 0.01 * change**2) + 1e-3)
    assert torch.allclose(step, wanted, atol=1e-6)


@settings
class Rearranged(Algorithm):
    """Two models; after the first round `learn` puts `others` of them in their place."""

    others: Callable[[list[torch.Tensor]], list[torch.Tensor]]

    def plan(self, round, fleet, state, rng):
        return Forest([Train(0), Train(1)])

    def learn(self, state, outcome, rng):
        if outcome.round == 1:
            outcome.models = self.others(outcome.models)
            outcome.home[:] = 0
        return state


def test_the_server_forgets_a_model_that_learn_has_replaced():
    def second_round(server):
        from_zero = Rearranged(others=lambda models: [torch.zeros_like(model) for model in models])
        loop = loop_of(from_zero, server=server, rounds=2)
        loop.go(loop.begin(), [lambda report: found.append(report.models[0].clone())])
        return found[-1]

    found = []
    change = second_round("replace")  # from zero, as the other one
    # Adam's first step, see above; with the first round's memory both m and v would be others
    wanted = 0.1 * 0.1 * change / (torch.sqrt(0.99 * 1e-6 + 0.01 * change**2) + 1e-3)
    assert torch.allclose(second_round("adam:0.1"), wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        (lambda models: models, [0, 1]),
        (lambda models: models[::-1], [1, 0]),
        (lambda models: models[:1] * 3, [0, 0, 0]),  # copies go on with what the server knew of the one
        (lambda models: [models[0] + models[1], models[1]], [None, 1]),
        (lambda models: models[:1], [0]),
    ],
    ids=["kept", "swapped", "copied", "made", "dropped"],
)
def test_the_server_s_memory_goes_with_its_model(others, wanted):
    def after_a_round(others):
        loop = loop_of(Rearranged(others=others), server="adam:0.1", rounds=1)
        progress = loop.begin()
        loop.go(progress)
        return progress.server

    first, found = after_a_round(lambda models: models), after_a_round(others)
    assert sorted(found) == [slot for slot, k in enumerate(wanted) if k is not None]
    for slot, memory in found.items():
        assert all(torch.equal(memory[name], first[wanted[slot]][name]) for name in ("m", "v"))
    assert len({id(memory["m"]) for memory in found.values()}) == len(found)  # no two share one


@settings
class Placed(Rearranged):
    """After the first round `learn` also says where the models are."""

    def learn(self, state, outcome, rng):
        state = super().learn(state, outcome, rng)
        if outcome.round == 1:
            outcome.where = [edge(3)]
        return state


@pytest.mark.parametrize(
    ("algorithm", "others", "wanted"),
    [
        (Rearranged, lambda models: models, [client(0), client(1)]),
        (Rearranged, lambda models: [models[0] * 1, models[1]], [None, client(1)]),  # what was made is nowhere
        (Rearranged, lambda models: [*models, models[0] * 1], [client(0), client(1), None]),
        (Placed, lambda models: [models[0] * 1], [edge(3)]),
        (Placed, lambda models: models, [edge(3), None]),
    ],
)
def test_where_models_are_after_learning(algorithm, others, wanted):
    loop = loop_of(algorithm(others=others), rounds=1)
    progress = loop.begin()
    loop.go(progress)
    assert progress.where == wanted


def test_a_plan_with_a_stranger_in_it_is_refused():
    with pytest.raises(BadPlan, match="the plan names client 4; the fleet has clients 0 to 3"):
        going(loop_of(Fixed(tree=Train(4))))


def test_a_score_that_is_not_a_number_is_none():
    loop = loop_of(FedAvg(), rounds=1)
    progress = loop.begin()
    loop.go(progress)
    progress.last = {}
    assert loop.summary(progress)["accuracy"] is None


def test_the_server_steps_from_the_mean_of_all_models_where_several_become_one():
    models = [torch.tensor([1.0, 0.0]), torch.tensor([2.0, 3.0]), torch.tensor([6.0, 0.0])]
    assert _mean(models).tolist() == [3.0, 1.0]
    assert _mean(models[:1]) is models[0]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Answer(torch.ones(3), 1.0, 1, {}, None), None),
        (Answer(torch.tensor([1.0, float("nan"), 1.0]), 1.0, 1, {}, None), "the trained model is not finite"),
        (Answer(torch.ones(3), 1.0, 1, {}, False), "the trained model is not finite"),
        (Answer(torch.ones(4), 1.0, 1, {}, None), "the trained model is not a vector of 3 numbers"),
        (Answer(cast(Any, [1.0, 1.0, 1.0]), 1.0, 1, {}, True), "the trained model is not a vector of 3 numbers"),
    ],
    ids=["whole", "not a number", "said not to be finite", "another shape", "no tensor"],
)
def test_answers_that_are_none(answer, fault):
    assert _fault(Job(0, torch.zeros(3)), answer) == fault


# --- what jobs and rules are told


class NotingJobs:
    """An executor in front of another that notes the jobs."""

    def __init__(self, inner):
        self.inner, self.jobs = inner, []

    def start(self, ticket, job):
        self.jobs.append(job)
        self.inner.start(ticket, job)

    def __getattr__(self, name):
        return getattr(self.inner, name)


def jobs_of(loop):
    loop.executor = noting = NotingJobs(loop.executor)
    loop.go(loop.begin())
    return noting.jobs


def test_what_jobs_draw_depends_on_the_seed_of_the_run():
    zero, again, five = (jobs_of(loop_of(FedAvg(), rounds=1, seed=seed)) for seed in (0, 0, 5))
    assert [job.key for job in zero] == [job.key for job in again]
    assert {job.key for job in zero}.isdisjoint({job.key for job in five})


def test_models_may_be_added_up_where_they_are_unless_single_ones_are_wanted():
    @settings
    class Comparing(FedAvg):
        keeps_updates: ClassVar[bool] = True

    assert all(job.share is not None for job in jobs_of(loop_of(FedAvg(), rounds=1)))
    assert all(job.share is None for job in jobs_of(loop_of(Comparing(), rounds=1)))
    assert all(job.share is None for job in jobs_of(loop_of(FedAvg(), rounds=1, score_every="epoch")))


def test_the_server_takes_in_what_those_who_trained_have_learnt():
    """Two of four clients: c <- c + 2/4 x the mean of how their variates changed, from nothing."""
    loop = loop_of(Fixed(tree=Star([Train(0), Train(2)])), rule=make_rule("scaffold"), rounds=1)
    progress = loop.begin()
    assert not progress.shared["variate"].any()
    loop.go(progress)
    own = loop.executor.state()["memory"]["variate"]
    assert set(own) == {0, 2}
    torch.testing.assert_close(progress.shared["variate"], (own[0] + own[2]) / 2 * 2 / 4)
    assert progress.shared["variate"].any()


def test_jobs_are_told_the_epochs_of_the_run_unless_the_plan_has_its_own():
    tree = Star([Train(0), Train(1, epochs=2)])
    assert [job.epochs for job in jobs_of(loop_of(Fixed(tree=tree), rounds=1, epochs=3))] == [3, 2]


def test_a_checkpoint_is_checked_by_the_plan_of_the_round_that_follows(tmp_path):
    asked = []

    @settings
    class Asked(FedAvg):
        def plan(self, round, fleet, state, rng):
            asked.append(round)
            return super().plan(round, fleet, state, rng)

    loop = loop_of(Asked(), rounds=2)
    progress = loop.begin()
    loop.go(progress)
    asked.clear()
    loop.check(saved(loop, progress, tmp_path))
    assert asked == [3]
