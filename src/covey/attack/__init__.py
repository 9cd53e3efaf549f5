"""Clients that attack: what they do to their data and their answers, and how well it works."""

from covey.attack.backdoor import Backdoor, Replacement
from covey.attack.base import ATTACKS, Attack, Trial, choose, make_attack
from covey.attack.labels import LabelFlip
from covey.attack.signs import SignFlip
from covey.attack.watch import Tampering, Watching

__all__ = [
    "ATTACKS",
    "Attack",
    "Backdoor",
    "LabelFlip",
    "Replacement",
    "SignFlip",
    "Tampering",
    "Trial",
    "Watching",
    "choose",
    "make_attack",
]
