"""The watchdog: a budget's seconds and memory hold wherever the work is.

    with watched(budget) as budget: …      within the block the budget's clock runs

Searches look at their budget now and then and return what they have found. What does not look (a
unification without end, a term of 2^60 leaves, a loop in a builtin) is ended from outside: one
daemon thread looks at all blocks now and then and raises `Overrun` in the thread that works, at
its next bytecode. It does so only while the block runs, `GRACE` after the deadline, and once; it
does so again where that has not ended the block `AGAIN` later. Where a block ends inside another,
that one has `GRACE` from then on to tell what came of it, once.

Resident memory is read from /proc; where there is none, its peak is, which `getrusage` knows. A
block costs some microseconds, and one whose budget has neither seconds nor memory starts nothing.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from deepprooflog.errors import ProofLogError
from deepprooflog.logic.limits import gc_pause as garbage
from deepprooflog.logic.limits.budget import Budget, BudgetExceeded

PERIOD = 0.04
PERIOD_OF_MEMORY = 0.02  # where a block limits memory, which may grow by a gigabyte a second
GRACE = 0.1
AGAIN = 0.4
# Turns of a loop in which what was raised has surely arrived.
SOON = 100

# The share of `max_memory` at which searches that can stop do, so that room is left to evaluate
# what they found; and by how much memory must grow beyond the limit to be told again.
LOW = 0.8
GROWTH = 100 << 20

# State of the thread that blocks inside the work change and put back, as pairs of functions that
# read and set it: an interruption may come when it is about to be put back.
PRESERVED: list[tuple[Callable[[], Any], Callable[[Any], object]]] = [
    (garbage.depth, garbage.restore)
]

_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = (ctypes.c_ulong, ctypes.c_void_p)


class Overrun(BudgetExceeded):
    """Raised by the watchdog in the middle of the work."""

    def __init__(self, message: str | None = None) -> None:
        watch = None if message is not None else _watchdog.cause(threading.get_ident())
        if watch is None:
            super().__init__(message or "the budget ended")
        else:
            super().__init__(watch.message(), hint=watch.hint(), limit=watch.limit)


class Watch:
    """One block of work and its limits; `low` says that memory is nearly used up."""

    __slots__ = (
        "_before", "_fired", "_frame", "_time", "budget", "ceiling", "ended", "limit", "low",
        "outer", "since", "thread", "waited",
    )  # fmt: skip

    def __init__(self, budget: Budget, since: int | None = None) -> None:
        self.budget = budget
        self.thread = 0
        self.limit = "max_seconds"
        self.low = False
        self.ended = False
        self.since = since  # resident memory that is not the question's own
        self.ceiling: int | None = None
        self._fired = 0
        self._time: float | None = None  # when to raise next
        self._frame: FrameType | None = None
        self.outer: Watch | None = None
        self.waited = False
        self._before: list[Any] = []

    def __enter__(self) -> Budget:
        budget = self.budget = self.budget.start()
        if budget.deadline is None and budget.max_memory is None:
            return budget
        self._before = [get() for get, _ in PRESERVED]
        if budget.deadline is not None:
            self._time = max(budget.deadline, time.monotonic()) + GRACE
        if budget.max_memory is not None:
            if self.since is None:
                self.since = resident()
            self.ceiling = self.since + budget.max_memory
        self.thread = threading.get_ident()
        self._frame = sys._getframe(1)
        _watchdog.add(self)
        return budget

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self.thread:
            _watchdog.remove(self)
            self._frame = None
            if error is not None:
                for before, (_, put) in zip(self._before, PRESERVED, strict=False):
                    put(before)
        hidden = _hidden_overrun(error)
        if hidden is not None:
            raise hidden from None
        if isinstance(error, MemoryError) or _torch_has_no_memory(error):
            self.limit = "max_memory"
            raise BudgetExceeded(
                "there was not enough memory", hint=self.hint(), limit=self.limit
            ) from None

    def wait(self) -> None:
        """Leave time to tell what came of a block inside; once, since there may be many."""
        if self._time is not None and not self.waited:
            now = time.monotonic()
            if now + GRACE > self._time:
                self._time, self.waited = now + GRACE, True

    def look(self, now: float, used: int) -> bool:
        """True when the work is to be ended; `used` is the resident memory."""
        if self._time is not None and now > self._time:
            self.limit = "max_seconds"
            self._time = now + AGAIN
        elif self.ceiling is not None and used > self.ceiling + self._fired * GROWTH:
            self.limit = "max_memory"
            self._fired += 1
        else:
            if self.ceiling is not None and self.since is not None:
                self.low = used > self.since + LOW * (self.ceiling - self.since)
            return False
        self.low = True
        return self._inside()

    def _inside(self) -> bool:
        """True while the thread is in the function that holds the block."""
        frame = sys._current_frames().get(self.thread)
        while frame is not None and frame is not self._frame:
            frame = frame.f_back
        return frame is not None

    def message(self) -> str:
        if self.limit == "max_memory":
            assert self.budget.max_memory is not None
            return f"the work did not end within {size_text(self.budget.max_memory)} of memory"
        return f"the work did not end within {self.budget.max_seconds:g} s"

    def hint(self) -> str:
        return f"a larger {self.limit}, or a question that needs less"


def watched(budget: Budget | None, since: int | None = None) -> Watch:
    """A block whose budget holds; as a context manager it gives the budget, its clock running.

    Blocks nest: the tighter limits win. `since` is the resident memory that `max_memory` counts
    from, where the work began earlier.

    >>> with watched(Budget(max_seconds=0.05)):
    ...     while True:
    ...         pass
    Traceback (most recent call last):
    deepprooflog.logic.limits.watch.Overrun: the work did not end within 0.05 s
    try: a larger max_seconds, or a question that needs less
    """
    return Watch(budget or Budget(), since)


def current() -> Watch | None:
    """The innermost block with limits that this thread is in."""
    return _watchdog.of(threading.get_ident())


def limit_reached(budget: Budget, watch: Watch | None, goals: int, atoms: int) -> str | None:
    """The limit at which a search that can stop by itself does, or None.

    `watch` is the innermost block that it is in: where that or a block around it has nearly used up
    its `max_memory`, what was found can still be evaluated.
    """
    if budget.max_goals is not None and goals > budget.max_goals:
        return "max_goals"
    if budget.max_atoms is not None and atoms > budget.max_atoms:
        return "max_atoms"
    if budget.late:
        return "max_seconds"
    while watch is not None:
        if watch.low:
            return "max_memory"
        watch = watch.outer
    return None


class _Watchdog:
    """The blocks that run, and the thread that looks at them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._running: list[Watch] = []
        self._innermost: dict[int, Watch] = {}
        self._causes: dict[int, Watch] = {}  # why work was ended, by thread
        self._told: set[int] = set()  # threads in which something was raised
        self._started = False
        self._asleep = False

    def of(self, thread: int) -> Watch | None:
        return self._innermost.get(thread)

    def cause(self, thread: int) -> Watch | None:
        return self._causes.get(thread)

    def add(self, watch: Watch) -> None:
        with self._lock:
            watch.outer = self._innermost.get(watch.thread)
            if watch.outer is not None and watch.outer.ended:
                watch.outer = None
            self._innermost[watch.thread] = watch
            self._running.append(watch)
            if not self._started:
                self._started = True
                threading.Thread(target=self._guard, name="budget", daemon=True).start()
            elif self._asleep:
                self._asleep = False
                self._bell.release()

    def remove(self, watch: Watch) -> None:
        """End a block; what was raised and has not arrived yet arrives here, and goes no further.

        Python can take back what has not arrived, but leaves its signal set: every function would
        look for pending exceptions from then on, and one that is traced would do so for ever.
        """
        while True:
            try:
                with self._lock:
                    watch.ended = True
                    self._forget(watch)
                    if watch.outer is not None:
                        watch.outer.wait()
                    told = watch.thread in self._told
                    self._told.discard(watch.thread)
                if told:
                    for _ in range(SOON):
                        pass
                return
            except Overrun:
                continue

    def _forget(self, watch: Watch) -> None:
        if watch in self._running:
            self._running.remove(watch)
        inner = self._innermost.get(watch.thread)
        if inner is watch:
            if watch.outer is None:
                del self._innermost[watch.thread]
                self._causes.pop(watch.thread, None)
            else:
                self._innermost[watch.thread] = watch.outer

    def _guard(self) -> None:
        while True:
            with self._lock:
                self._asleep = not self._running
            if self._asleep:
                self._bell.acquire()
            with self._lock:
                self._look()
                memory = any(watch.ceiling is not None for watch in self._running)
            time.sleep(PERIOD_OF_MEMORY if memory else PERIOD)

    def _look(self) -> None:
        now = time.monotonic()
        used = resident() if any(w.ceiling is not None for w in self._running) else 0
        told: set[int] = set()
        for watch in list(self._running):
            if watch.look(now, used) and watch.thread not in told:
                told.add(watch.thread)
                self._causes[watch.thread] = watch
                self._told.add(watch.thread)
                _raise_in(watch.thread, id(Overrun))


_watchdog = _Watchdog()


def _after_fork() -> None:
    global _watchdog
    _watchdog = _Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def resident() -> int:
    """The resident memory of this process in bytes; its peak where there is no /proc.

    >>> resident() > 1_000_000
    True
    """
    try:
        with open("/proc/self/statm", "rb", buffering=0) as f:
            return int(f.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return _peak()


def _peak() -> int:
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def available() -> int | None:
    """The memory that the machine has left, in bytes; None where it does not say."""
    try:
        with open("/proc/meminfo", "rb") as f:
            for line in f:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def size_text(size: int) -> str:
    """Bytes for people.

    >>> size_text(500_000_000), size_text(2_500_000_000), size_text(5000)
    ('500 MB', '2.5 GB', '0.005 MB')
    """
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def _hidden_overrun(error: BaseException | None) -> Overrun | None:
    """An interruption that foreign code took for an error of its own."""
    if error is None or isinstance(error, ProofLogError):
        return None
    context = error.__context__
    while context is not None and not isinstance(context, Overrun):
        context = context.__context__
    return context


def _torch_has_no_memory(error: BaseException | None) -> bool:
    return type(error) is RuntimeError and "can't allocate memory" in str(error)


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
