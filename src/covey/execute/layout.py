"""A model is one flat vector: every parameter and floating-point buffer of a module, laid end to end.

Merging, mixing and storing models are then single operations on vectors, and a stack of clients is a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from covey.errors import BadValue
from covey.execute.device import seeded, to_host
from covey.local import Params


class Layout:
    """Where each tensor of a module lies in the flat vector: parameters first, then floating-point buffers.

    Parameters that are frozen (`requires_grad` off) are part of the module and no part of the vector.

    >>> layout = Layout(nn.Linear(2, 1))
    >>> layout.size, [(name, list(p.shape)) for name, p in layout.views(torch.zeros(3)).items()]
    (3, [('weight', [1, 2]), ('bias', [1])])
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        tensors: dict[str, Tensor] = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if not tensors:
            raise BadValue("model", type(module).__name__, "one with parameters to train")
        self.parameters = list(tensors)
        self.trained = sum(p.numel() for p in tensors.values())
        tensors |= {name: b for name, b in module.named_buffers() if b.is_floating_point()}
        self.shapes = {name: tuple(t.shape) for name, t in tensors.items()}
        self.sizes = [t.numel() for t in tensors.values()]
        self.size = sum(self.sizes)
        self.has_buffers = len(self.sizes) > len(self.parameters)

    def initial(self) -> Tensor:
        """The module's own values as a flat vector, in the processor's memory."""
        state = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        return to_host(torch.cat([state[name].detach().reshape(-1).float() for name in self.shapes]))

    @property
    def convolves(self) -> bool:
        """Whether there are convolutions over images in it."""
        return any(isinstance(part, nn.Conv2d) for part in self.module.modules())

    @property
    def device(self) -> torch.device:
        """Where the module is."""
        return next(self.module.parameters()).device

    def views(self, flat: Tensor) -> Params:
        """The named tensors inside a vector, or inside every row of a matrix; writing to them writes to it."""
        parts = torch.split(flat, self.sizes, dim=-1)
        lead = flat.shape[:-1]
        return {name: part.view(*lead, *shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def params(self, flat: Tensor) -> Params:
        """As `views`, the trained parameters only."""
        views = self.views(flat)
        return {name: views[name] for name in self.parameters}

    def call(self, params: Params, *inputs: Any) -> Tensor:
        """Run the module with these tensors in place of its own."""
        out: Tensor = functional_call(self.module, params, inputs)
        return out

    @contextmanager
    def loaded(self, flat: Tensor, *, channels_last: bool = False) -> Iterator[nn.Module]:
        """The module itself living on `flat`: its parameters and buffers are views of it while the block runs.

        With `channels_last` those with four dimensions are copies in that order, written back to `flat` at the end.
        """
        own = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        before = {name: own[name].data for name in self.shapes}
        views = self.views(flat)
        copies = [name for name, view in views.items() if channels_last and view.dim() == 4]
        try:
            for name, view in views.items():
                own[name].data = view.clone(memory_format=torch.channels_last) if name in copies else view
            yield self.module
            for name in copies:
                views[name].copy_(own[name].data)
        finally:
            for name, data in before.items():
                own[name].data = data

    @contextmanager
    def training(
        self, flat: Tensor, seed: int | None, *, channels_last: bool = False
    ) -> Iterator[tuple[nn.Module, Params]]:
        """As `loaded`, ready to train, with the parameters by name; what the module draws at random follows `seed`.

        Without a seed it must not draw: torch's generator is one for all threads.
        """
        with ExitStack() as block:
            if seed is not None:
                block.enter_context(seeded(flat.device, seed))
            module = block.enter_context(self.loaded(flat, channels_last=channels_last))
            module.train()
            own = dict(module.named_parameters())
            yield module, {name: own[name] for name in self.parameters}
