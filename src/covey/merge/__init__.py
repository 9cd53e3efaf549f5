"""How models become one. A merger takes models in as they come and gives one at the end."""

from covey.merge.mean import Mean
from covey.merge.merger import MERGES, Merger, Model
from covey.merge.server import SERVERS, Replace, ServerStep, make_server

__all__ = ["MERGES", "SERVERS", "Mean", "Merger", "Model", "Replace", "ServerStep", "make_server"]
