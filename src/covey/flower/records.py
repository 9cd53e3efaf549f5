"""What crosses between the server and a device, as Flower's records: numbers, texts and float32 vectors, nothing else.

| message | to the device | from the device |
|---|---|---|
| `query` | nothing | its name, its label counts (noised if asked), the shape of a sample, its edge |
| `train` | a job: model, numbers, the terms of training | the trained model; by how much its memory changed |
| `evaluate` | models | accuracy and loss on its own test samples, with each |
| `evaluate.losses` | models | its mean training loss with each |
| `train.gradient` | a model | its full-data gradient |
| `train.join`, `train.share`, `train.unmask` | bytes of `covey.secure` | bytes of `covey.secure` |

With secure aggregation, `train` is answered by a masked vector in place of a model. Samples never leave a device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from torch import Tensor

from covey.execute.effects import Job

HELLO, TRAIN, SCORES, LOSSES, GRADIENT = "query", "train", "evaluate", "evaluate.losses", "train.gradient"
JOIN, SHARE, UNMASK = "train.join", "train.share", "train.unmask"


class BadRecord(Exception):
    """A message that does not hold what it should; the text says what is wrong."""


@dataclass(frozen=True)
class Terms:
    """What all trainings of a run have in common: the network and what a client does with it."""

    model: str
    local: str
    batch: int
    momentum: float
    weight_decay: float
    optimiser: str
    augment: str
    seed: int


def vectors(values: Mapping[str, Tensor]) -> ArrayRecord:
    """Vectors by name, as a record."""
    return ArrayRecord({name: Array(value.detach().numpy()) for name, value in values.items()})


def read_vectors(records: RecordDict, name: str, size: int | None = None) -> dict[str, Tensor]:
    """The float32 vectors of a record; what is not there is nothing. With `size`, each must have so many numbers."""
    nothing: dict[str, Array] = {}
    found = records.array_records.get(name, nothing)
    read = {}
    for key, array in found.items():
        try:
            value = array.numpy()
        except (ValueError, TypeError, EOFError, OSError) as error:
            raise BadRecord(f"its {name} cannot be read ({error})") from None
        if value.dtype != np.float32 or value.ndim != 1 or (size is not None and len(value) != size):
            wanted = "float32" if size is None else f"{size} float32"
            held = f"{value.dtype} of shape {value.shape}"
            raise BadRecord(f"its {name} is not a vector of {wanted} numbers ({held})")
        read[key] = torch.from_numpy(value.copy())
    return read


def read_config(records: RecordDict, name: str) -> dict[str, Any]:
    """The numbers and texts of a record."""
    if name not in records.config_records:
        raise BadRecord(f"there is no {name} in it")
    return dict(records.config_records[name])


def job_records(job: Job, model: ArrayRecord, terms: Terms, memory: Mapping[str, Tensor] | None) -> RecordDict:
    """A job as records; `memory` is what the device is to remember, None where it knows that itself."""
    numbers: dict[str, Any] = {
        "client": job.client,
        "round": job.round,
        "visit": job.visit,
        "epochs": job.epochs,
        "rate": float(job.rate),
        "key": job.key,
        "fresh": memory is not None,
    }
    records = RecordDict({"model": model, "job": ConfigRecord(numbers), "terms": ConfigRecord(asdict(terms))})
    if job.shared:
        records["shared"] = vectors(job.shared)
    if memory:
        records["memory"] = vectors(memory)
    return records


def read_job(records: RecordDict) -> tuple[Job, Terms, dict[str, Tensor] | None]:
    """The job that a message holds, the terms of training, and the memory to start from, where it was sent."""
    numbers = read_config(records, "job")
    model = one_vector(records, "model")
    fresh = numbers.pop("fresh", False)
    try:
        job = Job(model=model, shared=read_vectors(records, "shared", len(model)), **numbers)
        terms = Terms(**read_config(records, "terms"))
    except TypeError as error:
        raise BadRecord(f"it is no job of this version of covey ({error})") from None
    return job, terms, read_vectors(records, "memory", len(model)) if fresh else None


def one_vector(records: RecordDict, name: str, size: int | None = None) -> Tensor:
    """The only vector of a record."""
    found = read_vectors(records, name, size)
    if len(found) != 1:
        raise BadRecord(f"its {name} holds {len(found)} vectors instead of one")
    return next(iter(found.values()))


def models_record(models: Sequence[Tensor]) -> ArrayRecord:
    """Models by number."""
    return vectors({str(number): model for number, model in enumerate(models)})
