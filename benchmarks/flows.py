"""How fast the flow simulator is, and how far it is from SimGrid.

    python -m benchmarks.flows [--json] [--flows 10000] [--pods 16] [--seed 0]
    python -m benchmarks.flows --simgrid [--flows 2000] [--pods 8]      needs Debian's python3-simgrid

Transfers between random hosts of a fat-tree (16 pods: 1,024 hosts, 6,144 directed links of 10 MB/s and 1 ms):
`equal` sends models of 1 MB all at once, `mixed` sizes drawn from an exponential distribution of mean 1 MB all at once,
`staggered` the same over 5 seconds, `far` only between pods (all latencies equal) over 5 seconds. `cpu_seconds` is
routing and simulation without waiting for other processes of the machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from covey.network.flows import FlowSimulator
from covey.network.topology import Network, fat_tree
from covey.seeds import generator

SCENARIOS = ("equal", "mixed", "staggered", "far")
PYTHON = "/usr/bin/python3"


@dataclass
class Transfer:
    source: str
    target: str
    size: int
    start: float


def transfers(name: str, network: Network, count: int, seed: int) -> Iterator[Transfer]:
    rng = generator(seed, "flows", name)
    for _ in range(count):
        if name == "far":
            blocks = rng.choice(len(network.blocks), 2, replace=False)
            ends = [network.blocks[b][rng.integers(len(network.blocks[b]))] for b in blocks]
        else:
            ends = [network.hosts[h] for h in rng.choice(len(network.hosts), 2, replace=False)]
        size = 1_000_000 if name == "equal" else 1 + int(rng.exponential(1e6))
        start = float(rng.uniform(0, 5)) if name in ("staggered", "far") else 0.0
        yield Transfer(str(ends[0]), str(ends[1]), size, start)


def run(network: Network, work: list[Transfer]) -> tuple[FlowSimulator, dict[str, float]]:
    began, used = time.perf_counter(), time.process_time()
    simulator = FlowSimulator(network)
    for job in work:
        simulator.start(job.source, job.target, job.size, at=job.start)
    routed = time.perf_counter()
    simulator.run_until_idle()
    took = {"routing_seconds": routed - began, "simulation_seconds": time.perf_counter() - routed}
    return simulator, took | {"cpu_seconds": time.process_time() - used, "simulated_seconds": simulator.now}


def simgrid(
    network: Network, work: list[Transfer], simulator: FlowSimulator, *, native: bool
) -> tuple[list[float], float]:
    links = [
        {"capacity": float(c), "latency": float(s)} for c, s in zip(network.capacity, network.latency, strict=True)
    ]
    flows = [asdict(job) | {"path": simulator.router.path(job.source, job.target)} for job in work]
    with tempfile.TemporaryDirectory() as folder:
        scenario, times = Path(folder, "scenario.json"), Path(folder, "times.json")
        scenario.write_text(json.dumps({"native_latency": native, "links": links, "flows": flows}))
        script = Path(__file__).with_name("simgrid_check.py")
        began = time.perf_counter()
        done = subprocess.run([PYTHON, script, scenario, times], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"SimGrid did not run under {PYTHON} (Debian: python3-simgrid):\n{done.stderr}")
        return json.loads(times.read_text()), time.perf_counter() - began


def measure(name: str, network: Network, count: int, seed: int, *, check: bool) -> dict[str, float | str | int]:
    work = list(transfers(name, network, count, seed))
    simulator, took = run(network, work)
    result: dict[str, float | str | int] = {"scenario": name, "hosts": len(network.hosts), "flows": count} | took
    if check:
        theirs, seconds = simgrid(network, work, simulator, native=name == "far")
        ours = np.array([simulator.finished[i] - job.start for i, job in enumerate(work)])
        gap = np.abs(ours / (np.array(theirs) - [job.start for job in work]) - 1)
        result |= {
            "simgrid_seconds": seconds,
            "largest_deviation": float(gap.max()),
            "mean_deviation": float(gap.mean()),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flows", type=int, default=10_000)
    parser.add_argument("--pods", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenario", choices=SCENARIOS, help="only this one")
    parser.add_argument("--simgrid", action="store_true", help="compare every completion time with SimGrid's")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    network = fat_tree(options.pods)
    names = [options.scenario] if options.scenario else list(SCENARIOS)
    results = [measure(name, network, options.flows, options.seed, check=options.simgrid) for name in names]
    if options.json:
        print(json.dumps(results, indent=2))
        return
    for result in results:
        print(
            "  ".join(
                f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in result.items()
            )
        )


if __name__ == "__main__":
    main()
