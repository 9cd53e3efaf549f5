"""What an attack is, and who the attackers are.

Attackers train on data of their own making, or change the models they send back, or both; what they report about
themselves, such as label counts, is what they would have reported honestly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from covey import words
from covey.errors import BadValue
from covey.execute.effects import Answer, Job
from covey.fleet import Fleet, FleetData
from covey.registry import Registry, own_class

Inside = Literal["spread", "edge", "group"]


@dataclass(frozen=True, eq=False)
class Trial:
    """What shows whether an attack works: samples, and the labels that attackers want for them.

    With `wrong`, the labels are the true ones and attackers want any other.
    """

    x: NDArray[Any]
    y: NDArray[np.int64]
    wrong: bool = False


@dataclass(frozen=True)
class Attack(ABC):
    """An attack by a `share` of the clients: `spread` over all, at as few edges, or in as few groups as can be."""

    share: float = 0.1
    inside: Inside = "spread"

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise BadValue("share of the attack", self.share, "a number above 0 and below 1")

    @property
    def changes_answers(self) -> bool:
        """Whether attackers send back something else than what they trained."""
        return type(self).answer is not Attack.answer

    def poison(self, data: FleetData, attackers: Sequence[int], rng: np.random.Generator) -> FleetData:
        """The `data` of all clients, with that of the `attackers` as they change it."""
        return data

    def answer(self, job: Job, answer: Answer, attackers: frozenset[int]) -> Answer:
        """What an attacker sends back for that job in place of its honest answer; `attackers` are all of them."""
        return answer

    @abstractmethod
    def trial(self, data: FleetData) -> Trial:
        """What shows whether it works."""


_OWN = "a class with trial(data), and poison or answer, as covey.attack.Attack has them"

ATTACKS: Registry[Callable[..., Attack]] = Registry("attack", own_class(_OWN, "trial", Attack))


def make_attack(word: str) -> Attack:
    """An attack from a word such as `backdoor` or `label-flip:share=0.2,source=1,target=7`.

    >>> make_attack("sign-flip:0.3").share
    0.3
    """
    return words.make(ATTACKS, word, field="attack")


def choose(attack: Attack, fleet: Fleet, groups: Sequence[Sequence[int]], rng: np.random.Generator) -> tuple[int, ...]:
    """The attackers of a fleet: at least one; `groups` are those that the algorithm starts with.

    >>> attack = make_attack("sign-flip:share=0.5,inside=group")
    >>> choose(attack, Fleet(np.ones((4, 2))), [(0, 2), (1, 3)], np.random.default_rng(0)) in [(0, 2), (1, 3)]
    True
    """
    count = max(1, round(attack.share * fleet.clients))
    if attack.inside == "spread":
        return tuple(sorted(rng.choice(fleet.clients, count, replace=False).tolist()))
    parts = groups if attack.inside == "group" else fleet.by_edge
    if len(parts) < 2:
        raise BadValue("inside of the attack", attack.inside, f"spread, since there is one {attack.inside} only")
    order = [client for k in rng.permutation(len(parts)) for client in rng.permutation(parts[k])]
    return tuple(sorted(int(client) for client in order[:count]))
