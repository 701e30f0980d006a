"""The page on extending, followed to the letter in a copy of the package.

A ```python block whose first line is `# path.py` is a new file; a ```diff block whose first line is
`# path.py` changes one, its pieces between `@@`; a ```toml block is a recipe, a ```text block
holds rules; ```sh blocks are run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEW_FILES = 7


def _titled(text: str) -> tuple[str, str]:
    title, _, body = text.partition("\n")
    return title.removeprefix("# "), body


def _changed(text: str, piece: str) -> str:
    """The text with a piece of a diff applied: its old lines are there, once."""
    lines = piece.splitlines()
    old = "\n".join(line[1:] for line in lines if not line.startswith("+"))
    new = "\n".join(line[1:] for line in lines if not line.startswith("-"))
    assert text.count(f"{old}\n") == 1, f"the page changes what is not there:\n{old}"
    return text.replace(f"{old}\n", f"{new}\n")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as the page leaves it, and the page's recipe."""
    folder = tmp_path_factory.mktemp("extended")
    package = folder / "src" / "deepprooflog"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "deepprooflog", package, ignore=ignore)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=ignore)
    for language, text in FENCE.findall(PAGE):
        name, body = _titled(text)
        if language == "python":
            assert not (package / name).exists()
            (package / name).write_text(body, encoding="utf-8")
        elif language == "diff":
            changed = (package / name).read_text(encoding="utf-8")
            for piece in body.split("@@\n"):
                changed = _changed(changed, piece)
            (package / name).write_text(changed, encoding="utf-8")
        elif language in ("toml", "text"):
            (folder / name).write_text(body, encoding="utf-8")
    return folder


COMMANDS = [line for language, text in FENCE.findall(PAGE) for line in text.splitlines()
            if language == "sh"]  # fmt: skip


def test_the_page_has_seven_extensions() -> None:
    """Each is one new file and changes one that is there."""
    languages = [language for language, _ in FENCE.findall(PAGE)]
    assert languages.count("python") == languages.count("diff") == len(COMMANDS) == NEW_FILES


@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_added_can_be_used(command: str, extended: Path, tmp_path: Path) -> None:
    program, *arguments = shlex.split(command)
    assert program == "dprl"
    arguments = [str(tmp_path / "run") if a == "RUN" else a for a in arguments]
    run = subprocess.run(
        [sys.executable, "-m", "deepprooflog", *arguments], cwd=extended, text=True,
        capture_output=True, env={**os.environ, "PYTHONPATH": str(extended / "src")},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    if arguments[0] == "solve":
        assert run.stdout.split() == ["N", "=", "3"]  # 13 is 1101 in binary
    elif "coins.toml" in arguments:
        # Seven of eight flips were heads.
        assert run.stdout.split() == ["heads:", "0.88"]
        asked = subprocess.run(
            [sys.executable, "-m", "deepprooflog", "query", str(tmp_path / "run"), "coin(X)"],
            cwd=extended, text=True, capture_output=True,
            env={**os.environ, "PYTHONPATH": str(extended / "src")},
        )  # fmt: skip
        assert asked.returncode == 0, asked.stderr
        assert "X = h" in asked.stdout
    else:
        assert "p_success" in run.stdout
