"""Scores, losses and gradients, asked of the devices: each looks at its own data and answers with numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TypeVar

import numpy as np
from flwr.app import ConfigRecord, RecordDict
from numpy.typing import NDArray
from torch import Tensor

from covey.errors import RunFailed
from covey.execute.backend import Work
from covey.execute.effects import Failure
from covey.execute.evaluate import LocalEvaluator, Scores
from covey.execute.evaluate import scores as scores_of
from covey.fleet import Fleet
from covey.flower.crew import Crew
from covey.flower.post import Post, Reply
from covey.flower.records import (
    GRADIENT,
    LOSSES,
    SCORES,
    BadRecord,
    Terms,
    models_record,
    one_vector,
    read_config,
)
from covey.merge import RunningMean

T = TypeVar("T")


class FlowerEvaluator:
    """Asks devices. Without a test set of the server's, its accuracy and loss are the devices' means, by their size."""

    def __init__(self, post: Post, crew: Crew, terms: Terms, work: Work, fleet: Fleet, *, tests: bool) -> None:
        self.post, self.crew, self.terms, self.fleet, self.tests = post, crew, terms, fleet, tests
        self.layout = work.task.layout
        self.server = LocalEvaluator(self.layout, work.data) if len(work.data.test_y) else None

    def scores(self, models: Sequence[Tensor], home: NDArray[np.int64]) -> Scores:
        """The mean model on the server's test set or on all devices' test samples; each device with its own model."""
        merged = RunningMean()
        for slot, share in enumerate(np.bincount(home, self.fleet.sizes, len(models))):
            merged.add(slot, models[slot], float(share))
        mean = merged.close(())
        found = Scores()
        if self.server is not None:
            right, loss = scores_of(self.layout, mean, self.server.test_x, self.server.test_y)
            found = Scores(float(right.mean()), float(loss.mean()))
        if not self.tests:
            return found
        alike = len(models) == 1

        def asked(client: int) -> RecordDict:
            return self._records([mean] if alike else [mean, models[home[client]]])

        def read(reply: RecordDict) -> tuple[float, float, float]:
            told = read_config(reply, "scores")
            accuracies, losses = told.get("accuracy", []), told.get("loss", [])
            if not (accuracies and losses):
                return np.nan, np.nan, np.nan
            return float(accuracies[0]), float(losses[0]), float(accuracies[-1])

        answers = self._ask(SCORES, range(self.fleet.clients), asked, read)
        table = np.array(list(answers.values())).reshape(-1, 3)
        sizes = self.fleet.sizes[list(answers)]
        whole = np.isfinite(table).all(axis=1) & (sizes > 0)
        if not whole.any():
            return found
        accuracy, loss, _ = np.average(table[whole], axis=0, weights=sizes[whole])
        own = float(table[whole, 2].mean())
        if self.server is not None:
            return Scores(found.accuracy, found.loss, own)
        return Scores(float(accuracy), float(loss), own)

    def losses(self, models: Sequence[Tensor], clients: Sequence[int]) -> NDArray[np.float64]:
        """The mean training loss of every model on every one of these clients: clients x models."""
        records = self._records(models)

        def read(reply: RecordDict) -> NDArray[np.float64]:
            told = np.asarray(read_config(reply, "losses").get("losses", []), dtype=np.float64)
            if told.shape != (len(models),):
                raise BadRecord(f"it told {len(told)} losses of {len(models)} models")
            return told

        return self._rows(self._ask(LOSSES, clients, lambda client: records, read), clients, "losses")

    def gradients(self, model: Tensor, clients: Sequence[int]) -> NDArray[np.float32]:
        """Every client's full-data gradient at that model: clients x parameters."""
        records = self._records([model])

        def read(reply: RecordDict) -> NDArray[np.float64]:
            found: NDArray[np.float64] = one_vector(reply, "gradient", self.layout.trained).numpy().astype(np.float64)
            return found

        answers = self._ask(GRADIENT, clients, lambda client: records, read)
        return self._rows(answers, clients, "gradient").astype(np.float32)

    def _records(self, models: Sequence[Tensor]) -> RecordDict:
        return RecordDict({"models": models_record(models), "terms": ConfigRecord(asdict(self.terms))})

    def _ask(
        self,
        kind: str,
        clients: Sequence[int],
        asked: Callable[[int], RecordDict],
        read: Callable[[RecordDict], T],
    ) -> dict[int, T]:
        """What these clients answer; who does not is left out, and the log says so."""
        found: dict[int, T] = {}
        open_ = set(clients)

        def take(client: int, reply: Reply) -> None:
            open_.discard(client)
            try:
                if isinstance(reply, Failure):
                    raise BadRecord(reply.reason)
                found[client] = read(reply)
            except (BadRecord, TypeError, ValueError) as error:
                self.crew.tell(f"client {client} ({self.crew.names[client]}) did not answer {kind}: {error}")

        for client in clients:
            node = self.crew.node(client)
            if node is None:
                take(client, Failure("it is not connected"))
            else:
                self.post.send(node, kind, asked(client), partial(take, client))
        self.post.work(lambda: not open_)
        return dict(sorted(found.items()))

    def _rows(self, found: dict[int, NDArray[np.float64]], clients: Sequence[int], what: str) -> NDArray[np.float64]:
        """A row a client; in place of one that did not answer, the mean of the others."""
        whole = {client: row for client, row in found.items() if np.isfinite(row).all()}
        if not whole:
            raise RunFailed(f"no device told its {what}")
        missing = [client for client in clients if client not in whole]
        if missing:
            self.crew.tell(f"in place of the {what} of clients {missing} stands the mean of the others'")
        row_of = {client: row for row, client in enumerate(whole)}
        table = np.stack(list(whole.values()))
        table = np.concatenate([table, table.mean(axis=0, keepdims=True)])  # the last row is for those who are missing
        return table[[row_of.get(client, len(whole)) for client in clients]]
