"""What stands before every request: who may ask, from where, and how much they may send.

A page on this machine is in reach of every page the browser shows. So a request must name this host (a stranger's
domain that points here does not), must not come from another site, and on anything but loopback must bring the token.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "covey_token"
MOST_BYTES = 5_000_000  # of a request
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class TooLarge(Exception):
    """A request of more bytes than are taken."""


class Guard:
    """Refuses what must not reach the app; `token` is asked for unless it is None, and then any host may be named."""

    def __init__(self, app: App, token: str | None = None, most: int = MOST_BYTES) -> None:
        self.app, self.token, self.most = app, token, most
        self.closing = False  # set as the server ends, so that who listens is let go

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        cookies = []
        if self.token is not None and not self._known(headers):
            given = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"))).get("token", "")
            if not _same(given, self.token):
                await _answer(send, 401, "this page asks for a token; open the address that covey ui printed")
                return
            if scope["method"] == "GET" and not scope["path"].startswith("/api/"):
                await self._welcome(scope, send)
                return
            cookies = [self._cookie()]
        await self._let_in(scope, receive, send, cookies)

    def _refused(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if self.token is None and _name(host) not in LOOPBACK:
            return 403, "this page is for this machine only, and the request names another host"
        site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
        changes = scope["method"] not in ("GET", "HEAD")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "the request comes from another site"
        if site not in ("same-origin", "none") and (changes or scope["path"].startswith("/api/")):
            return 403, "the request comes from another site"
        if changes and not headers.get("content-type", "").lower().startswith("application/json"):
            return 415, "what changes something is sent as application/json"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.most:
            return 413, f"at most {self.most:,} bytes can be sent"
        return None

    def _known(self, headers: dict[str, str]) -> bool:
        assert self.token is not None
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            kept = None
        return _same(bearer, self.token) or (kept is not None and _same(kept.value, self.token))

    def _cookie(self) -> tuple[bytes, bytes]:
        return b"set-cookie", f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/".encode()

    async def _welcome(self, scope: Scope, send: Send) -> None:
        """Keep the token in a cookie and out of the address."""
        rest = [pair for pair in parse_qsl(scope["query_string"].decode("latin-1")) if pair[0] != "token"]
        path = "/" + scope["path"].lstrip("/\\")  # never to another host
        target = path + (f"?{urlencode(rest)}" if rest else "")
        headers = [(b"location", target.encode("latin-1", "replace")), self._cookie(), *_headers()]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _let_in(self, scope: Scope, receive: Receive, send: Send, cookies: list[tuple[bytes, bytes]]) -> None:
        taken, answered = 0, False

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.most:
                raise TooLarge
            return message

        async def dressed(message: Message) -> None:
            nonlocal answered
            if taken > self.most:  # whatever the app makes of it
                if not answered:
                    answered = True
                    await _answer(send, 413, f"at most {self.most:,} bytes can be sent")
                return
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *cookies, *_headers()]}
            await send(message)

        await self.app(scope, counted, dressed)


def _headers() -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _name(host: str) -> str:
    """The host without its port.

    >>> _name("localhost:8000"), _name("[::1]:8000"), _name("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


async def _answer(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), *_headers()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
