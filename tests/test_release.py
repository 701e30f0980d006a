"""What is released: the wheel holds every file of the package, the sdist what the tests need.

`make release-check` installs both in new environments and runs them.
"""

from __future__ import annotations

import importlib.util
import re
import runpy
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import deepprooflog as dpl

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "release_check.py"))
# By kind, so that a pattern that leaves out one kind of file is seen even where all are left out.
KINDS = (
    "deepprooflog/py.typed",
    "deepprooflog/recipes/kg.toml",
    "deepprooflog/recipes/programs/addition.pl",
    "deepprooflog/recipes/programs/addition_mask.pl",
    "deepprooflog/data/village/train.pl",
    "deepprooflog/data/village/rules.pl",
    "deepprooflog/data/countries/rules.pl",
)


def package_files() -> set[str]:
    """Every file below the package, the pages of a server and the data among them."""
    found = (path for path in (SOURCE / "deepprooflog").rglob("*") if path.is_file())
    names = {path.relative_to(SOURCE).as_posix() for path in found}
    return {name for name in names if "__pycache__" not in name}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: pip install 'deepprooflog[test]'")
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return out


def test_the_wheel_holds_the_package(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name for name in names if name.startswith("deepprooflog/")}
    assert package == package_files()
    assert set(KINDS) <= package
    (metadata,) = {name for name in names if name.endswith(".dist-info/METADATA")}
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(metadata).decode()
    assert f"\nVersion: {dpl.__version__}\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_an_index_page_has_no_link_that_leads_nowhere(built: Path) -> None:
    """The long description stands alone: no link or picture is relative to the project."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        head, _, page = archive.read(metadata).decode().partition("\n\n")
    assert "Description-Content-Type: text/markdown" in head
    assert page.startswith("# DeepProofLog\n") and "$ dprl prob two_ways.pl" in page
    links = re.findall(r"\]\(([^)\s]+)\)", page)
    assert all(link.startswith(("https://", "http://")) for link in links)
    assert "`docs/serve.md`" in page and "<!--" not in page
    for path in re.findall(r"`((?:docs/|[A-Z]+\.)[\w/.-]+)`", page):
        assert (ROOT / path).exists(), path


def test_the_sdist_holds_the_project(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {f"src/{name}" for name in package_files()} <= names
    there = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "Makefile", "constraints.txt"}
    assert there <= names
    for folder in ("tests", "docs", "examples", "scripts", "benchmarks"):
        assert any(name.startswith(f"{folder}/") for name in names)


def test_the_version_stands_in_one_place() -> None:
    """Nobody else writes it down, so that nobody else can be wrong."""
    assert SCRIPT["version_of"](ROOT) == dpl.__version__
    for name in ("pyproject.toml", "README.md", "Makefile", "mkdocs.yml"):
        assert dpl.__version__ not in (ROOT / name).read_text(encoding="utf-8"), name


def test_notes_of_a_release() -> None:
    """The section of the version and nothing of its neighbours."""
    text = "# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [1.0.0] - 2026-03-04\n\n- Old.\n"
    notes = SCRIPT["release_notes"]
    assert notes(text, "1.1.0.dev0") == "## [Unreleased]\n\n- New.\n\n"
    assert notes(text, "1.0.0") == "## [1.0.0] - 2026-03-04\n\n- Old.\n"
    with pytest.raises(SystemExit, match=r"no section '## \[1.1.0\]'"):
        notes(text, "1.1.0")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "\n### Added\n" in notes(changelog, dpl.__version__)
    # What is built beside notes that the version does not have is told, and built.
    told = SCRIPT["left_out"](text.replace("- New.", "- New,\n  and wide.\n- Newer."), "1.0.0")
    assert told.startswith("note: 2 notes stand under [Unreleased], and not in those of 1.0.0")
    assert SCRIPT["left_out"](text, "1.1.0.dev0") == ""
    assert SCRIPT["left_out"](text.replace("- New.\n\n", ""), "1.0.0") == ""


def test_the_citation() -> None:
    """The software, and the paper with its seven authors as a reference."""
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0" and cited["license"] == "Apache-2.0"
    assert {"message", "title", "authors"} <= set(cited)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d[^]]*)\] - (\S+)$", changelog, re.MULTILINE)
    assert newest is not None  # the release that is cited is the last one
    assert (cited["version"], str(cited["date-released"])) == newest.groups()
    (paper,) = cited["references"]
    assert len(paper["authors"]) == 7 and paper["authors"][0]["family-names"] == "Jiao"
    assert paper["url"].endswith("2511.08581")
