"""A line on standard error that says how far a long run is; silent where no one watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from deepprooflog.terminal import Own, visible

SECONDS_BETWEEN = 0.1


@runtime_checkable
class TextStream(Protocol):
    """Where the line is written: standard error, or what takes its place."""

    def write(self, text: str, /) -> int: ...
    def flush(self) -> None: ...
    def isatty(self) -> bool: ...


class Progress:
    """The live line of a run of `total` steps."""

    def __init__(
        self,
        total: int,
        stream: TextStream | None = None,
        clock: Callable[[], float] = time.perf_counter,
        done: int = 0,
    ) -> None:
        self.total = max(total, 1)
        self.stream: TextStream = sys.stderr if stream is None else stream
        self.clock = clock
        self.first, self.began = done, clock()
        self.shown = float("-inf")
        self.width = 0
        self.live = self.stream.isatty()

    def begin(self, done: int) -> None:
        """Count from here: the time left is told by what is done from now on."""
        self.first, self.began = done, self.clock()

    def update(self, done: int, text: str) -> None:
        """Show the share done, a text and the time left, at most ten times a second."""
        now = self.clock()
        if not self.live or (now - self.shown < SECONDS_BETWEEN and done < self.total):
            return
        self.shown = now
        share = done / self.total
        fresh = done - self.first
        left = (now - self.began) / fresh * (self.total - done) if fresh else float("inf")
        filled = round(20 * share)
        bar = "█" * filled + "░" * (20 - filled)
        line = f"{bar} {share:4.0%}  {visible(text, keep='')}  {duration(left)} left"
        self.stream.write(Own("\r" + line.ljust(self.width)))
        self.stream.flush()
        self.width = len(line)

    def close(self) -> None:
        """End the line."""
        if self.live and self.width:
            self.stream.write("\n")
            self.stream.flush()
            self.width = 0


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(7.4), duration(75), duration(7322), duration(float("inf"))
    ('7 s', '1:15', '2:02:02', '?')
    """
    if seconds == float("inf"):
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d}"
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
