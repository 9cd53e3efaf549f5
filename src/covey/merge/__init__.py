"""How models become one (merges), and what the server does with the one they became (server steps)."""

from covey.merge.adaptive import Adagrad, Adam, Yogi
from covey.merge.base import MERGES, CannotMerge, Gathering, Merge, Merges, Merging, Model, make_merge, merged
from covey.merge.ida import Ida
from covey.merge.mean import Mean, RunningMean
from covey.merge.server import SERVERS, Moment, Replace, ServerStep, make_server
from covey.merge.sum import Sum, SumOfUpdates

__all__ = [
    "MERGES",
    "SERVERS",
    "Adagrad",
    "Adam",
    "CannotMerge",
    "Gathering",
    "Ida",
    "Mean",
    "Merge",
    "Merges",
    "Merging",
    "Model",
    "Moment",
    "Replace",
    "RunningMean",
    "ServerStep",
    "Sum",
    "SumOfUpdates",
    "Yogi",
    "make_merge",
    "make_server",
    "merged",
]
