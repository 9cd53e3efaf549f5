"""covey with its default settings, whole rounds as `covey run` does them, store and checkpoints included.

The run is one of 1,000 rounds that is stopped when enough of them have been timed: what covey does once for a run, such
as compiling, is in the first round, which is not counted. `--way` is `plain` (no evaluation, as for the others) or
`evaluating` (covey's default: after every round, on the whole global test set).
"""

from __future__ import annotations

import tempfile

import numpy as np
import torch
from networks import COVEY_NAMES
from work import Watch, answer, given

import covey
from covey.models import build_model

ROUNDS = 1000


def main() -> None:
    work = given()
    x, y, test_x, test_y = (work.array(name) for name in ("x", "y", "test_x", "test_y"))
    classes = work.build()(torch.from_numpy(x[:1])).shape[1]
    parts = tuple(np.arange(work.rows(i).start, work.rows(i).stop) for i in range(work.clients))
    nothing = (np.zeros(0, dtype=np.int64),) * work.clients
    data = covey.FleetData("peers", x, y, test_x, test_y, parts, nothing, classes)
    fleet = covey.Fleet(np.stack([np.bincount(y[own], minlength=classes) for own in parts]), data=data)
    name = COVEY_NAMES.get(work.model, work.model)
    module = build_model(name, data.shape, classes, 0, dtype=torch.from_numpy(x).dtype)
    before = work.loss(module)
    watch = Watch()

    def look(_: covey.Report) -> bool:
        watch.round_over()
        return len(watch.stamps) == work.all_rounds

    with tempfile.TemporaryDirectory() as out:
        done = covey.run(
            covey.FedAvg(sample=work.cohort / work.clients),
            fleet,
            model=name,
            rounds=ROUNDS,
            lr=work.lr,
            batch=work.batch,
            evaluate_every=1 if work.way == "evaluating" else ROUNDS,
            out=out,
            callbacks=[look],
        )
    answer(watch, before, work.loss(done.load_into(module)))


if __name__ == "__main__":
    main()
