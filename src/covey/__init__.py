"""covey: group-based federated learning. A round is a plan, a small tree of stars, rings, meshes and forests.

>>> import covey
>>> print(covey.Star([covey.Ring([covey.Train(0), covey.Train(1)]), covey.Train(2)]))
Star at cloud
├─ Ring
│  └─ Train 0, 1
└─ Train 2
"""

import os

# Threads that wait for work should sleep, not spin: on a busy machine that is many times faster. Read when torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from covey.algorithms import ALGORITHMS, Algorithm, Architecture, FedAvg, Outcome, State, make_algorithm
from covey.api import Run, resume, run
from covey.data import class_diversity, dirichlet, iid, load_fleet, natural, normal_sizes, shards
from covey.errors import BadData, BadPlan, BadValue, CoveyError, RunFailed, UnknownName
from covey.experiment import Experiment
from covey.fleet import Fleet, FleetData
from covey.grouping import Grouping, group
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
    "load_fleet",
    "make_algorithm",
    "natural",
    "normal_sizes",
    "resume",
    "run",
    "shards",
    "without",
]
