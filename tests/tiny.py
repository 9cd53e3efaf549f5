"""Fleets and models small enough to train by hand, and the shortest way to run an algorithm on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from covey.experiment import Experiment
from covey.experiment.assembly import assemble
from covey.fleet import Fleet, FleetData
from covey.loop import Loop
from covey.models.base import TwoPart

Sample = tuple[float, int]


def fleet_of(samples: Sequence[Sequence[Sample]], *, edge_of: Sequence[int] | None = None, classes: int = 2) -> Fleet:
    """Clients with these (x, y) each; everything they hold is also the global test set."""
    x = np.array([[x] for own in samples for x, _ in own], dtype=np.float32)
    y = np.array([y for own in samples for _, y in own], dtype=np.int64)
    return _fleet(x, y, [len(own) for own in samples], classes, edge_of)


def random_fleet(
    sizes: Sequence[int], *, width: int = 4, classes: int = 3, seed: int = 0, edge_of: Sequence[int] | None = None
) -> Fleet:
    """Clients of these sizes with points around a centre for every class; client i lacks class i mod classes."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, width))
    y = np.array([(i + 1 + rng.integers(classes - 1)) % classes for i, n in enumerate(sizes) for _ in range(n)])
    x = (centres[y] + 0.5 * rng.normal(size=(len(y), width))).astype(np.float32)
    return _fleet(x, y.astype(np.int64), sizes, classes, edge_of)


def _fleet(x: np.ndarray, y: np.ndarray, sizes: Sequence[int], classes: int, edge_of: Sequence[int] | None) -> Fleet:
    parts = tuple(np.split(np.arange(len(y)), np.cumsum(sizes)[:-1]))
    data = FleetData("tiny", x, y, x, y, parts, tuple(np.zeros(0, dtype=np.int64) for _ in parts), classes)
    labels = np.stack([np.bincount(y[part], minlength=classes) for part in parts])
    return Fleet(labels, edge_of=None if edge_of is None else np.array(edge_of), data=data)


def two_weights() -> nn.Module:
    """Logits (a x, b x) of one number x, with a = b = 0: two parameters."""
    module = nn.Linear(1, 2, bias=False)
    nn.init.zeros_(module.weight)
    return module


def small_network(width: int = 4, classes: int = 3, seed: int = 0) -> TwoPart:
    """Features of six units and a head."""
    network = TwoPart(nn.Sequential(nn.Flatten(), nn.Linear(width, 6), nn.Tanh()), nn.Linear(6, classes))
    generator = torch.Generator().manual_seed(seed)
    for p in network.parameters():
        p.data = torch.randn(p.shape, generator=generator) * 0.5
    return network


def loop_of(algorithm: str, fleet: Fleet, module: nn.Module, **settings: Any) -> Loop:
    """The run loop: full batches, one client after another, learning rate 1, unless told otherwise."""
    given = {"rounds": 1, "lr": 1.0, "batch": 0, "mode": "one-by-one", "evaluate_every": 1000} | settings
    return assemble(Experiment.make({"algorithm": algorithm, **given}), fleet=fleet, module=module)


def model_after(algorithm: str, fleet: Fleet, module: nn.Module, **settings: Any) -> Tensor:
    """The one model after all rounds."""
    loop = loop_of(algorithm, fleet, module, **settings)
    progress = loop.begin()
    loop.go(progress)
    (model,) = progress.models
    return model
