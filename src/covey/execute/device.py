"""Where clients are trained and models are scored: the processor, or an accelerator.

Models that cross the seam (those of jobs, answers, merges, checkpoints) are in the processor's memory. A trainer or an
evaluator takes them to where its samples and its network are, and brings home what came of them; between the two no
tensor is made anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from covey.errors import BadValue

ACCELERATORS = ("cpu", "cuda", "mps", "auto")


def find_device(accelerator: str) -> torch.device:
    """The device of that name; `auto` is the first accelerator that is there, else the processor.

    >>> find_device("cpu")
    device(type='cpu')
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if accelerator == "auto":
        return torch.device(next(name for name, found in there.items() if found))
    if not there.get(accelerator, False):
        found = " or ".join([*(name for name, here in there.items() if here), "auto"])
        raise BadValue("accelerator", accelerator, f"{found}: torch {torch.__version__} finds no other here")
    return torch.device(accelerator)


@contextmanager
def one_thread() -> Iterator[None]:
    """What torch computes in the block does not depend on how many threads it has."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def to_host(tensor: Tensor) -> Tensor:
    """The tensor in the processor's memory."""
    return tensor.cpu()


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """What is drawn at random on the processor and on that device follows `seed` while the block runs."""
    devices = [device.index or 0] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            torch.cuda.manual_seed(seed)
        elif device.type == "mps":
            torch.mps.manual_seed(seed)
        yield
