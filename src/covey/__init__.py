"""covey: group-based federated learning. A round is a plan, a small tree of stars, rings, meshes and forests.

>>> import covey
>>> print(covey.Star([covey.Ring([covey.Train(0), covey.Train(1)]), covey.Train(2)]))
Star at cloud
├─ Ring
│  └─ Train 0, 1
└─ Train 2
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covey.algorithms import ALGORITHMS, Algorithm, Architecture, FedAvg, Outcome, State, make_algorithm
    from covey.api import Run, load, price, resume, run
    from covey.data import Dataset, class_diversity, dirichlet, iid, load_fleet, natural, normal_sizes, shards
    from covey.errors import BadData, BadPlan, BadValue, CoveyError, RunFailed, UnknownName
    from covey.experiment import Experiment
    from covey.fleet import Fleet, FleetData
    from covey.grouping import Grouping, group, measure
    from covey.loop import Report
    from covey.plan import Forest, Mesh, Plan, Ring, Star, Train, client, cloud, combine, edge, without

__version__ = "0.1.0"

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Architecture",
    "BadData",
    "BadPlan",
    "BadValue",
    "CoveyError",
    "Dataset",
    "Experiment",
    "FedAvg",
    "Fleet",
    "FleetData",
    "Forest",
    "Grouping",
    "Mesh",
    "Outcome",
    "Plan",
    "Report",
    "Ring",
    "Run",
    "RunFailed",
    "Star",
    "State",
    "Train",
    "UnknownName",
    "class_diversity",
    "client",
    "cloud",
    "combine",
    "dirichlet",
    "edge",
    "group",
    "iid",
    "load",
    "load_fleet",
    "make_algorithm",
    "measure",
    "natural",
    "normal_sizes",
    "price",
    "resume",
    "run",
    "shards",
    "without",
]

_NAMES = {
    "covey.algorithms": "ALGORITHMS Algorithm Architecture FedAvg Outcome State make_algorithm",
    "covey.api": "Run load price resume run",
    "covey.data": "Dataset Fleet class_diversity dirichlet iid load_fleet natural normal_sizes shards",
    "covey.errors": "BadData BadPlan BadValue CoveyError RunFailed UnknownName",
    "covey.experiment": "Experiment",
    "covey.fleet": "FleetData",
    "covey.grouping": "Grouping group measure",
    "covey.loop": "Report",
    "covey.plan": "Forest Mesh Plan Ring Star Train client cloud combine edge without",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name's module when the name is first used: torch takes seconds, and `covey.plan` needs none of it."""
    if name not in _HOME:
        raise AttributeError(f"module 'covey' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
