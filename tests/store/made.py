"""Runs made without training, and what a resumed one would go on from."""

import torch

from covey.checkpoint import Checkpoint


def checkpoint(round):
    return Checkpoint({"models": [torch.full((5,), float(round))], "round": round})


def with_rounds(store, count, every=1, **config):
    run = store.create("fedavg-digits", config)
    with store.owned(run):
        for round in range(1, count + 1):
            store.add_round(run, round, {"accuracy": round / 10}, checkpoint(round) if round % every == 0 else None)
    store._settler.wait()  # what runs behind has run
    return run


def finished(store, count=3, **config):
    run = with_rounds(store, count, **config)
    store.mark(run, "finished", {"run": run, "accuracy": count / 10})
    return run


def rewound(store, run):
    """Where a resumed run goes on: the round the database says, which must be the checkpoint's."""
    found = store.rewind(run)
    if found is None:
        return 0
    assert found[1].data["round"] == found[0]
    assert found[1].data["models"][0].tolist() == [found[0]] * 5
    return found[0]


def left(store, name="fedavg"):
    """A run that was made and that nobody holds any more, as when its process has died."""
    run = store.create(name, {})
    with store.owned(run):
        pass
    return run
