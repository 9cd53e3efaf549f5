"""Memory does not grow with rounds, nor with the clients that take no part: measured on a process of its own."""

import json
import subprocess
import sys
import textwrap

SCRIPT = """
    import json
    import sys

    import numpy as np
    import psutil

    import covey

    rng = np.random.default_rng(0)
    clients, samples, pixels = 2000, 4, 784
    y = rng.integers(10, size=clients * samples)
    x = rng.random((len(y), pixels), dtype=np.float32)
    own = tuple(np.arange(i * samples, (i + 1) * samples) for i in range(clients))
    none = (np.zeros(0, dtype=np.int64),) * clients
    labels = np.stack([np.bincount(y[part], minlength=10) for part in own])
    fleet = covey.Fleet(labels, data=covey.FleetData("noise", x, y, x[:50], y[:50], own, none, 10))

    resident = []
    watch = lambda report: resident.append(psutil.Process().memory_info().rss / 2**20)
    settings = {"model": "softmax-regression", "rounds": 120, "batch": 2, "mode": "stacked", "evaluate_every": 20}
    done = covey.run(covey.FedAvg(sample=0.025), fleet, callbacks=[watch], **settings)
    drawn = "matplotlib.pyplot" in sys.modules
    print(json.dumps({"resident": resident, "trainings": done.summary["trainings"], "drawn": drawn}))
"""


def test_memory_is_flat_over_rounds():
    """A model has 7,850 parameters, 31 kB; 50 a round over 100 rounds are 150 MB if any of them were kept."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    resident = found["resident"]
    assert found["trainings"] == 120 * 50
    assert max(resident) - resident[19] < 10
    assert max(resident) < 1500
    assert not found["drawn"], "loading covey must leave a notebook's own pictures alone"
