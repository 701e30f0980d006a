"""Jobs: asks with a state that others can look at, wait for and cancel."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from deepprooflog.errors import ProofLogError
from deepprooflog.serve.source import Source

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED = ("done", "failed", "cancelled")


class TooManyJobs(ProofLogError):
    """As many jobs wait as may wait."""


@dataclass(eq=False)
class Job:
    """One ask about a source: what became of it so far.

    `seconds` limits its work, which begins when a worker has loaded what it is about.
    """

    ask: str
    arguments: Mapping[str, Any]
    source: Source
    seconds: float
    number: int = 0
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: JobState = "queued"
    stage: str = "queued"
    counts: dict[str, int] = field(default_factory=dict)  # how far the stage has come
    began: float | None = None
    took: float | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    wanted: bool = True  # False from when it is cancelled
    ended: threading.Event = field(default_factory=threading.Event)

    def begin(self) -> None:
        """The worker has what it needs: the clock runs."""
        self.began = time.monotonic()

    def enter(self, stage: str) -> None:
        """Go on to a stage, of which nothing is counted yet."""
        self.stage, self.counts = stage, {}

    @property
    def spent(self) -> float:
        """The seconds that its work took so far."""
        if self.took is not None:
            return self.took
        return 0.0 if self.began is None else time.monotonic() - self.began

    def end(
        self,
        state: JobState,
        *,
        result: dict[str, Any] | None = None,
        error: dict[str, Any] | None = None,
    ) -> None:
        """Say what became of it, once."""
        if self.ended.is_set():
            return
        self.took = round(self.spent, 3)
        self.state, self.stage, self.result, self.error = state, state, result, error
        self.ended.set()

    def progress(self) -> dict[str, Any]:
        """How far it is: its stage, its counts, the seconds it has used of those it may use."""
        return {
            "stage": self.stage, "counts": dict(self.counts), "seconds": round(self.spent, 1),
            "of": self.seconds,
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as the page reads it."""
        return {
            "job": self.id, "ask": self.ask, "state": self.state, "progress": self.progress(),
            "result": self.result, "error": self.error,
        }  # fmt: skip


def stopped_error(seconds: float, *, killed: bool = False) -> dict[str, Any]:
    """The error of a job whose time was up."""
    how = "; its process was ended" if killed else ""
    return {
        "kind": "BudgetExceeded", "message": f"the work did not end within {seconds:g} s{how}",
        "hint": "more seconds, or a question that needs less", "limit": "max_seconds",
        "file": None, "line": None, "column": None, "text": None,
    }  # fmt: skip
