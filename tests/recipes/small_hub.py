"""A model hub of one machine: the few endpoints that a hub's client needs to push and to fetch.

Everything is kept as regular files of one revision. As the real one does, it knows no repository
that was not created, and it says which files a commit brought.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


class SmallHub(ThreadingHTTPServer):
    """Repositories by name, each its files by path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def small_hub() -> Iterator[SmallHub]:
    """A hub that answers until the block ends."""
    hub = SmallHub()
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: SmallHub
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if path == "/api/repos/create":
            name = f"me/{json.loads(body)['name']}"
            self.server.repositories.setdefault(name, {})
            return self._json({"url": f"{self.server.address}/{name}", "name": name, "id": name})
        if path == "/api/validate-yaml":
            return self._json({"errors": [], "warnings": []})
        owner, repository, action, _ = path.removeprefix("/api/models/").split("/", 3)
        name = f"{owner}/{repository}"
        files = self.server.repositories.get(name)
        if files is None:
            return self._missing("RepoNotFound")
        if action == "preupload":
            asked = json.loads(body)["files"]
            modes = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in asked
            ]
            return self._json({"files": modes})
        assert action == "commit", path
        for line in body.splitlines():
            entry = json.loads(line)
            if entry["key"] == "file":
                files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
        url = f"{self.server.address}/{name}/commit/{_revision(files)}"
        return self._json({"success": True, "commitOid": _revision(files), "commitUrl": url})

    def do_GET(self, body: bool = True) -> None:
        path = unquote(urlsplit(self.path).path)
        if path.startswith("/api/models/"):
            parts = path.removeprefix("/api/models/").split("/")
            files = self.server.repositories.get("/".join(parts[:2]))
            if files is None:
                return self._missing("RepoNotFound")
            if parts[2:3] == ["tree"]:
                return self._json([
                    {"type": "file", "path": key, "size": len(value), "oid": _oid(value)}
                    for key, value in files.items()
                ])  # fmt: skip
            siblings = [{"rfilename": key} for key in files]
            name = "/".join(parts[:2])
            about = {"_id": name, "id": name, "modelId": name, "sha": _revision(files)}
            return self._json({**about, "siblings": siblings, "private": False, "tags": []})
        parts = path.lstrip("/").split("/", 4)
        if len(parts) < 5 or parts[2] != "resolve":
            return self._missing("EntryNotFound")
        file = parts[4]
        files = self.server.repositories.get("/".join(parts[:2]))
        if files is None:
            return self._missing("RepoNotFound")
        if file not in files:
            return self._missing("EntryNotFound")
        headers = {"X-Repo-Commit": _revision(files), "ETag": f'"{_oid(files[file])}"'}
        return self._answer(200, files[file], {**headers, "Accept-Ranges": "bytes"}, body)

    def do_HEAD(self) -> None:
        self.do_GET(body=False)

    def _json(self, value: object) -> None:
        self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _missing(self, code: str) -> None:
        self._answer(404, b"{}", {"X-Error-Code": code, "X-Error-Message": "not here"})

    def _answer(
        self, status: int, content: bytes, headers: dict[str, str], body: bool = True
    ) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


def _oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _revision(files: dict[str, bytes]) -> str:
    return hashlib.sha1(json.dumps({k: _oid(v) for k, v in files.items()}).encode()).hexdigest()
