"""Public functions of more than two parameters say what each is.

A parameter is described where the docstring names it. The settings of a run are described by the help of `Experiment`;
`rng`, the generator that random numbers come from, is the same everywhere.
"""

import importlib
import inspect
import pkgutil
import re

import pytest

import covey
from covey.algorithms import Algorithm
from covey.attack import Attack
from covey.data import Partition
from covey.experiment import Experiment
from covey.local import Rule
from covey.merge import Merging, ServerStep

WRITTEN_BY_USERS = (Algorithm, Attack, Merging, Partition, Rule, ServerStep)


def public():
    """The functions that packages of covey export, and the methods of the classes that parts of one's own have."""
    names = [module.name for module in pkgutil.iter_modules(covey.__path__, "covey.") if module.name[6:] != "__main__"]
    for package in [covey, *map(importlib.import_module, names)]:
        for name in getattr(package, "__all__", ()):
            if inspect.isfunction(thing := getattr(package, name)):
                yield thing
    for kind in WRITTEN_BY_USERS:
        yield from (method for name, method in vars(kind).items() if inspect.isfunction(method) and name[0] != "_")


FUNCTIONS = {f"{function.__module__}.{function.__qualname__}": function for function in public()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_described(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    names = [p.name for p in parameters if p.name not in ("self", "rng") and p.kind != p.VAR_KEYWORD]
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    told = {field for field, info in Experiment.model_fields.items() if info.description and "`Experiment`" in text}
    untold = [name for name in names if name not in told and not re.search(rf"\b{name}\b", text)]
    assert len(names) <= 2 or not untold


def test_the_walk_finds_functions_and_methods():
    assert {"covey.api.run", "covey.grouping.by_name.group", "covey.algorithms.base.Algorithm.plan"} <= set(FUNCTIONS)
