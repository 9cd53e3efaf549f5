"""A model of two parameters, clients of one or two samples, and the step they take, written out.

The logits of a sample x are (a x, b x). With p = 1 / (1 + exp((b - a) x)), the chance of class 0, the gradient of
the cross-entropy by (a, b) is (p - 1, 1 - p) x for class 0 and (p, -p) x for class 1.
"""

import math

import numpy as np
import torch
from torch import nn

from covey.experiment import Experiment
from covey.experiment.assembly import assemble
from covey.fleet import Fleet, FleetData


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return x * self.weight


def fleet_of(*clients, **more):
    """A fleet whose client i holds the samples (x, class) in clients[i]."""
    pool = [sample for own in clients for sample in own]
    x = np.array([[s[0]] for s in pool], dtype=np.float32)
    y = np.array([s[1] for s in pool], dtype=np.int64)
    ends = np.cumsum([len(own) for own in clients])
    train_of = tuple(np.arange(end - len(own), end) for own, end in zip(clients, ends, strict=True))
    labels = np.stack([np.bincount(y[own], minlength=2) for own in train_of])
    nothing = tuple(np.zeros(0, np.int64) for _ in clients)
    return Fleet(labels, data=FleetData("tiny", x, y, x, y, train_of, nothing, classes=2), **more)


def run(algorithm, fleet, rounds=1, lr=1.0, **more):
    """The progress after so many rounds of full-batch steps."""
    settings = {"rounds": rounds, "lr": lr, "batch": 0, "mode": "one-by-one", **more}
    loop = assemble(Experiment.make(settings), algorithm=algorithm, fleet=fleet, module=Two())
    progress = loop.begin()
    loop.go(progress)
    return progress


def step(w, *samples, rate=1.0):
    """One full-batch gradient step from w = (a, b)."""
    a, b = w
    by_a = 0.0
    for x, y in samples:
        p = 1 / (1 + math.exp((b - a) * x))
        by_a += (p - 1 if y == 0 else p) * x / len(samples)
    return (a - rate * by_a, b + rate * by_a)


def mean(*weighted):
    """The mean of (weight, (a, b)) pairs."""
    total = sum(weight for weight, _ in weighted)
    return tuple(sum(weight * w[j] for weight, w in weighted) / total for j in (0, 1))


def close(model, expected):
    return np.allclose(model.numpy(), expected, atol=1e-6)
