"""How much work a round is, estimated from its plan before it begins, so that nobody waits for what cannot end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from covey.errors import BadValue
from covey.plan import Plan, Train

MOST_TRAININGS = 10_000_000
MOST_SECONDS = 86_400.0
MOST_BYTES = 2e9
STEP_SECONDS = 5e-6  # of any step on any machine, at the very least; a parameter takes a nanosecond more
VISIT_BYTES = 40.0  # of one sample in one epoch: its place in the order, drawn, sorted and masked


def check_effort(plan: Plan, sizes: Sequence[int], *, epochs: int, batch: int, parameters: int) -> None:
    """Refuse a round that would take more than a day at the very least, or gigabytes for a single training.

    sizes: the samples of every client; epochs, batch: the run's, for trainings that name none
    parameters: of the model

    >>> from covey.plan import Star
    >>> check_effort(Star([Train(0)], rounds=10**18), [100], epochs=1, batch=10, parameters=1000)
    Traceback (most recent call last):
    covey.errors.BadValue: trainings of a round is 1000000000000000000; allowed is at most 10,000,000; take fewer \
epochs, group rounds or clients
    """
    trainings, seconds = 0, 0.0
    for leaf, times in _trainings(plan):
        own, rounds = sizes[leaf.client], leaf.epochs or epochs
        if own * rounds * VISIT_BYTES > MOST_BYTES:
            fits = int(MOST_BYTES // (VISIT_BYTES * own))
            why = f"more take {MOST_BYTES / 1e9:.0f} GB for the order of client {leaf.client}'s {own} samples"
            raise BadValue("epochs of a training", rounds, f"at most {fits:,}: {why}")
        trainings += times
        seconds += times * rounds * -(-own // (batch or own or 1)) * (STEP_SECONDS + 1e-9 * parameters)
    remedy = "fewer epochs, group rounds or clients"
    if trainings > MOST_TRAININGS:
        raise BadValue("trainings of a round", trainings, f"at most {MOST_TRAININGS:,}; take {remedy}")
    if seconds > MOST_SECONDS:
        raise BadValue("least seconds of a round", round(seconds), f"at most {MOST_SECONDS:,.0f}; take {remedy}")


def _trainings(plan: Plan, times: int = 1) -> Iterator[tuple[Train, int]]:
    """Every `Train` of a plan, and how many times it is done."""
    if isinstance(plan, Train):
        yield plan, times
        return
    for child in plan.children:
        yield from _trainings(child, times * getattr(plan, "rounds", 1))
