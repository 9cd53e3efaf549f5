"""What every model has in common: features, a head, a fitting input shape, and a name in `MODELS`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import pairwise

from torch import Tensor, nn

from covey.errors import BadValue
from covey.outside import Unloadable, guarded
from covey.registry import Registry, WrongKind

Shape = tuple[int, ...]
Factory = Callable[[Shape, int], nn.Module]


def own_model(thing: object) -> Factory:
    """The factory that a class or function of a user's is; it is called with what it takes of `shape` and `classes`."""
    if not (isinstance(thing, type) and issubclass(thing, nn.Module)) and not inspect.isfunction(thing):
        raise WrongKind("a torch.nn.Module class, or a function that makes one")

    def make(shape: Shape, classes: int) -> nn.Module:
        try:
            built = guarded(lambda: _call(thing, shape, classes))
        except Unloadable as error:
            allowed = f"one to call with (shape, classes) or with nothing ({error})"
            raise BadValue("model", thing.__name__, allowed) from error
        if not isinstance(built, nn.Module):
            allowed = f"one that makes a torch.nn.Module; this one makes {type(built).__name__}"
            raise BadValue("model", thing.__name__, allowed)
        return built

    return make


def _call(thing: Callable[..., object], shape: Shape, classes: int) -> object:
    """`shape` and `classes` go to the parameters of these names; without them, nothing or both by position."""
    parameters = inspect.signature(thing).parameters
    given = {name: value for name, value in (("shape", shape), ("classes", classes)) if name in parameters}
    required = [p for p in parameters.values() if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    return thing(shape, classes) if not given and len(required) == 2 else thing(**given)


MODELS: Registry[Factory] = Registry("model", own_model)
"""Factories `build(shape, classes) -> nn.Module`; `shape` is that of one sample."""


class TwoPart(nn.Module):
    """A model in two parts: `features` makes a representation, `head` makes logits of it.

    FedFusion fuses the output of `features`, which a convolution stack leaves as (batch, channels, height, width);
    FedCLAR compares the last layer of `head`.
    """

    def __init__(self, features: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.features = features
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        """Logits, one row per sample."""
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
