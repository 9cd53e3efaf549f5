"""Local rules: what a client minimises and which way it steps.

A rule is a small frozen object made of plain tensor functions, so that one client at a time, a stack of clients under
`torch.func.vmap`, and a compiled stack all run the same lines. The base class is plain SGD; FedProx, SCAFFOLD and the
others override what differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from covey import words
from covey.registry import Registry, WrongKind

Params: TypeAlias = dict[str, Tensor]
Call: TypeAlias = Callable[..., Tensor]
"""`call(params, x, …)` runs the module on `x` with these tensors in place of its own."""


def mean_loss(outputs: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
    """Mean cross-entropy of `outputs` and classes `y` over the samples that `mask` counts (all without one)."""
    if mask is None:
        return F.cross_entropy(outputs, y)
    return (F.cross_entropy(outputs, y, reduction="none") * mask).sum() / mask.sum().clamp(min=1)


@dataclass(frozen=True)
class Rule:
    """Plain SGD: minimise the mean cross-entropy of the client's batch.

    `uses_received`: the rule looks at the model the client got. `remembers`: names of what each client keeps between
    its trainings and the server keeps for all, each shaped like a model and zero at first.
    """

    uses_received: ClassVar[bool] = False
    remembers: ClassVar[tuple[str, ...]] = ()

    def adapt(self, module: nn.Module, sample: Tensor) -> nn.Module:
        """The module that is trained in place of the user's (FedFusion adds a stream); `sample` is a batch of one."""
        return module

    def loss(self, call: Call, params: Params, received: Params, x: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
        """What one client minimises on one batch; `call(params, x)` runs the module.

        `params` is the client's model now, `received` the one it was sent; `x`, `y` are the batch, and `mask`, where it
        is padded, is 1 for its samples and 0 for the padding.
        """
        return mean_loss(call(params, x), y, mask)

    def direction(self, grads: Params, params: Params, received: Params, own: Params, shared: Params) -> Params:
        """The step's direction from the gradients `grads`; works on one client's tensors and on stacks of them alike.

        `params` is the model now, `received` the one the client was sent; a stack whose clients were all sent the same
        one has it once, in a first dimension of 1. `own` and `shared` hold what `remembers` names as "name/parameter":
        the client's and the server's.
        """
        return grads

    def remember(self, own: Params, shared: Params, direction: Tensor) -> Params:
        """What the client keeps after a training; flat vectors by name.

        `own` and `shared` are what it and the server remembered before.
        `direction` is the mean of what `direction` gave on the way, over all steps taken.
        """
        return {}

    def gather(self, shared: Params, change: Params, share: float) -> Params:
        """The server's memory after a round in which it was `shared`.

        `change` is the mean change of what those who trained remember, `share` their part of all clients.
        """
        return {name: shared[name] + share * change[name] for name in shared}

    def settle(self, before: Params, merged: Params) -> None:
        """What the server does to the merged model of a round, in place, before its own step."""


def own_rule(thing: object) -> type[Rule]:
    """The rule that a class of a user's is: one that overrides something of `Rule`, whether it inherits or not."""
    if not isinstance(thing, type) or not any(callable(getattr(thing, name, None)) for name in OVERRIDES):
        raise WrongKind(f"a class with some of {', '.join(OVERRIDES)}, as covey.local.Rule has them")
    if issubclass(thing, Rule):
        return thing
    return type(thing.__name__, (thing, Rule), {"__doc__": thing.__doc__, "__module__": thing.__module__})


OVERRIDES = ("loss", "direction", "remember", "gather", "settle", "adapt")

RULES: Registry[Callable[..., Rule]] = Registry("local rule", own_rule)

RULES.add("sgd", Rule)


def make_rule(word: str | Rule) -> Rule:
    """A rule from a word such as `sgd`, `fedprox:0.1` or `fedfusion:kind=multi,smoothing=0.5`.

    >>> make_rule("sgd")
    Rule()
    """
    return word if isinstance(word, Rule) else words.make(RULES, word, field="local")
