"""One thread, also for the processes that tests start; no deadlines on busy machines."""

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.pop("COVEY_DATA", None)

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
settings.register_profile("busy-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy-machine")
