"""The guard before every route: whose page may ask, how much, and what a page may load.

A page of another origin can make a browser send requests here. It cannot give them our Host (a
name of its own that points to this machine has its own), nor hide its Origin: both are compared
with where we listen. Bodies are bounded before they are read.
"""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY = 4_000_000
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANY = ("0.0.0.0", "::", "")
CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


@dataclass(frozen=True)
class Listening:
    """Where the server listens, and by which names it may be called."""

    host: str = "127.0.0.1"
    port: int = 8765

    @property
    def url(self) -> str:
        """The address of the page.

        >>> Listening("::1", 80).url, Listening("0.0.0.0", 8765).url
        ('http://[::1]:80/', 'http://127.0.0.1:8765/')
        """
        name = "127.0.0.1" if self.host in ANY else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}/"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK or self.host.startswith("127.")

    def is_ours(self, authority: str) -> bool:
        """True for `host:port` of this server.

        >>> here = Listening("127.0.0.1", 8765)
        >>> here.is_ours("localhost:8765"), here.is_ours("evil.example:8765")
        (True, False)
        >>> here.is_ours("127.0.0.1:80"), here.is_ours("[::1]:8765")
        (False, True)
        """
        try:
            parts = urlsplit(f"//{authority}")
            name, port = parts.hostname, parts.port
        except ValueError:
            return False
        if name is None or (80 if port is None else port) != self.port or "@" in authority:
            return False
        if name in LOOPBACK or name == self.host.casefold():
            return True
        # On all interfaces any address is ours, but of names only the machine's own: another name
        # may be one that a stranger has pointed here.
        return self.host in ANY and (_is_address(name) or name == socket.gethostname().casefold())

    def is_our_origin(self, origin: str) -> bool:
        """True for the origin of our own page.

        >>> here = Listening("127.0.0.1", 8765)
        >>> here.is_our_origin("http://127.0.0.1:8765"), here.is_our_origin("null")
        (True, False)
        """
        scheme, _, authority = origin.partition("://")
        return scheme in ("http", "https") and self.is_ours(authority)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """An ASGI application that lets only proper requests through to another."""

    def __init__(self, app: AsgiApp, listening: Listening, most_body: int = MOST_BODY) -> None:
        self.app = app
        self.listening = listening
        self.most_body = most_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        fault = self._fault(scope)
        if fault is not None:
            await refuse(send, *fault)
            return
        body = await self._body(receive)
        if body is None:
            await refuse(send, 413, self._too_large())
            return
        told = False

        async def again() -> Message:
            nonlocal told
            if told:
                return await receive()
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*_kept(message["headers"]), *HEADERS]}
            await send(message)

        await self.app(scope, again, guarded)

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body, however it comes; None for one that goes on too long."""
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self.most_body:
                return None
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> str:
        return f"a request has at most {self.most_body:,} bytes"

    def _fault(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self.listening.is_ours(hosts[0]):
            return 403, "this server is not called that: the Host header names another"
        for origin in headers.get("origin", []):
            if not self.listening.is_our_origin(origin):
                return 403, "a page of another origin may not ask this server"
        # Requests that browsers send without an Origin say where they come from in this way.
        foreign = {"cross-site", "same-site"} & set(headers.get("sec-fetch-site", []))
        if foreign and scope["path"].startswith("/api"):
            return 403, "a page of another site may not ask this server"
        if scope["method"] in ("POST", "PUT", "PATCH"):
            kind = headers.get("content-type", [""])[0].split(";")[0].strip().lower()
            if kind != "application/json":
                return 415, "the Content-Type must be application/json"
        length = headers.get("content-length", ["0"])[0]
        if not length.isdigit():
            return 400, "the Content-Length is no number"
        return (413, self._too_large()) if int(length) > self.most_body else None


def _kept(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    own = {name for name, _ in HEADERS}
    return [(name, value) for name, value in headers if name.lower() not in own]


async def refuse(send: Send, status: int, message: str) -> None:
    """Answer with an error, in the form that every error has."""
    error = {"message": message, "line": None, "column": None, "hint": None}
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    start = {"type": "http.response.start", "status": status, "headers": [*headers, *HEADERS]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
