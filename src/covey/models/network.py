"""What every model has in common: features, a head, a fitting input shape, and a name in `MODELS`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from torch import Tensor, nn

from covey.errors import BadValue
from covey.registry import Registry

Shape = tuple[int, ...]
Factory = Callable[[Shape, int], nn.Module]

MODELS: Registry[Factory] = Registry("model")
"""Factories `build(shape, classes) -> nn.Module`; `shape` is that of one sample."""


class Network(nn.Module):
    """A model in two parts: `features` makes a representation, `head` makes logits of it.

    FedFusion fuses the output of `features`, which a convolution stack leaves as (batch, channels, height, width);
    FedCLAR compares the last layer of `head`.
    """

    def __init__(self, features: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.features = features
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        """Logits, one row a sample."""
        logits: Tensor = self.head(self.features(x))
        return logits


def image(shape: Shape, *, smallest: int = 1) -> tuple[int, int, int]:
    """Channels, height and width of an image of at least `smallest` pixels each way, or `BadValue`.

    >>> image((1, 8, 8), smallest=16)
    Traceback (most recent call last):
    covey.errors.BadValue: shape is (1, 8, 8); allowed is (channels, height, width) with images from 16 x 16 up
    """
    if len(shape) != 3 or min(shape[1:]) < smallest:
        raise BadValue("shape", shape, f"(channels, height, width) with images from {smallest} x {smallest} up")
    channels, height, width = shape
    return channels, height, width


def perceptron(*widths: int) -> list[nn.Module]:
    """Linear layers of these widths with ReLU between them, none after the last.

    >>> [type(layer).__name__ for layer in perceptron(784, 200, 10)]
    ['Linear', 'ReLU', 'Linear']
    """
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return layers[:-1]
