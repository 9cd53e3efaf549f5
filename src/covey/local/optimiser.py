"""The steps a client takes: SGD with momentum and weight decay, or Adam; on one client or on a stack of clients.

Both work in place on dictionaries of tensors. On a stack, `rate` is a tensor with one learning rate a client and
`active` says which clients have a batch in this step: the others stand still, momentum and all. Every training begins
with an optimiser that remembers nothing: momentum and Adam's moments start at zero at each of a client's visits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from covey.local.rule import Params


class Optimiser(Protocol):
    """Turns gradients into steps."""

    def init(self, params: Params) -> Params:
        """What is remembered from step to step, zero at first, in tensors stacked like the parameters."""

    def step(self, params: Params, grads: Params, state: Params, rate: float | Tensor, active: Tensor | None) -> None:
        """One step, in place on `params` and `state`."""

    def reach(self, rate: float, steps: int) -> float | None:
        """How far this many steps move a parameter whose direction is 1 all the way.

        None where a step is not in proportion to its direction.
        """


@dataclass(frozen=True)
class Sgd:
    """p <- p - rate v, v <- momentum v + (gradient + weight_decay p), as torch.optim.SGD."""

    momentum: float = 0.0
    weight_decay: float = 0.0

    def init(self, params: Params) -> Params:
        """The velocities, where there is momentum."""
        return {name: torch.zeros_like(p) for name, p in params.items()} if self.momentum else {}

    def step(self, params: Params, grads: Params, state: Params, rate: float | Tensor, active: Tensor | None) -> None:
        """One step, in place; gradients are added last and alone, for a trace joins that with the product they are."""
        for name, p in params.items():
            g = grads[name]
            if self.momentum:
                v = state[name]
                if active is None:
                    v.mul_(self.momentum)
                    if self.weight_decay:
                        v.add_(p, alpha=self.weight_decay)
                    v.add_(g)
                else:
                    on = _like(active, v)
                    v.mul_(1 + on * (self.momentum - 1))
                    if self.weight_decay:
                        v.addcmul_(on, p, value=self.weight_decay)
                    v.addcmul_(on, g)
                g = v
            elif self.weight_decay:
                p.mul_(1 - self.weight_decay * (_like(rate, p) if isinstance(rate, Tensor) else rate))
            _move(p, g, rate)

    def reach(self, rate: float, steps: int) -> float:
        """Rate x the sum over k up to `steps` of (1 - momentum^k) / (1 - momentum): what momentum has built up.

        >>> Sgd(momentum=0.5).reach(0.1, 2)  # 0.1 x (1 + 1.5)
        0.25
        """
        beta = self.momentum
        return rate * (steps - beta * (1 - beta**steps) / (1 - beta)) / (1 - beta)


@dataclass(frozen=True)
class Adam:
    """Adam as torch.optim.Adam, with its bias correction and L2 weight decay."""

    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def init(self, params: Params) -> Params:
        """First and second moments, and the number of steps taken."""
        state = {f"m/{name}": torch.zeros_like(p) for name, p in params.items()}
        state |= {f"v/{name}": torch.zeros_like(p) for name, p in params.items()}
        first = next(iter(params.values()))
        return state | {"steps": torch.zeros(first.shape[:1], device=first.device)}

    def step(self, params: Params, grads: Params, state: Params, rate: float | Tensor, active: Tensor | None) -> None:
        """One step, in place; a client that stands still counts no step."""
        steps = state["steps"]
        steps.add_(1 if active is None else active)
        for name, p in params.items():
            g = grads[name] + self.weight_decay * p if self.weight_decay else grads[name]
            m, v = state[f"m/{name}"], state[f"v/{name}"]
            if active is None:
                on: Tensor | float = 1.0
                count: Tensor = steps.view(-1)[0]
            else:
                on, count = _like(active, p), _like(steps.clamp(min=1), p)
            m.lerp_(g, on * (1 - self.beta1))
            v.lerp_(g * g, on * (1 - self.beta2))
            first, root = _grown(self.beta1, count), torch.sqrt(_grown(self.beta2, count))
            _move(p, m / v.sqrt().add_(self.epsilon * root).mul_(first / root), rate)

    def reach(self, rate: float, steps: int) -> None:
        """Adam's steps are all about as long, whatever their direction."""
        return


def _grown(beta: float, steps: Tensor) -> Tensor:
    """1 - beta^steps, without the rounding of 1 - 0.999 in single precision."""
    return -torch.expm1(steps * math.log(beta))


def _move(p: Tensor, direction: Tensor, rate: float | Tensor) -> None:
    if isinstance(rate, Tensor):
        p.addcmul_(_like(rate, p), direction, value=-1)
    else:
        p.sub_(direction, alpha=rate)


def _like(values: Tensor, p: Tensor) -> Tensor:
    """One number per client, shaped to multiply a stack of tensors."""
    return values.view(-1, *(1,) * (p.dim() - 1))
