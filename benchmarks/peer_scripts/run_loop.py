"""FedAvg as one would write it first: load, train and add up one client after another, in plain PyTorch.

`--way` is the number of threads, or `all` for torch's own choice.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from work import Watch, Work, answer, given


def one_round(work: Work, module: nn.Module, chosen: list[int], x: Tensor, y: Tensor) -> None:
    """A round of these clients; the module holds the global model before and after."""
    start = {name: value.clone() for name, value in module.state_dict().items()}
    total = {name: torch.zeros_like(value) for name, value in start.items()}
    for client in chosen:
        module.load_state_dict(start)
        optimiser = torch.optim.SGD(module.parameters(), lr=work.lr)
        own = work.rows(client)
        order = own.start + torch.randperm(work.samples)
        for batch in order.split(work.batch):
            optimiser.zero_grad()
            F.cross_entropy(module(x[batch]), y[batch]).backward()
            optimiser.step()
        for name, value in module.state_dict().items():
            total[name] += value / len(chosen)
    module.load_state_dict(total)


def main() -> None:
    work = given()
    if work.way != "all":
        torch.set_num_threads(int(work.way))
    x, y = work.tensors()
    module = work.build()
    before = work.loss(module)
    draw = np.random.default_rng(0)
    watch = Watch()
    for _ in range(work.all_rounds):
        one_round(work, module, draw.choice(work.clients, work.cohort, replace=False).tolist(), x, y)
        watch.round_over()
    answer(watch, before, work.loss(module), threads=torch.get_num_threads())


if __name__ == "__main__":
    main()
