"""An app for Flower out of two functions: where a device's data is, and what the model is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from covey.errors import BadValue

if TYPE_CHECKING:
    from flwr.app import Context
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
    from torch import nn

    from covey.flower.client import Node, Samples


@dataclass(frozen=True, eq=False, kw_only=True)
class App:
    """A federation's app: `App(data=my_data, model=my_model, classes=10)`; Flower finds its `server` and `client`.

    data: called on a device with its node's configuration; gives x and y, or x, y, test_x and test_y
    model: makes the network; without it the setting `model` names one
    classes: how many classes there are
    test: the server's own test set, x and y; without it models are scored by the devices
    test_fraction: the share of its samples that a device keeps for its own test, where `data` gives x and y alone
    """

    data: Callable[[Node], Samples]
    model: Callable[[], nn.Module] | None = None
    classes: int
    test: Callable[[], tuple[Any, Any]] | None = None
    test_fraction: float = 0.2

    def __post_init__(self) -> None:
        if not callable(self.data):
            raise BadValue("data", type(self.data).__name__, "a function that takes a node's configuration")
        if not 0 <= self.test_fraction < 1:
            raise BadValue("test_fraction", self.test_fraction, "a share from 0 up and below 1")

    @cached_property
    def client(self) -> ClientApp:
        """What runs on devices."""
        from covey.flower.client import Device, client_app

        return client_app(Device(self.data, self.model, self.classes, self.test_fraction))

    @cached_property
    def server(self) -> ServerApp:
        """What runs on the server; devices make it too, so what only a server needs is imported when it runs."""
        from flwr.serverapp import ServerApp

        app = ServerApp()

        @app.main()
        def main(grid: Grid, context: Context) -> None:
            from covey.flower.server import Headquarters

            Headquarters(self.model, self.classes, self.test, self.test_fraction > 0).main(grid, context)

        return app
