"""Running the server: a socket that is ours before anyone is told, then uvicorn on it."""

from __future__ import annotations

import socket

import uvicorn

from deepprooflog.errors import DataError
from deepprooflog.serve.service import Service
from deepprooflog.serve.web.app import guarded_app
from deepprooflog.serve.web.guard import Listening


def listen(host: str, port: int) -> tuple[socket.socket, Listening]:
    """A listening socket, and where it listens; port 0 takes a free one."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError as error:
        raise DataError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="another --port (0 takes a free one) or --host",
        ) from None
    sock.listen(64)
    return sock, Listening(host, sock.getsockname()[1])


def serve(service: Service, sock: socket.socket, listening: Listening) -> None:
    """Answer until interrupted."""
    config = uvicorn.Config(
        guarded_app(service, listening), log_level="warning", access_log=False,
        server_header=False, proxy_headers=False, timeout_graceful_shutdown=1,
        limit_concurrency=200, lifespan="off", ws="none",
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[sock])
