"""What a client does to a model: a local rule, the optimiser that takes its steps, random views of its samples."""

from covey.local.augment import AUGMENTATIONS, Augmentation, make_augmentations
from covey.local.fedfusion import FedFusion
from covey.local.fedmmd import FedMmd
from covey.local.fedprox import FedProx
from covey.local.optimiser import Adam, Optimiser, Sgd
from covey.local.rule import RULES, Call, Params, Rule, make_rule, mean_loss
from covey.local.scaffold import Scaffold

__all__ = [
    "AUGMENTATIONS",
    "RULES",
    "Adam",
    "Augmentation",
    "Call",
    "FedFusion",
    "FedMmd",
    "FedProx",
    "Optimiser",
    "Params",
    "Rule",
    "Scaffold",
    "Sgd",
    "make_augmentations",
    "make_rule",
    "mean_loss",
]
