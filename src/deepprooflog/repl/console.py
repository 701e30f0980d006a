"""What the top level prints: text for people, or one JSON object for each line it was given."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from deepprooflog.repl.lines import Lines
from deepprooflog.terminal import Own, json_visible

MORE = frozenset(";n \t")
STOP = frozenset(".\r\n\x04q")
KEYS = "; or the space bar for the next answer, Enter or . to stop"


class Console:
    """Where answers go; `json` turns all text off and records on."""

    def __init__(self, lines: Lines, json: bool = False) -> None:
        self.lines = lines
        self.json = json

    def reply(self, text: str, record: Mapping[str, Any]) -> None:
        """A whole result, as text or as JSON."""
        if self.json:
            self.record(record)
        else:
            print(text, flush=True)

    def record(self, record: Mapping[str, Any]) -> None:
        """One JSON object on one line."""
        sys.stdout.write(Own(json_visible(json.dumps(record)) + "\n"))
        sys.stdout.flush()

    def answer(self, text: str, last: bool) -> bool:
        """Show one of several answers; True when the next one is wanted."""
        if self.json:
            return True
        if not self.lines.live:
            print(text, flush=True)
            return True
        print(text, end="." if last else " ", flush=True)
        if last:
            print(flush=True)
            return False
        while True:
            key = self.lines.key()
            if key and key in MORE:
                print(";", flush=True)
                return True
            if not key or key in STOP:
                print(".", flush=True)
                return False
            print(f"\n{KEYS}\n{text}", end=" ", flush=True)

    def note(self, message: str) -> None:
        """A remark about a result, where it does not mix with the result."""
        sys.stdout.flush()
        print(f"note: {message}", file=sys.stderr, flush=True)
