"""A server and a tab of the explorer, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import ConsoleMessage, Page

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
WAIT = 15_000  # milliseconds until an expectation is given up; a busy machine is slow


def dprl(*words: str) -> list[str]:
    return [sys.executable, "-m", "deepprooflog", *words]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}


@contextmanager
def server(target: Path, *options: str) -> Iterator[str]:
    """`dprl serve` on a free port; its address."""
    command = dprl("serve", str(target), "--port", "0", "--no-browser", "--json", *options)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(), cwd=EXAMPLES
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the server ended before it listened"
        yield json.loads(line)["url"]
    finally:
        process.terminate()
        process.wait(timeout=20)


@dataclass
class Tab:
    """A page of the explorer, with all it has said and asked for."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.set_default_timeout(WAIT)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def open(self, view: str = "", **parameters: str) -> Page:
        """Go to a view by its address."""
        query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        self.page.goto(f"{self.url}#/{view}{'?' if query else ''}{query}")
        return self.page

    def check(self) -> None:
        """Nothing went wrong in the page, and it asked nobody but its own server."""
        assert self.errors == []
        away = [url for url in self.requests if not url.startswith((self.url, "data:"))]
        assert away == []


NewTab = Callable[..., Tab]
