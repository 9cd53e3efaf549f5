"""Everything a run needs to go on, as one safetensors file: tensors as tensors, the rest as JSON in its header.

The header says whose checkpoint it is, and a digest over all of it tells a whole file from one that a disk or a power
cut has damaged. Reading one never runs code from it, and whatever else is in its place is refused in a sentence.
"""

from __future__ import annotations

import hashlib
import json
import stat
import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open

from covey.errors import BadData
from covey.shape import fit

if TYPE_CHECKING:  # torch takes seconds to import, and who lists runs reads no checkpoint
    from torch import Tensor

HEADER = ("covey", "identity", "record", "sha256")
UNREADABLE = (OSError, SafetensorError, KeyError, TypeError, ValueError, AttributeError, RuntimeError, MemoryError)


@dataclass(frozen=True)
class Identity:
    """Whose checkpoint it is: the run, the digest of its settings, the round."""

    run: str
    settings: str
    round: int

    def check(self, wanted: Identity) -> None:
        """Refuse to be another's."""
        if self != wanted:
            differing = [name for name, value in asdict(wanted).items() if getattr(self, name) != value]
            whose = "of other settings" if differing == ["settings"] else f"of run {self.run}, round {self.round}"
            raise ValueError(f"it is a checkpoint {whose}, not of run {wanted.run}, round {wanted.round}")


@dataclass(frozen=True)
class Label:
    """What a checkpoint's header says of it: whose it is, what the store knew of the run, the digest."""

    identity: Identity
    record: dict[str, Any]
    sha256: str


@dataclass
class Checkpoint:
    """Named tensors and plain data. The data may hold arrays and tensors anywhere inside; they become tensors."""

    data: dict[str, Any]
    identity: Identity = field(default=Identity("", "", 0), compare=False)
    record: dict[str, Any] = field(default_factory=dict, compare=False)

    def encode(self) -> bytes:
        """The bytes of a safetensors file."""
        return self.seal()[0]

    def seal(self) -> tuple[bytes, str]:
        """The bytes of a safetensors file, and the digest that it carries."""
        from safetensors.torch import save

        tensors: dict[str, Tensor] = {}
        texts = {
            "covey": json.dumps(_strip(self.data, "", tensors)),
            "identity": json.dumps(asdict(self.identity)),
            "record": json.dumps(self.record),
        }
        digest = _digest(texts, tensors)
        return save(tensors, metadata={**texts, "sha256": digest}), digest

    @classmethod
    def load(
        cls,
        path: Path,
        whose: Identity | None = None,
        sha256: str | None = None,
        check: Callable[[dict[str, Any]], None] | None = None,
    ) -> Checkpoint:
        """Read one back, and refuse it unless it is whole.

        `whose` it has to be and which digest it has to carry are checked first; `check` may refuse data that does not
        have the shape it should have (see `covey.shape`) with a ValueError.
        """
        try:
            label = read_label(path, whose, sha256)
            with safe_open(path, framework="pt") as file:
                texts = {name: file.metadata()[name] for name in HEADER[:-1]}
                # clones, since what lies in a mapped file is not aligned as what was saved, and sums depend on that
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            if label.sha256 != _digest(texts, tensors):
                raise ValueError("its digest does not fit")
            data = _fill(json.loads(texts["covey"]), tensors)
            if not isinstance(data, dict):
                raise ValueError("it holds no named data")
            if check is not None:
                check(data)
            return cls(data, label.identity, label.record)
        except UNREADABLE as error:
            raise _refused(path, error) from None


def read_label(path: Path, whose: Identity | None = None, sha256: str | None = None) -> Label:
    """What a checkpoint's header says, without its tensors; refused unless it is that run's, with that digest."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):  # a pipe would keep us waiting, a link may lead anywhere
            raise ValueError("it is not a regular file")
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
        if missing := [name for name in HEADER if name not in header]:
            raise ValueError(f"its header has no {missing[0]}")
        identity, record = json.loads(header["identity"]), json.loads(header["record"])
        fit(identity, {"run": str, "settings": str, "round": int}, "its identity")
        fit(record, dict, "its record")
        label = Label(Identity(**identity), record, header["sha256"])
        if whose is not None:
            label.identity.check(whose)
        if sha256 is not None and label.sha256 != sha256:
            raise ValueError("it is not the one the store wrote")
        return label
    except UNREADABLE as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: BaseException) -> BadData:
    if isinstance(error, BadData):
        return error
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return BadData(f"checkpoint {path} cannot be read ({textwrap.shorten(reason, 200, placeholder=' …')})")


def _digest(texts: dict[str, str], tensors: dict[str, Tensor]) -> str:
    import torch

    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name} {len(texts[name])}\n{texts[name]}".encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        if tensor.numel():
            digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _strip(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """The value with every array moved to `tensors` under its path, a note in its place."""
    import torch

    if isinstance(value, np.ndarray | torch.Tensor):
        name = f"{len(tensors)}{name}"  # a path alone may be that of two, as 1 and "1" are written alike
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
