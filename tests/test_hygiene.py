"""The tree as a stranger finds it: self-contained, plain text, nothing left lying about."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILT = {".git", ".venv", "build", "dist", "runs"}


def tree() -> list[Path]:
    """The files under version control or about to be; without git, all but what is built."""
    try:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
        found = [ROOT / name for name in listed.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        found = [path for path in ROOT.rglob("*") if not ignored(path)]
    return sorted(path for path in found if path.is_file())


def ignored(path: Path) -> bool:
    """What .gitignore leaves out, for a tree that came without git."""
    parts = path.relative_to(ROOT).parts
    caches = any(part == "__pycache__" or re.fullmatch(r"\.\w+_cache", part) for part in parts)
    return caches or bool(BUILT & set(parts)) or ".hypothesis" in parts


EVERY = tree()
PICTURES = [path for path in EVERY if path.suffix == ".png"]
FILES = [path for path in EVERY if path not in PICTURES]

# Each pattern is written so that it does not match its own text here.
FORBIDDEN = {
    "a path outside the project": re.compile(r"\.\./shared|/work/[a-z]"),
    "a ticket's number": re.compile(r"\bissue #?\d|\bissues sho[w]\b", re.IGNORECASE),
    "a merge conflict": re.compile(r"^(<{7}|>{7}) ", re.MULTILINE),
    "work left undone": re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b"),
}
ALLOWED = {".ci/run": {"a path outside the project"}}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        pytest.fail(f"{relative(path)} is not text")


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_stands_alone(path: Path) -> None:
    """No file speaks of where or how it was made, or of work left undone."""
    text = text_of(path)
    for what, pattern in FORBIDDEN.items():
        found = pattern.search(text)
        if found and what not in ALLOWED.get(relative(path), set()):
            line = text.count("\n", 0, found.start()) + 1
            pytest.fail(f"{relative(path)}:{line}: {what}: {found.group()!r}")


@pytest.mark.parametrize(
    "path", [path for path in FILES if relative(path).startswith("tests/")], ids=relative
)
def test_skips_only_what_others_bring(path: Path) -> None:
    """A module of the library that fails to import is a failure, and no reason to skip a test."""
    own = re.search(r"""importorskip\(\s*["']deepprooflog""", text_of(path))
    assert own is None, f"{relative(path)}: {own}"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_is_small(path: Path) -> None:
    assert path.stat().st_size <= 300_000


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_is_tidy_text(path: Path) -> None:
    """Unix line ends, no blanks at line ends, one newline at the end."""
    raw = path.read_bytes()
    assert b"\r" not in raw
    text = text_of(path)
    if not text or path.suffix in {".svg", ".html", ".json"}:
        return
    assert text.endswith("\n")
    trailing = [n for n, line in enumerate(text.split("\n"), 1) if line != line.rstrip(" \t")]
    assert not trailing, f"{relative(path)}: blanks at the end of lines {trailing}"


@pytest.mark.parametrize("path", PICTURES, ids=relative)
def test_pictures_are_those_of_the_pages(path: Path) -> None:
    """A picture is small, stands in docs/images/, and a page shows it."""
    assert path.stat().st_size <= 300_000
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert path.parent == ROOT / "docs" / "images"
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert any(path.name in page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.parametrize(
    "name", ["README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "constraints.txt"]
)
def test_what_a_project_has(name: str) -> None:
    assert ROOT / name in FILES


def test_contributing_names_each_dependency() -> None:
    """Every run-time dependency in pyproject.toml stands in CONTRIBUTING.md with its reason."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for dependency in project["dependencies"]:
        name = re.match(r"[\w-]+", dependency).group()  # type: ignore[union-attr]
        assert f"| `{name}` |" in page


def test_constraints_pin_every_dependency() -> None:
    """Without a pin, pip is free to fetch another version, and torch's gigabytes with it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().splitlines()
    pinned = {line.split("==")[0].replace("_", "-") for line in pins if "==" in line}
    extras = project["optional-dependencies"]
    # The tests run with every other extra.
    assert set(re.findall(r"\w+", extras["test"][0])) == {"deepprooflog", *extras} - {"test"}
    for dependency in project["dependencies"] + [d for ds in extras.values() for d in ds]:
        name = re.match(r"[\w-]+", dependency)
        assert name is not None
        assert name[0].replace("_", "-") in {*pinned, "deepprooflog"}
