"""Data sets, and how they are split over clients."""

from covey.data import cifar, digits, idx, leaf, shakespeare, speech, synthetic  # noqa: F401 - each registers its sets
from covey.data.datasets import DATASETS, Dataset, find, get, load
from covey.data.diversity import class_diversity
from covey.data.fleets import load_fleet
from covey.data.objects import dataset_from, from_partitions
from covey.data.partition import PARTITIONS, Partition, parse_partition
from covey.data.schemes import dirichlet, iid, natural, normal_sizes, power_law, shards
from covey.fleet import Fleet

__all__ = [
    "DATASETS",
    "PARTITIONS",
    "Dataset",
    "Fleet",
    "Partition",
    "class_diversity",
    "dataset_from",
    "dirichlet",
    "find",
    "from_partitions",
    "get",
    "iid",
    "load",
    "load_fleet",
    "natural",
    "normal_sizes",
    "parse_partition",
    "power_law",
    "shards",
]
