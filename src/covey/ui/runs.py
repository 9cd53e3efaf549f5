"""The runs of a store as the page lists them: a thousand of them in one look at the database."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from covey.cli.runs import latest, sound
from covey.store import RunRecord, Store

SHOWN = ("accuracy", "own_accuracy", "loss", "traffic_bytes", "wall_seconds")
NEWEST = (
    "SELECT r.run, r.round, r.metrics FROM rounds r "
    "JOIN (SELECT run, max(round) AS round FROM rounds GROUP BY run) n ON r.run = n.run AND r.round = n.round"
)
LABELS = "SELECT run, kind, text FROM events WHERE round = 0 AND kind IN ('tag', 'note')"


def run_rows(out: Path) -> list[dict[str, Any]]:
    """One row per run, the latest first, and one for each that cannot be read."""
    with Store(out, read_only=True) as store:
        records = store.runs()
        newest = {run: (round, metrics) for run, round, metrics in store.database.read(NEWEST)}
        labels: dict[str, list[tuple[str, str]]] = {}
        for run, kind, text in store.database.read(LABELS):
            labels.setdefault(run, []).append((str(kind), str(text)))
        rows = [_row(record, newest.get(record.run), labels.get(record.run, []), store) for record in records]
        damaged = [{"name": d.run or str(out), "status": "damaged", "damage": d.what} for d in store.damaged()]
    return [*reversed(rows), *damaged]


def _row(
    record: RunRecord, newest: tuple[int, str] | None, labels: list[tuple[str, str]], store: Store
) -> dict[str, Any]:
    last = _metrics(newest) | {k: v for k, v in record.summary.items() if v is not None}
    if newest is not None and "accuracy" not in last:  # not every round is evaluated
        last = latest(sound(store.rounds(record.run)))
    (known,) = sound([{name: last.get(name) for name in (*SHOWN, "round")}])
    return {
        "name": record.run,
        "status": record.status,
        "algorithm": str(record.config.get("algorithm", "")),
        "data": str(record.config.get("data", "")),
        "round": newest[0] if newest is not None else 0,
        "rounds": record.config.get("rounds"),
        **{name: known.get(name) for name in SHOWN},
        "tags": [text for kind, text in labels if kind == "tag"],
        "note": "; ".join(text for kind, text in labels if kind == "note"),
        "started": datetime.fromtimestamp(record.created).isoformat(" ", "seconds"),
        "seed": record.config.get("seed"),
    }


def _metrics(newest: tuple[int, str] | None) -> dict[str, Any]:
    if newest is None:
        return {}
    try:
        found = json.loads(newest[1])
    except (ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def stamp(out: Path) -> tuple[Any, ...]:
    """What changes whenever the store does."""
    found = []
    for name in ("covey.db", "covey.db-wal"):
        try:
            stat = (out / name).stat()
            found.append((stat.st_mtime_ns, stat.st_size))
        except OSError:
            found.append((0, 0))
    return tuple(found)
