"""Run a scenario of transfers through SimGrid.

    /usr/bin/python3 benchmarks/simgrid_check.py scenario.json times.json

Needs Debian's `python3-simgrid` and Debian's own interpreter, so this file imports nothing of covey. The scenario is
written by `python -m benchmarks.flows --simgrid`; the answer is the completion time of every transfer.

CM02 is set to plain max-min sharing: no bandwidth or latency factors, no TCP window limit, no acknowledgement
traffic. One thing cannot be switched off: CM02 shares a link in inverse proportion to the latency of each path. So
transfers whose paths differ in latency are given links without latency and start that much later, which is the same
model; where all latencies are equal (`native_latency`), SimGrid's own are used.
"""

import json
import sys
from pathlib import Path

from simgrid import Actor, Comm, Engine, Host, LinkInRoute, NetZone, this_actor

SETTINGS = [
    "network/model:CM02",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    "network/weight-S:0",
    "network/TCP-gamma:1e18",
    "network/crosstraffic:0",
    "maxmin/precision:1e-9",
    "surf/precision:1e-9",
    "network/maxmin-selective-update:yes",
]


def simulate(scenario: dict) -> list:
    native = scenario["native_latency"]
    engine = Engine(["simgrid_check", "--log=root.thresh:error", *(f"--cfg={setting}" for setting in SETTINGS)])
    zone = NetZone.create_full_zone("world")
    links = []
    for number, link in enumerate(scenario["links"]):
        made = zone.create_link(f"link-{number}", link["capacity"])
        made.set_latency(link["latency"] if native else 0.0)
        links.append(made.seal())
    names = sorted({flow[end] for flow in scenario["flows"] for end in ("source", "target")})
    hosts = {name: zone.create_host(name, 1e9).seal() for name in names}
    routed = set()
    for flow in scenario["flows"]:
        ends = flow["source"], flow["target"]
        if ends not in routed:
            routed.add(ends)
            route = [LinkInRoute(links[number]) for number in flow["path"]]
            zone.add_route(hosts[ends[0]].netpoint, hosts[ends[1]].netpoint, None, None, route, False)
    zone.seal()

    comms = {}

    def send_all() -> None:
        def moment(number: int) -> float:
            flow = scenario["flows"][number]
            late = 0.0 if native else sum(scenario["links"][link]["latency"] for link in flow["path"])
            return flow["start"] + late

        for number in sorted(range(len(scenario["flows"])), key=moment):
            flow = scenario["flows"][number]
            this_actor.sleep_until(moment(number))
            comms[number] = Comm.sendto_async(hosts[flow["source"]], hosts[flow["target"]], flow["size"])
        for comm in comms.values():
            comm.wait()

    Actor.create("sender", Host.by_name(names[0]), send_all)
    engine.run()
    return [comms[number].finish_time for number in range(len(comms))]


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:3])
    target.write_text(json.dumps(simulate(json.loads(source.read_text()))))
