"""The built site: no warnings, every link leads somewhere, nothing is fetched from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import deepprooflog as dpl

ROOT = Path(__file__).parents[1]
# What a browser fetches by itself, by tag; `a` is followed by people only.
FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
    "link": "href",
}
STYLE_FETCH = re.compile(r"@import|url\(\s*['\"]?(?:https?:)?//")


@dataclass
class Page(HTMLParser):
    """What one page of the site refers to, and what may be referred to in it."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in FETCHED and FETCHED[tag] in values:
            self.fetched.append(values[FETCHED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_is_built(pages: dict[Path, Page], site: Path) -> None:
    built = {path.relative_to(site).with_suffix("").as_posix() for path in pages}
    docs = ROOT / "docs"
    assert {p.relative_to(docs).with_suffix("").as_posix() for p in docs.rglob("*.md")} <= built


def test_links_lead_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https"):
                if not re.fullmatch(r"[\w.-]+\.[a-z]{2,}(:\d+)?", parts.netloc):
                    broken.append(f"{path.name}: {link}")
                continue
            if parts.scheme:
                assert parts.scheme in ("mailto", "data"), f"{path.name}: {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if path.name == "404.html":  # its links are from the root of a server
                target = path.parent / unquote(parts.path).lstrip("/")
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                broken.append(f"{path.name}: {link}")
            elif parts.fragment and target in pages:
                anchor = unquote(parts.fragment)
                if anchor not in pages[target].anchors and not anchor.startswith("__"):
                    broken.append(f"{path.name}: {link}")
    assert not broken, "\n".join(broken)


def test_nothing_is_fetched_from_elsewhere(pages: dict[Path, Page], site: Path) -> None:
    for path, page in pages.items():
        outside = [url for url in page.fetched if urlsplit(url).netloc]
        assert not outside, f"{path.name}: {outside}"
    for sheet in site.rglob("*.css"):
        assert not STYLE_FETCH.search(sheet.read_text(encoding="utf-8")), sheet.name


def test_formulas_are_mathml(pages: dict[Path, Page]) -> None:
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert 'class="math"' not in text, f"{path.name}: a formula was left as LaTeX"
        assert "$<code>" not in text, f"{path.name}: a formula was left as LaTeX"
        # Browsers ignore variants of letters: a program would be P, like the matrix.
        assert "mathvariant" not in text, path.name
    mathematics = next(path for path in pages if path.name == "mathematics.html")
    letters = set(re.findall(r"<mi>(\W|\w)</mi>", mathematics.read_text(encoding="utf-8")))
    assert set("𝒫𝒩ℛℒ𝒟𝒮𝒬𝒢𝒜𝒞𝐞𝔼𝕀") <= letters


def test_reference_has_every_public_name(pages: dict[Path, Page]) -> None:
    anchors = set().union(*(page.anchors for page in pages.values()))
    public = {f"deepprooflog.{name}" for name in dpl.__all__ if name != "kg"}
    public |= {f"deepprooflog.kg.{name}" for name in dpl.kg.__all__}
    assert not sorted(public - anchors)
