"""What is told of a run: what it wrote down, and what can be made again from that; and for what is missing, why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covey.plan import Plan
from covey.store import RunRecord, Store
from covey.store.rows import VERSIONS

if TYPE_CHECKING:
    from covey.network.placement import Placement
    from covey.network.price import Price

Rounds = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Story:
    """One run.

    labels: how many samples of each label every client holds
    groups: who trains with whom
    plan: of the round that comes next, `plan_round`
    price: of that plan on the run's network, on which `placement` says who stands where
    own: every client's accuracy on its own data with its own model
    missing: what is not known of it, and why
    """

    run: str
    status: str
    config: dict[str, Any]
    rounds: Rounds
    events: Sequence[Mapping[str, Any]] = ()
    versions: Sequence[str] = ()
    labels: NDArray[np.int64] | None = None
    groups: Sequence[Sequence[int]] | None = None
    plan: Plan | None = None
    plan_round: int = 0
    price: Price | None = None
    placement: Placement | None = None
    own: NDArray[np.float64] | None = None
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Entry:
    """A line of the report: its name, the rounds of each of its seeds, and the story of the first."""

    name: str
    seeds: Sequence[Rounds]
    story: Story


def plain_story(store: Store, record: RunRecord) -> Story:
    """What a run wrote down, without anything made again."""
    events = store.events(record.run)
    versions = [event["text"] for event in events if event["kind"] == VERSIONS]
    others = [event for event in events if event["kind"] != VERSIONS]
    rounds = store.rounds(record.run)
    return Story(record.run, record.status, record.config, rounds, others, versions)


def entries(stories: Sequence[Story]) -> list[Entry]:
    """Runs that differ in their seed alone are one entry; names say in what the others differ."""
    kinds: dict[str, list[Story]] = {}
    for story in stories:
        settings = {key: value for key, value in _flat(story.config).items() if key != "seed"}
        kinds.setdefault(repr(sorted(settings.items(), key=lambda item: item[0])), []).append(story)
    names = _names([found[0] for found in kinds.values()])
    return [
        Entry(name, [story.rounds for story in found], found[0])
        for name, found in zip(names, kinds.values(), strict=True)
    ]


def _names(stories: Sequence[Story]) -> list[str]:
    """The algorithm, and what tells apart those that share it; the run's own name where nothing does."""
    named = []
    for story in stories:
        algorithm = str(story.config.get("algorithm", story.run))
        alike = [other for other in stories if other.config.get("algorithm") == story.config.get("algorithm")]
        flat = [_flat(other.config) for other in alike]
        keys = dict.fromkeys(key for settings in flat for key in settings if key != "seed")
        differ = [key for key in keys if len({repr(settings.get(key)) for settings in flat}) > 1]
        own = _flat(story.config)
        words = [f"{key}={own.get(key)}" for key in differ]
        named.append(", ".join([algorithm, *words]) if len(words) <= 3 else story.run)
    return [name if named.count(name) == 1 else story.run for name, story in zip(named, stories, strict=True)]


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    options = config.get("options")
    own = options if isinstance(options, dict) else {}
    return {**{key: value for key, value in config.items() if key != "options"}, **own}
