"""Small stand-ins: an executor whose models are numbers, random plans, a fleet of made-up samples, a full disk."""

import errno
import os
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from covey.execute.effects import Answer, Failure, Send
from covey.execute.walk import Brief
from covey.execute.walk import walk as walk_plan
from covey.fleet import Fleet, FleetData
from covey.plan import Forest, Mesh, Ring, Star, Train, client, cloud, edge


class ExactMean:
    """The weighted mean in exact fractions; it notes what it was opened and closed with."""

    def __init__(self, gathering):
        self.gathering = gathering
        self.sum, self.total = Fraction(0), Fraction(0)
        self.senders = []

    def add(self, member, model, weight):
        self.senders.append(member)
        self.sum += model * Fraction(weight)
        self.total += Fraction(weight)

    def close(self, missing):
        self.missing = missing
        return self.sum / self.total


def halfway(job):
    """Training moves a model half of the way to a number of its client's own."""
    return (job.model + 10 * (job.client + 1)) / 2


@dataclass
class Numbers:
    """Models are fractions. `waves` says who trained together, `visits` which numbers the trainings had."""

    train: Callable[[Any], Any] = halfway
    failing: frozenset = frozenset()
    fails: Callable[[Any], Any] | None = None
    waves: list = field(default_factory=list)
    visits: Counter = field(default_factory=Counter)
    sent: list = field(default_factory=list)
    sizes: list[int] | None = None
    merged: list = field(default_factory=list)
    mergings: list = field(default_factory=list)
    _jobs: list = field(default_factory=list)
    _others: list = field(default_factory=list)

    def start(self, ticket, job):
        self._jobs.append((ticket, job))

    def send(self, ticket, send):
        self._others.append((ticket, send))

    def meet(self, ticket, meeting):
        self._others.append((ticket, meeting))

    def finished(self, timeout=None):
        if self._others:
            others, self._others = self._others, []
            sends = [(send.source, send.target) for _, send in others if isinstance(send, Send)]
            self.sent += [sends] if sends else []
            yield from ((ticket, None) for ticket, _ in others)
            return
        jobs, self._jobs = self._jobs, []
        self.waves.append([job.client for _, job in jobs])
        for ticket, job in jobs:
            self.visits[job.client, job.visit] += 1
            lost = job.client in self.failing or (self.fails is not None and self.fails(job))
            yield ticket, Failure("lost") if lost else Answer(self.train(job), (self.sizes or SIZES)[job.client])

    def merges(self, word, own=False):
        self.merged.append(word)
        return self

    def open(self, gathering):
        self.mergings.append(ExactMean(gathering))
        return self.mergings[-1]


def walk(plan, models, sizes, executor, where=(), *, observe=None, **more):
    """A walk whose models are merged by the fake executor's exact mean."""
    brief = Brief(merges=executor.merges, **more)
    return walk_plan(plan, models, sizes, executor, where, brief=brief, observe=observe)


CLIENTS = 6
EDGES = 3
SIZES = [1, 2, 3, 5, 8, 13]
places = st.one_of(st.just(cloud), st.integers(0, EDGES - 1).map(edge), st.integers(0, CLIENTS - 1).map(client))
trains = st.integers(0, CLIENTS - 1).map(Train)


@st.composite
def _links(draw, k):
    pairs = [(a, b) for b in range(k) for a in range(k) if a != b]
    return draw(st.lists(st.sampled_from(pairs), max_size=4)) if pairs else []


@st.composite
def _inner(draw, children):
    """A node over some of these children: any kind, any place, weights given or not."""
    kids = draw(st.lists(children, min_size=1, max_size=4))
    kind = draw(st.sampled_from(["star", "star", "ring", "forest", "mesh"]))
    at = draw(places)
    if kind == "ring":
        return Ring(kids, via=draw(st.none() | places))
    if kind == "forest":
        return Forest(kids, at=at)
    shares = st.lists(st.integers(0, 4), min_size=len(kids), max_size=len(kids)).filter(any)
    weights = draw(st.none() | shares)
    if kind == "mesh":
        return Mesh(kids, draw(_links(len(kids))), weights=weights, at=at)
    return Star(kids, rounds=draw(st.integers(1, 2)), at=at, weights=weights)


plans = st.recursive(trains, _inner, max_leaves=10)


def small_fleet(sizes, *, features=4, classes=3, seed=0, tests=2, edge_of=None):
    """Clients with so many samples each, drawn around a class mean; the last samples of each are its tests."""
    rng = np.random.default_rng(seed)
    total = sum(sizes) + tests * len(sizes)
    y = rng.integers(classes, size=total)
    centres = rng.normal(size=(classes, features))
    x = (centres[y] + 0.5 * rng.normal(size=(total, features))).astype(np.float32)
    test_y = rng.integers(classes, size=60)
    test_x = (centres[test_y] + 0.5 * rng.normal(size=(60, features))).astype(np.float32)
    ends = np.cumsum([size + tests for size in sizes])
    own = [np.arange(end - size - tests, end) for end, size in zip(ends, sizes, strict=True)]
    train_of = tuple(part[:size] for part, size in zip(own, sizes, strict=True))
    test_of = tuple(part[size:] for part, size in zip(own, sizes, strict=True))
    labels = np.stack([np.bincount(y[part], minlength=classes) for part in train_of])
    data = FleetData("made-up", x, y, test_x, test_y, train_of, test_of, classes)
    return Fleet(labels, edge_of=edge_of, data=data)


@contextmanager
def full_disk(after=0):
    """A disk on which so many checkpoints fit; the next one breaks off."""
    really, written = Path.open, []

    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, content):
            self.file.write(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open_(self, *given, **more):
        file = really(self, *given, **more)
        if self.match("round-*.part"):
            written.append(self)
        return Full(file) if self.match("round-*.part") and len(written) > after else file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", open_)
        yield
