"""A line on standard error that says how far a long run is; silent where no one watches.

In a notebook it is a bar of tqdm's where tqdm is installed, and else the same line.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

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
        notebook = stream is None and in_notebook()
        self.live = self.stream.isatty() or notebook
        self.notebook = notebook
        self._bar: Any = None

    def begin(self, done: int) -> None:
        """Count from here: the time left is told by what is done from now on."""
        self.first, self.began = done, self.clock()

    def update(self, done: int, text: str) -> None:
        """Show the share done, a text and the time left, at most ten times a second."""
        now = self.clock()
        if not self.live or (now - self.shown < SECONDS_BETWEEN and done < self.total):
            return
        self.shown = now
        if self.notebook and self._bar is None:
            self._bar = notebook_bar(self.total)
        if self._bar is not None:
            self._bar.n = done
            self._bar.set_description_str(visible(text, keep=""), refresh=False)
            self._bar.refresh()
            return
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
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self.live and self.width:
            self.stream.write("\n")
            self.stream.flush()
            self.width = 0


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, whose streams are no terminals and yet are watched."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return "IPKernelApp" in getattr(shell, "config", {})


def notebook_bar(total: int) -> Any:
    """A bar of tqdm's, with widgets where the notebook has them; None without tqdm."""
    try:
        with warnings.catch_warnings():
            # Without ipywidgets tqdm takes a bar of text, and says so.
            warnings.simplefilter("ignore")
            tqdm = import_module("tqdm.auto").tqdm
    except ImportError:
        return None
    return tqdm(total=total, leave=True)


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
