"""`covey flower init`: a folder that Flower can run, with the two functions to fill in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from covey.errors import BadData
from covey.flower.server import Deployment

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.0.0"
description = "Group-based federated learning on devices, with covey and Flower."
license = "Apache-2.0"
dependencies = ["covey[flower]"]

[tool.hatch.build.targets.wheel]
packages = ["."]

[tool.flwr.app]
publisher = "me"

[tool.flwr.app.components]
serverapp = "{module}.app:server"
clientapp = "{module}.app:client"

# What a run does; any line may be overridden: flwr run . CONNECTION --run-config "algorithm='fedavg' rounds=5".
# A line may be added for every setting of `covey run` but those of simulations, and for the algorithm's own.
[tool.flwr.app.config]
{config}
"""

CONFIG: dict[str, Any] = {
    "algorithm": "fedgsp",
    "rounds": 10,
    "lr": 0.1,
    "batch": 10,
    "epochs": 1,
    "seed": 0,
    "model": "softmax-regression",
    "merge": "mean",
    **{name.replace("_", "-"): field.default for name, field in Deployment.model_fields.items()},
}
ABOUT = {
    "model": "where the app has no function of its own for it",
    **{name.replace("_", "-"): str(field.description) for name, field in Deployment.model_fields.items()},
}

APP = '''\
"""The two functions that make this app yours: where a device's data is, and what the model is."""

import torch

from covey.flower import App


def data(node):
    """A device's own samples, x (float32) and y (whole numbers); they never leave it.

    `node` is what the SuperNode was started with: --node-config "name='left shelf' file='/data/shelf.csv'".
    Until there is data of your own, each device has a share of scikit-learn's digits.
    """
    from covey import Fleet

    number, parts = int(node.get("partition-id", 0)), int(node.get("num-partitions", 4))
    digits = Fleet.load("digits", clients=parts, partition="dirichlet:0.3").data
    own = digits.train_of[number % parts]
    return digits.x[own], digits.y[own]


def model():
    """The network: one output a class."""
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))


app = App(data=data, model=model, classes=10)
server = app.server
client = app.client
'''

DEMO = '''\
"""The app of `covey flower demo`: digits, split over the devices as `covey run` splits them over clients."""

from covey import Fleet
from covey.flower import App


def fleet(parts):
    return Fleet.load("digits", clients=parts, partition="dirichlet:0.3", edges=1, seed=0).data


def data(node):
    """A device's own samples, and those it tests on."""
    digits, number = fleet(int(node["num-partitions"])), int(node["partition-id"])
    train, test = digits.train_of[number], digits.test_of[number]
    return digits.x[train], digits.y[train], digits.x[test], digits.y[test]


def test():
    """The server's own test set."""
    digits = fleet(2)
    return digits.test_x, digits.test_y


app = App(data=data, classes=10, test=test)
server = app.server
client = app.client
'''


def write_app(folder: Path, config: Mapping[str, Any], source: str = APP) -> None:
    """Write an app; a folder that holds anything is left alone."""
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadData(f"{folder} is there already; name a folder that is not")
    module = module_of(folder)
    name = module.replace("_", "-")
    lines = "\n".join(_line(key, value) for key, value in {**CONFIG, **config}.items())
    package = folder / module
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT.format(name=name, module=module, config=lines))
    (package / "__init__.py").write_text('"""An app for Flower."""\n')
    (package / "app.py").write_text(source)


def module_of(folder: Path) -> str:
    """The name of the app's package in a folder.

    >>> module_of(Path("My fleet")), module_of(Path("2nd"))
    ('my_fleet', 'app_2nd')
    """
    name = re.sub(r"[^a-z0-9]+", "_", folder.resolve().name.lower()).strip("_") or "app"
    return name if name[0].isalpha() else f"app_{name}"


def _line(key: str, value: object) -> str:
    about = f"  # {ABOUT[key]}" if key in ABOUT else ""
    return f"{key} = {json.dumps(value)}{about}"
