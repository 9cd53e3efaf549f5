"""Published systems, one file each; every one makes plans and knows nobody who runs them."""

from covey.algorithms.architecture import Architecture
from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, make_algorithm
from covey.algorithms.fedavg import FedAvg

__all__ = ["ALGORITHMS", "Algorithm", "Architecture", "FedAvg", "Outcome", "State", "make_algorithm"]
