"""The papers' bounds and prices, computed with numpy alone."""

from covey.grouping.divergence import Divergences, divergences, ring_variance
from covey.prices import PRICES, Prices
from covey.theory.fedavg_ic import drift, fedavg_ic_bound, interval_delay
from covey.theory.fedgsp import Hardware, communication_bytes, communication_seconds, computing_seconds
from covey.theory.group_fel import (
    GroupFelBound,
    client_spread,
    group_fel_bound,
    group_spread,
    largest_rate,
    sampling_spread,
)
from covey.theory.link_cost import LinkMeter, link_cost
from covey.theory.plan_cost import CostMeter, plan_cost
from covey.theory.prices import round_cost, total_cost
from covey.theory.tornado import ARCHITECTURES, Architecture, tornado_bound, tornado_traffic

__all__ = [
    "ARCHITECTURES",
    "PRICES",
    "Architecture",
    "CostMeter",
    "Divergences",
    "GroupFelBound",
    "Hardware",
    "LinkMeter",
    "Prices",
    "client_spread",
    "communication_bytes",
    "communication_seconds",
    "computing_seconds",
    "divergences",
    "drift",
    "fedavg_ic_bound",
    "group_fel_bound",
    "group_spread",
    "interval_delay",
    "largest_rate",
    "link_cost",
    "plan_cost",
    "ring_variance",
    "round_cost",
    "sampling_spread",
    "tornado_bound",
    "tornado_traffic",
    "total_cost",
]
