"""Where and on what a fleet trains: all that a price needs and a plan does not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from covey.errors import BadValue
from covey.fleet import Fleet
from covey.network import crew, devices
from covey.network.crew import Windows
from covey.network.devices import Device
from covey.network.placement import Placement, place
from covey.network.routing import Router
from covey.network.spec import network_from
from covey.network.topology import Link, Node
from covey.plan import Place
from covey.profile import is_profile, split
from covey.seeds import generator
from covey.words import number

DEFAULT_DEVICE = "phone-5gflops"


@dataclass(frozen=True, kw_only=True)
class Site:
    """A fleet on a network.

    `devices`, `sizes` and `slowdown` say what client i runs on, how many samples it holds and how many times as long it
    takes; `flops` are operations per sample, forward and backward; `epochs` and `rule` are the run's. Clients are awake
    always unless there are `windows`. Servers merge on `server`, at once if there is none. `operation` is what clients
    do whenever their models meet (secure aggregation, backdoor detection), at the price of their devices. Where `free`
    says at which edge every client is, transfers inside an edge take no time and no links, as in FedAvg-IC's simulator.
    """

    placement: Placement
    devices: Sequence[Device]
    sizes: Sequence[int]
    flops: float
    model_bytes: float
    epochs: int = 1
    rule: str = "sgd"
    slowdown: Sequence[float] | None = None
    windows: Windows | None = None
    server: Device | None = None
    operation: str | None = None
    free: Sequence[int] | None = None

    def __post_init__(self) -> None:
        clients = len(self.placement.clients)
        for name in ("devices", "sizes", "slowdown", "free"):
            given = getattr(self, name)
            if given is not None and len(given) != clients:
                raise BadValue(name, len(given), f"one per client, which are {clients}")
        if self.operation is not None:
            for kind in {kind.name: kind for kind in self.devices}.values():
                kind.group_seconds(self.operation, 1)  # refuses what it does not know

    @cached_property
    def router(self) -> Router:
        """Paths, found once for all rounds."""
        return Router(self.placement.network)

    @property
    def parameters(self) -> int:
        """How many numbers of 4 bytes a model has."""
        return int(self.model_bytes // 4)

    def node(self, place: Place) -> Node:
        """Where a place of a plan is; plans with more groups than the fleet has edges count edges round."""
        edges = self.placement.edges
        return edges[place.number % len(edges)] if place.kind == "edge" else self.placement.node(place)

    def is_free(self, source: Place, target: Place) -> bool:
        """Whether a transfer between the two takes no time since both are at one edge."""
        if self.free is None or "cloud" in (source.kind, target.kind):
            return False
        return self._edge(source) == self._edge(target)

    def _edge(self, place: Place) -> int:
        assert self.free is not None
        return self.free[place.number] if place.kind == "client" else place.number % len(self.placement.edges)

    def train_seconds(self, client: int, epochs: int) -> float:
        """Computing time of one training of that client."""
        seconds = self.devices[client].train_seconds(
            self.sizes[client], flops=self.flops, epochs=epochs, rule=self.rule
        )
        return seconds if self.slowdown is None else seconds * self.slowdown[client]


def make_site(
    fleet: Fleet,
    *,
    network: str,
    flops: float,
    model_bytes: float,
    link: str | None = None,
    trunk: str | None = None,
    device: str | None = None,
    server_device: str | None = None,
    stragglers: str | None = None,
    day: float | None = None,
    group_operation: str | None = None,
    inside_edges: Literal["counted", "free"] | None = None,
    epochs: int = 1,
    rule: str = "sgd",
    seed: int = 0,
) -> Site:
    """A site from words: `network` by name, `link` and `trunk` as 10MB/s,1ms, `stragglers` as share:slowdown.

    `device` is one or a mix of them; `day` the length of the day in whose windows clients are awake; `inside_edges`
    whether transfers inside an edge are free. The seed deals out devices and stragglers; the network is the same for
    every seed.

    >>> import numpy as np
    >>> site = make_site(Fleet(np.ones((4, 2))), network="star", link="1MB/s", flops=1e9, model_bytes=4e6)
    >>> float(site.placement.network.capacity[0]), site.train_seconds(0, epochs=3)  # 3 epochs x 2 samples x 1 / 5
    (1000000.0, 1.2)
    """
    clients = fleet.clients
    edge_of = [fleet.edge(i) for i in range(clients)]
    wire, backbone = (None if text is None else Link.parse(text) for text in (link, trunk))
    built = network_from(network, edge_of, link=wire, trunk=backbone)
    if day is not None and fleet.window_of is None:
        raise BadValue("day", day, "a length for fleets whose clients have windows; set windows")
    awake = None
    if day is not None and fleet.window_of is not None:
        awake = Windows(fleet.window_of, int(max(fleet.window_of)) + 1, day)
    slow = None
    if stragglers is not None:
        share, slowdown = _share(stragglers)
        slow = crew.stragglers(clients, share=share, slowdown=slowdown, rng=generator(seed, "stragglers")).tolist()
    kinds = crew.mix(device or DEFAULT_DEVICE, clients, generator(seed, "devices"))
    if group_operation is not None and is_profile(group_operation):
        measured, operation = split(group_operation)
        curve = {group_operation: measured.group_cost(operation)}
        kinds = tuple(replace(kind, group_costs={**kind.group_costs, **curve}) for kind in kinds)
    return Site(
        placement=place(built, edge_of),
        devices=kinds,
        sizes=np.asarray(fleet.sizes).tolist(),
        flops=flops,
        model_bytes=model_bytes,
        epochs=epochs,
        rule=rule,
        slowdown=slow,
        windows=awake,
        server=None if server_device is None else devices.device(server_device),
        operation=group_operation,
        free=edge_of if inside_edges == "free" else None,
    )


def _share(text: str) -> tuple[float, float]:
    share, _, slowdown = text.partition(":")
    allowed = "share:slowdown, such as 0.1:5"
    return number(share, "stragglers", allowed), number(slowdown, "stragglers", allowed)
