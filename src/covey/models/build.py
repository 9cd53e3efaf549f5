"""From a name to a model that fits the data: the papers' networks by name, a user's own as `package.module:Class`."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import nn

from covey.errors import BadValue
from covey.models.base import MODELS, Factory, Shape
from covey.seeds import key


def build_model(model: str, shape: Shape, classes: int, seed: int, *, dtype: torch.dtype = torch.float32) -> nn.Module:
    """The model of that name with weights drawn from `seed`, checked on samples of that `shape` and `dtype`.

    `model` is a name in `MODELS`, or code of a user's as `package.module:Class` or `./mine.py:Class`. It gives
    one logit for each of `classes`. Torch's own generator is left as it was.

    >>> model = build_model("softmax-regression", (1, 8, 8), 10, seed=0)
    >>> sum(p.numel() for p in model.parameters())
    650
    """
    factory = MODELS[model]
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(key(seed, "model"))
        try:
            built = factory(shape, classes)
        except BadValue as misfit:
            if model not in MODELS:
                raise BadValue("model", model, misfit.allowed) from misfit
            raise _misfit(model, shape, classes, dtype, f"; it takes {misfit.allowed}") from None
        check_fit(built, model, shape, classes, dtype=dtype)
    return built


def check_fit(module: nn.Module, name: str, shape: Shape, classes: int, *, dtype: torch.dtype = torch.float32) -> None:
    """Raise `BadValue` unless `module` turns samples of that `shape` and `dtype` into one logit for each of `classes`.

    `name` is what the error calls it.
    """
    training = module.training
    module.eval()  # two made-up samples must not move batch statistics
    try:
        with torch.no_grad():
            logits = module(torch.zeros(2, *shape, dtype=dtype))
    except Exception as error:
        why = "" if name in MODELS else f" ({_first_line(error)})"
        raise _misfit(name, shape, classes, dtype, why) from error
    finally:
        module.train(training)
    given = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
    if given != (2, classes):
        raise BadValue("model", name, f"one that makes {(2, classes)} logits of 2 samples; this one makes {given}")


def check_alone(module: nn.Module, name: str, shape: Shape, batch: int, *, dtype: torch.dtype = torch.float32) -> None:
    """Raise `BadValue` unless `module` can train on a single sample, as it has to where batches leave one over.

    `name` and `batch`, the size of batches, are what the error names; `shape` and `dtype` are a sample's.
    """
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            deepcopy(module).train()(torch.zeros(1, *shape, dtype=dtype))
    except Exception as error:
        allowed = f"a size that leaves no client a last batch of one sample, on which {name!r} cannot train"
        raise BadValue("batch", batch, f"{allowed} ({_first_line(error)})") from error


def models_for(shape: Shape, classes: int, *, dtype: torch.dtype = torch.float32) -> list[str]:
    """The names in `MODELS` that fit data of this `shape` and `dtype` in this many `classes`.

    >>> models_for((1, 8, 8), 10)
    ['softmax-regression', '2nn', 'mcmahan-cnn', 'femnist-cnn', 'celeba-cnn', 'group-fel-resnet']
    """
    return [entry.name for entry in MODELS if _fits(entry.thing, shape, classes, dtype)]


def _fits(factory: Factory, shape: Shape, classes: int, dtype: torch.dtype) -> bool:
    """Whether it does: the factory refuses shapes, and whole numbers are for embeddings only."""
    try:
        with torch.device("meta"):  # where nothing is allocated or drawn
            module = factory(shape, classes)
    except BadValue:
        return False
    return dtype.is_floating_point != any(isinstance(part, nn.Embedding) for part in module.modules())


def _misfit(model: str, shape: Shape, classes: int, dtype: torch.dtype, why: str) -> BadValue:
    names = models_for(shape, classes, dtype=dtype)
    fitting = f"one of {', '.join(names)}" if names else "a package.module:Class of your own"
    kind = str(dtype).removeprefix("torch.")
    return BadValue("model", model, f"{fitting}: {model!r} does not fit data of shape {shape} and type {kind}{why}")


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
