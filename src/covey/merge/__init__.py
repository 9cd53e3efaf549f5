"""How models become one (merges), and what the server does with the one they became (server steps)."""

from covey.merge.adaptive import Adagrad, Adam, Yogi
from covey.merge.base import (
    MERGES,
    CannotMerge,
    Gathering,
    Merge,
    Merges,
    Merging,
    Model,
    clients_meeting,
    make_merge,
    meets_clients,
    merged,
)
from covey.merge.clip import Clip
from covey.merge.flame import Flame
from covey.merge.geometric_median import GeometricMedian
from covey.merge.ida import Ida
from covey.merge.krum import Krum
from covey.merge.mean import Mean, RunningMean
from covey.merge.median import Median
from covey.merge.private import Private
from covey.merge.secure import Secure
from covey.merge.server import SERVERS, Moment, Replace, ServerStep, make_server
from covey.merge.sum import Sum, SumOfUpdates
from covey.merge.trimmed_mean import TrimmedMean

__all__ = [
    "MERGES",
    "SERVERS",
    "Adagrad",
    "Adam",
    "CannotMerge",
    "Clip",
    "Flame",
    "Gathering",
    "GeometricMedian",
    "Ida",
    "Krum",
    "Mean",
    "Median",
    "Merge",
    "Merges",
    "Merging",
    "Model",
    "Moment",
    "Private",
    "Replace",
    "RunningMean",
    "Secure",
    "ServerStep",
    "Sum",
    "SumOfUpdates",
    "TrimmedMean",
    "Yogi",
    "clients_meeting",
    "make_merge",
    "make_server",
    "meets_clients",
    "merged",
]
