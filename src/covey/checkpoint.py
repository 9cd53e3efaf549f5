"""Everything a run needs to go on, as one safetensors file: tensors as tensors, the rest as JSON in its header.

A digest over both tells a whole file from one that a disk or a power cut has damaged.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from covey.errors import BadData


@dataclass
class Checkpoint:
    """Named tensors and plain data. The data may hold arrays and tensors anywhere inside; they become tensors."""

    data: dict[str, Any]

    def encode(self) -> bytes:
        """The bytes of a safetensors file."""
        tensors: dict[str, Tensor] = {}
        plain = json.dumps(_strip(self.data, "", tensors))
        return save(tensors, metadata={"covey": plain, "sha256": _digest(plain, tensors)})

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read one back; never runs code from the file."""
        try:
            with safe_open(path, framework="pt") as file:
                plain, digest = (file.metadata()[name] for name in ("covey", "sha256"))
                # clones, since what lies in a mapped file is not aligned as what was saved, and sums depend on that
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            if digest != _digest(plain, tensors):
                raise ValueError("its digest does not fit")
            return cls(_fill(json.loads(plain), tensors))
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise BadData(f"checkpoint {path} cannot be read ({error}); remove it and resume") from None


def _digest(plain: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(plain.encode())
    for name in sorted(tensors):
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()


def _strip(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """The value with every array moved to `tensors` under its path, a note in its place."""
    if isinstance(value, np.ndarray | Tensor):
        tensors[name] = torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value.clone().contiguous()
        return {"__array__": "numpy" if isinstance(value, np.ndarray) else "torch", "name": name}
    if isinstance(value, dict):
        keys = [_strip(k, "", tensors) for k in value]  # as a list, since JSON's own keys are texts only
        return {"__dict__": keys, "values": [_strip(v, f"{name}/{k}", tensors) for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return [_strip(v, f"{name}/{j}", tensors) for j, v in enumerate(value)]
    if isinstance(value, np.generic):
        return value.item()
    return value


def _fill(value: Any, tensors: dict[str, Tensor]) -> Any:
    """The inverse of `_strip`; tuples come back as lists."""
    if isinstance(value, list):
        return [_fill(v, tensors) for v in value]
    if not isinstance(value, dict):
        return value
    if "__array__" in value:
        tensor = tensors[value["name"]]
        return tensor.numpy() if value["__array__"] == "numpy" else tensor
    return {k: _fill(v, tensors) for k, v in zip(value["__dict__"], value["values"], strict=True)}


def fingerprint(models: list[Tensor]) -> str:
    """SHA-256 of the models' bytes: equal for equal models, to the bit."""
    digest = hashlib.sha256()
    for model in models:
        digest.update(model.contiguous().numpy().tobytes())
    return digest.hexdigest()
