"""`covey ui`: the page, on this machine only unless asked."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.console import console, plain
from covey.cli.options import DEFAULT_OUT, Out
from covey.errors import BadData, BadValue

if TYPE_CHECKING:
    import uvicorn

    from covey.ui.guard import Guard


def ui(
    port: Annotated[int, typer.Option(min=0, max=65535, help="port; 0 takes any that is free")] = 8421,
    host: Annotated[str, typer.Option(help="address; anything but loopback asks for a token")] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(help="token to ask for; made where one is needed", envvar="COVEY_UI_TOKEN")
    ] = None,
    out: Out = DEFAULT_OUT,
) -> None:
    """A local web page on the run store: runs live, comparisons, groupings, plans; start, stop and resume runs."""
    try:
        import uvicorn  # noqa: F401, so that one sentence says what is missing

        from covey.ui.app import make_app
    except ImportError as error:
        raise BadData(f"covey ui needs FastAPI and uvicorn, and {error.name} is not here; install covey[ui]") from None
    if token is not None and (len(token) < 16 or not token.isascii() or not token.isalnum()):
        raise BadValue("token", "…", "at least 16 letters and digits")
    if token is None and not _is_loopback(host):
        token = secrets.token_hex(16)
    bound = bind(host, port)
    address, number = bound.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    query = f"/?token={token}" if token else "/"
    console().print(f"http://{shown}:{number}{query}", soft_wrap=True, highlight=False)
    console().print(
        f"[dim]runs in {plain(out)}; Ctrl-C ends the page, not the runs it has started[/dim]", soft_wrap=True
    )
    server_of(make_app(Path(out), token=token)).run(sockets=[bound])


def server_of(app: Guard) -> uvicorn.Server:
    """A server for the app: no more than it needs, and as it ends, nobody is kept listening."""
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.closing = True
            await super().shutdown(sockets)

    config = uvicorn.Config(app, log_level="error", lifespan="off", ws="none", timeout_graceful_shutdown=2)
    return Server(config)


def bind(host: str, port: int) -> socket.socket:
    """The socket, so that the address can be told before the first request."""
    try:
        (family, kind, *_, where), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        bound = socket.socket(family, kind)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(where)
        bound.listen(128)  # who comes before the server is ready waits
    except (OSError, UnicodeError) as error:
        raise BadValue(
            "port", port, f"one that is free on {host} ({getattr(error, 'strerror', None) or error})"
        ) from None
    return bound


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
