"""One thread, and a fresh cache of choices, also for the processes that tests start; no deadlines on busy machines."""

import os
import tempfile

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.pop("COVEY_DATA", None)
_cache = tempfile.TemporaryDirectory(prefix="covey-tests-")
os.environ["COVEY_CACHE"] = _cache.name

import torch  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

torch.set_num_threads(1)
settings.register_profile("busy-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy-machine")


def pytest_unconfigure():
    _cache.cleanup()
