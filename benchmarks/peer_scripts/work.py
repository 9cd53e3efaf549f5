"""The work that every contender is given, and the form of its answer.

FedAvg, 100 of 1,000 clients a round, 60 samples a client, batches of 10, one local epoch, no evaluation while the
rounds are timed. Client i holds rows 60 i to 60 i + 59 of `x.npy` and `y.npy` in the data folder; `probe_x.npy` and
`probe_y.npy` are what the loss is taken on before the first round and after the last, to see that something was learnt.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from networks import NETWORKS
from torch import nn

WARM_UP = 2  # rounds at the start that are not timed: the first of them imports, compiles, starts workers


@dataclass(frozen=True)
class Work:
    """One contender's task; `way` is how it is to go about it, where there are several."""

    model: str
    data: Path
    rounds: int
    clients: int
    cohort: int
    samples: int
    batch: int
    lr: float
    way: str

    @property
    def all_rounds(self) -> int:
        """Those that are timed and those before them."""
        return self.rounds + WARM_UP

    def build(self) -> nn.Module:
        """The model, with the same weights in every process."""
        torch.manual_seed(0)
        return NETWORKS[self.model]()

    def array(self, name: str) -> np.ndarray:
        """One of the arrays."""
        return np.load(self.data / f"{name}.npy")

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        """All samples and their classes."""
        return torch.from_numpy(self.array("x")), torch.from_numpy(self.array("y"))

    def rows(self, client: int) -> slice:
        """Which samples are that client's."""
        return slice(client * self.samples, (client + 1) * self.samples)

    def loss(self, module: nn.Module) -> float:
        """The mean loss on the probe."""
        x, y = (torch.from_numpy(self.array(name)) for name in ("probe_x", "probe_y"))
        with torch.no_grad():
            return float(F.cross_entropy(module(x), y))


class Watch:
    """Notes the end of every round."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.stamps: list[float] = []

    def round_over(self) -> None:
        self.stamps.append(time.perf_counter())


def given() -> Work:
    """The work on the command line."""
    parser = argparse.ArgumentParser()
    for name, kind in Work.__annotations__.items():
        parser.add_argument(f"--{name}", required=True, type={"int": int, "float": float, "Path": Path}.get(kind, str))
    return Work(**vars(parser.parse_args()))


def answer(watch: Watch, before: float, after: float, **more: Any) -> None:
    """The last line of standard output: seconds of each timed round, of the first, and the loss before and after."""
    found = {
        "seconds": np.diff(watch.stamps)[WARM_UP - 1 :].tolist(),
        "first_round_seconds": watch.stamps[0] - watch.begun,
        "loss_before": before,
        "loss_after": after,
    }
    print(json.dumps({**found, **more}), flush=True)
