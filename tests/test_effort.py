from typing import Any

import pytest

import covey
from covey.effort import MOST_BYTES, MOST_TRAININGS, check_effort
from covey.errors import BadValue, RunFailed
from covey.plan import Forest, Ring, Star, Train

SIZES = [100, 200]


def check(plan, epochs=1, batch=10, parameters=1000):
    check_effort(plan, SIZES, epochs=epochs, batch=batch, parameters=parameters)


def test_ordinary_rounds_pass():
    check(Star([Star([Train(0, 5), Train(1)], rounds=50)], rounds=2))
    check(Forest([Ring([Train(0), Train(1)])]), batch=0)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        # 10 rounds of 10^6 + 1 pairs of trainings
        (
            Star([Star([Train(0), Train(1)], rounds=10**6 + 1)], rounds=10),
            r"trainings of a round is 20000020; allowed is at most 10,000,000; take fewer epochs, group rounds",
        ),
        # 2 GB / 40 bytes / 100 samples
        (Train(0, 500_001), r"epochs of a training is 500001; allowed is at most 500,000: .* client 0's 100 samples"),
        (Ring([Train(0), Train(1, 4_294_967_296)]), "epochs of a training is 4294967296; allowed is at most 250,000"),
    ],
)
def test_rounds_without_end_are_refused(plan, sentence):
    with pytest.raises(BadValue, match=sentence):
        check(plan)


def test_the_least_time_counts_steps_and_parameters():
    # 1,000 x 100 epochs of 10 steps are a million steps; 5 microseconds and 10^8 ns each: 10^5 s, more than a day
    plan = Star([Train(0, 100)], rounds=1000)
    with pytest.raises(BadValue, match="least seconds of a round is 100005; allowed is at most 86,400"):
        check(plan, parameters=10**8)
    check(plan, parameters=10**7)
    check(plan, parameters=10**8, batch=0)  # one step per epoch


def test_the_limits_themselves_pass():
    check(Star([Train(0)], rounds=MOST_TRAININGS), batch=100, parameters=1)
    check(Train(0, int(MOST_BYTES // 40 // 100)), batch=100, parameters=1)


QUICK: Any = {"data": "digits", "clients": 2, "samples": 20, "model": "softmax-regression", "mode": "one-by-one"}


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [("hierfavg", {"tau2": 10**18}), ("hierfavg", {"tau1": 4_294_967_296}), ("fedavg", {"epochs": 10**12})],
)
def test_a_run_without_end_does_not_begin(tmp_path, algorithm, settings):
    with pytest.raises(BadValue, match=r"(trainings of a round|epochs of a training) is \d+; allowed is at most"):
        covey.run(algorithm, rounds=1, out=tmp_path, **QUICK, **settings)
    assert not [path for path in tmp_path.iterdir() if path.is_dir() and path.name.startswith(algorithm)]


class Growing(covey.Algorithm):
    """A star in the first round, one without end in the second."""

    def plan(self, round, fleet, state, rng):
        return covey.Star([covey.Train(0)], rounds=1 if round == 1 else 10**18)


def test_a_later_round_without_end_fails_the_run():
    with pytest.raises(RunFailed, match="round 2 cannot be done: trainings of a round is 10"):
        covey.run(Growing(), rounds=2, **QUICK)


def test_a_batch_larger_than_everybodys_samples_is_all_of_them():
    everything = [covey.run("fedavg", rounds=1, batch=batch, **QUICK) for batch in (0, 1_000_000_000)]
    assert everything[0].summary["model_sha256"] == everything[1].summary["model_sha256"]
