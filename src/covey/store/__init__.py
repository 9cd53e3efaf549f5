"""The run store: one SQLite file for runs, rounds and events, one folder a run for its checkpoints."""

from covey.store.doctor import Health, examine
from covey.store.repair import repair
from covey.store.rows import Damage, RunRecord
from covey.store.runs import Store

__all__ = ["Damage", "Health", "RunRecord", "Store", "examine", "repair"]
