"""The page in a browser: Debian's Chromium on servers of a real run and a real program."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("fastapi", reason="fastapi is not installed")

from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from made_once import made_once
from serve.page.browsing import EXAMPLES, WAIT, NewTab, Tab, dprl, environment, server


@pytest.fixture(scope="session")
def chromium() -> str:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed (Debian: chromium)")
    return path


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """One for a file of tests: as long as it is there, no other test can run an event loop."""
    expect.set_options(timeout=WAIT)
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def new_tab(browser: Browser) -> Iterator[NewTab]:
    """A function that opens a tab: its server's address, its width, its colours."""
    contexts: list[BrowserContext] = []

    def opened(url: str, width: int = 1280, colours: str = "light", **more: str) -> Tab:
        size = {"width": width, "height": 900 if width > 500 else 740}
        context = browser.new_context(viewport=size, color_scheme=colours, **more)  # type: ignore[arg-type]
        contexts.append(context)
        tab = Tab(context.new_page(), url)
        tab.listen()
        return tab

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def village_run(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the village that ships with the package, trained in a few seconds."""
    return made_once(tmp_path_factory, "village", _train) / "run"


def _train(folder: Path) -> None:
    options = ["data=village", "prior.steps=150", "exact.steps=20", "exact.validate_every=4"]
    settings = [word for option in options for word in ("--set", option)]
    command = dprl("train", "kg", *settings, "--out", str(folder / "run"))
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def run_url(chromium: str, village_run: Path) -> Iterator[str]:
    with server(village_run) as url:
        yield url


@pytest.fixture(scope="session")
def program_url(chromium: str) -> Iterator[str]:
    with server(EXAMPLES / "umbrella.pl") as url:
        yield url


@pytest.fixture(scope="session")
def sums_run(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of sums of the small pictures, of a few epochs."""
    folder = tmp_path_factory.mktemp("sums") / "digits"
    options = ["training.epochs=20", "threads=1"]
    settings = [word for option in options for word in ("--set", option)]
    command = dprl("train", "digits-addition", *settings, "--out", str(folder))
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def sums_url(chromium: str, sums_run: Path) -> Iterator[str]:
    with server(sums_run) as url:
        yield url
