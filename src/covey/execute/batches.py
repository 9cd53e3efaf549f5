"""Which samples go into which batch: a permutation per client, epoch and visit, the same whoever trains it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from covey import seeds
from covey.fleet import FleetData, Indices
from covey.ragged import Ragged


@dataclass(frozen=True, eq=False)
class Batches:
    """For a stack of C clients and T steps: which samples (C, T, B), which of them count, and who has a batch at all.

    `valid` is None when every batch of every client is full. `draws` are random numbers, so many for every sample.
    """

    samples: Tensor
    valid: Tensor | None
    active: Tensor | None
    draws: Tensor

    def to(self, device: torch.device) -> Batches:
        """The same on that device."""
        valid, active = (None if given is None else given.to(device) for given in (self.valid, self.active))
        return Batches(self.samples.to(device), valid, active, self.draws.to(device))


class Deck:
    """Deals the batches of any client: ceil(n / batch) an epoch, without replacement, the last one short.

    `batch` 0 is one batch of all the client's samples.
    """

    def __init__(self, data: FleetData, batch: int) -> None:
        own = data.train_of
        self.sizes, self.offsets, self.pool = own.sizes, own.offsets[:-1], own.flat
        most = int(self.sizes.max())
        self.batch = min(batch, most) or most or 1  # a server of devices has none of their samples

    def only(self, clients: Indices) -> tuple[Deck, Indices]:
        """The deck of some clients, by their own numbers, and which samples of the pool it deals, renumbered in it."""
        own = Ragged(self.pool, np.append(self.offsets, len(self.pool))).take(clients)
        held, pool = np.unique(own.flat, return_inverse=True)
        part = copy(self)
        part.sizes, part.offsets, part.pool = np.zeros_like(self.sizes), np.zeros_like(self.offsets), pool
        part.sizes[clients], part.offsets[clients] = own.sizes, own.offsets[:-1]
        return part, held

    def steps(self, client: int, epochs: int) -> int:
        """How many steps that client takes."""
        return int(-(-self.sizes[client] // self.batch)) * epochs

    def deal(self, keys: Indices, clients: Indices, visits: Indices, epochs: Indices, *, draws: int = 0) -> Batches:
        """The batches of several trainings, padded to the one with the most steps.

        The permutation, and the `draws` of every sample, depend on the training's key, its client, its visit and the
        epoch only.
        """
        sizes = self.sizes[clients]
        most, rows = int(sizes.max()), int(epochs.max())
        width = -(-most // self.batch) * self.batch
        drawn = seeds.mix(keys[:, None], clients[:, None], visits[:, None], np.arange(rows)[None, :])
        places = seeds.mix(0, drawn[:, :, None], np.arange(most)[None, None, :])
        own = np.arange(most) < sizes[:, None]
        places = np.where(own[:, None, :], places, np.uint64(2**64 - 1))
        order = np.argsort(places, axis=-1, kind="stable")
        spots = np.zeros((len(clients), rows, width), dtype=np.int64)
        spots[:, :, :most] = np.minimum(order, sizes[:, None, None] - 1)
        counts = np.zeros((len(clients), rows, width), dtype=bool)
        counts[:, :, :most] = own[:, None, :] & (np.arange(rows)[None, :, None] < epochs[:, None, None])
        spots = np.clip(self.offsets[clients][:, None, None] + spots, 0, len(self.pool) - 1)  # some clients have none
        samples = self.pool[spots].reshape(len(clients), -1, self.batch)
        chances = seeds.mix(1, drawn[:, :, None, None], np.arange(draws), np.arange(width)[:, None]) >> np.uint64(1)
        chance = torch.from_numpy(chances.astype(np.int64).reshape(*samples.shape, draws))
        if counts.all():
            return Batches(torch.from_numpy(samples), None, None, chance)
        valid = torch.from_numpy(counts.reshape(samples.shape))
        return Batches(torch.from_numpy(samples), valid.float(), valid.any(dim=-1).float(), chance)
