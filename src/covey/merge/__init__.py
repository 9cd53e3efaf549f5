"""How models become one. A merger takes models in as they come and gives one at the end."""

from covey.merge.adaptive import Adagrad, Adam, Yogi
from covey.merge.ida import Ida
from covey.merge.mean import Mean
from covey.merge.merger import MERGES, Merger, Model
from covey.merge.server import SERVERS, Replace, ServerStep, make_server
from covey.merge.sum import Sum

__all__ = [
    "MERGES",
    "SERVERS",
    "Adagrad",
    "Adam",
    "Ida",
    "Mean",
    "Merger",
    "Model",
    "Replace",
    "ServerStep",
    "Sum",
    "Yogi",
    "make_server",
]
