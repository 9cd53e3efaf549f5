"""Published systems, one file each; every one makes plans and knows nobody who runs them."""

from covey.algorithms.architecture import Architecture
from covey.algorithms.astraea import Astraea
from covey.algorithms.base import ALGORITHMS, Algorithm, Outcome, State, make_algorithm
from covey.algorithms.cfl import CFL
from covey.algorithms.fedavg import FedAvg
from covey.algorithms.fedavg_ic import FedAvgIC
from covey.algorithms.fedclar import FedCLAR
from covey.algorithms.fedfusion import FedFusion
from covey.algorithms.fedgsp import FedGSP
from covey.algorithms.fedmmd import FedMMD
from covey.algorithms.fedopt import FedAdagrad, FedAdam, FedYogi
from covey.algorithms.fedprox import FedProx
from covey.algorithms.fl_hc import FLHC
from covey.algorithms.group_fel import GroupFEL
from covey.algorithms.hierfavg import HierFAVG
from covey.algorithms.ida import IDA
from covey.algorithms.ifca import IFCA
from covey.algorithms.ihc_fl import IHCFL
from covey.algorithms.mm_psgd import MMPSGD
from covey.algorithms.naive_gsp import NaiveGSP
from covey.algorithms.scaffold import SCAFFOLD
from covey.algorithms.semicyclic import SemiCyclic
from covey.algorithms.tornado import Tornado, Tornadoes, TornadoRings

__all__ = [
    "ALGORITHMS",
    "CFL",
    "FLHC",
    "IDA",
    "IFCA",
    "IHCFL",
    "MMPSGD",
    "SCAFFOLD",
    "Algorithm",
    "Architecture",
    "Astraea",
    "FedAdagrad",
    "FedAdam",
    "FedAvg",
    "FedAvgIC",
    "FedCLAR",
    "FedFusion",
    "FedGSP",
    "FedMMD",
    "FedProx",
    "FedYogi",
    "GroupFEL",
    "HierFAVG",
    "NaiveGSP",
    "Outcome",
    "SemiCyclic",
    "State",
    "Tornado",
    "TornadoRings",
    "Tornadoes",
    "make_algorithm",
]
