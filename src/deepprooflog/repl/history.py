"""The lines that were typed at the top level, kept from session to session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from deepprooflog.data.places import cache

VARIABLE = "DEEPPROOFLOG_HISTORY"
KEPT = 1000


def history_file() -> Path:
    """The file that `DEEPPROOFLOG_HISTORY` names, or one in the user's cache."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else cache() / "history"


def past_lines() -> list[str]:
    """The last lines of earlier sessions, oldest first; none where they cannot be read."""
    try:
        text = history_file().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return list(_each_once(text.splitlines()))[-KEPT:]


def remember(line: str) -> None:
    """Add a line to the file, which only the user may read.

    A history that cannot be written is no reason to stop a session.
    """
    path = history_file()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(path, flags, 0o600), "a", encoding="utf-8") as file:
            file.write(line.replace("\n", " ") + "\n")


def _each_once(lines: list[str]) -> Iterator[str]:
    """Lines without those that repeat the one before."""
    before = None
    for line in lines:
        if line and line != before:
            yield line
        before = line
