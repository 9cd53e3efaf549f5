"""FedFusion: a client sees its own features and those of the model it got, and learns how to fuse them.

Yao et al., "Towards Faster and Better Federated Learning: A Feature Fusion Approach", ICIP 2019, Section 3. The stack
that makes features is doubled: one trains, one is the received one and stays frozen. Local and global features become
one by a 1x1 convolution (`conv`, 2C channels to C), a gamma per channel (`multi`) or one gamma (`single`):
gamma global + (1 - gamma) local. The fusion is part of the model and is merged with it; the server smooths gamma,
gamma <- 0.9 gamma + 0.1 mean, as the authors' code does.

Departures: where a model is evaluated, both streams are its own features (the received ones are gone by then). The
convolution starts as the local stream alone, as gamma = 0 does, rather than at random. Features without height and
width (a perceptron's) are fused just so, each unit a channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from covey.errors import BadValue
from covey.local.rule import RULES, Call, Params, Rule, mean_loss

KINDS = ("conv", "multi", "single")
FEATURES = "features."


@RULES.register("fedfusion", paper="Yao et al. 2019")
@dataclass(frozen=True)
class FedFusion(Rule):
    """Local and received features, fused by a learned convolution or gamma."""

    uses_received: ClassVar[bool] = True

    kind: str = "conv"
    smoothing: float = 0.9

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadValue("local", f"fedfusion:{self.kind}", f"fedfusion:kind with kind one of {', '.join(KINDS)}")
        if not 0 <= self.smoothing < 1:
            raise BadValue("smoothing", self.smoothing, "a number from 0 up and below 1")

    def adapt(self, module: nn.Module, sample: Tensor) -> nn.Module:
        """The module with a fusion between its features and its head."""
        features, head = getattr(module, "features", None), getattr(module, "head", None)
        if not isinstance(features, nn.Module) or not isinstance(head, nn.Module):
            raise BadValue("model", type(module).__name__, "one with `features` and `head`, which fedfusion needs")
        training = features.training
        with torch.no_grad():
            channels = features.eval()(sample).shape[1]
        features.train(training)
        return Fused(features, Fusion(self.kind, channels), head)

    def loss(self, call: Call, params: Params, received: Params, x: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
        """Cross-entropy of the fused streams; only the local one is differentiated."""
        frozen = {name.removeprefix(FEATURES): p for name, p in received.items() if name.startswith(FEATURES)}
        return mean_loss(call(params, x, frozen), y, mask)

    def settle(self, before: Params, merged: Params) -> None:
        """Move gamma a tenth of the way to the clients' mean."""
        if self.kind != "conv":
            merged["fusion.gamma"].lerp_(before["fusion.gamma"], self.smoothing)


class Fused(nn.Module):
    """A network with a fusion between features and head; without a frozen stream both streams are its own."""

    def __init__(self, features: nn.Module, fusion: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.features, self.fusion, self.head = features, fusion, head

    def forward(self, x: Tensor, frozen: Params | None = None) -> Tensor:
        """Logits; `frozen` holds the parameters of the received features."""
        local = self.features(x)
        received = local if frozen is None else functional_call(self.features, frozen, (x,))
        logits: Tensor = self.head(self.fusion(local, received))
        return logits


class Fusion(nn.Module):
    """Two feature maps become one, channel by channel (`multi`, `single`) or across channels (`conv`)."""

    def __init__(self, kind: str, channels: int) -> None:
        super().__init__()
        self.kind = kind
        if kind == "conv":
            self.weight = nn.Parameter(torch.cat([torch.eye(channels), torch.zeros(channels, channels)], dim=1))
            self.bias = nn.Parameter(torch.zeros(channels))
        else:
            self.gamma = nn.Parameter(torch.zeros(channels if kind == "multi" else 1))

    def forward(self, local: Tensor, received: Tensor) -> Tensor:
        """The fused features, shaped like each of the two."""
        if self.kind == "conv":
            both = torch.cat([local, received], dim=1)
            return functional.linear(both.movedim(1, -1), self.weight, self.bias).movedim(-1, 1)
        gamma = self.gamma.view(-1, *(1,) * (local.dim() - 2))
        return gamma * received + (1 - gamma) * local
