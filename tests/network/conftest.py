"""Max-min sharing and flow simulation as the textbook says them, slow and plain, to compare the fast ones with."""

import math
from types import SimpleNamespace

import pytest


def max_min(paths, capacity):
    """Raise all open flows by the least room that a link has for each of its own, then hold those on the full link."""
    rates = [0.0] * len(paths)
    left = list(capacity)
    open_flows = set(range(len(paths)))
    while open_flows:
        users = {link: sum(link in paths[f] for f in open_flows) for link in range(len(left))}
        rise, full = min((left[link] / n, link) for link, n in users.items() if n)
        for f in open_flows:
            rates[f] += rise
            for link in paths[f]:
                left[link] -= rise
        open_flows -= {f for f in open_flows if full in paths[f]}
    return rates


def simulate(jobs, capacity):
    """Completion times of (start, path, latency, size); rates are worked out anew at every event."""
    done = [start + latency if not path or not size else None for start, path, latency, size in jobs]
    left = {i: job[3] for i, job in enumerate(jobs) if done[i] is None}
    now = 0.0
    while left:
        active = [i for i in left if jobs[i][0] + jobs[i][2] <= now]
        rates = max_min([jobs[i][1] for i in active], capacity)
        coming = min((jobs[i][0] + jobs[i][2] for i in left if i not in active), default=math.inf)
        leaving = min((now + left[i] / rate for i, rate in zip(active, rates, strict=True)), default=math.inf)
        then = min(coming, leaving)
        for i, rate in zip(active, rates, strict=True):
            left[i] -= rate * (then - now)
            if left[i] <= 1e-9 * jobs[i][3]:
                done[i] = then
                del left[i]
        now = then
    return done


@pytest.fixture(scope="session")
def reference():
    return SimpleNamespace(max_min=max_min, simulate=simulate)
