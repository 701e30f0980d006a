"""Signals while a run trains: the step in hand is finished and saved before the run ends.

Ctrl-C and SIGTERM ask a learner to stop; it looks whether it was asked at each place where its
state is whole. A second signal stops at once, and leaves the last checkpoint as it was.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

from deepprooflog.errors import Stopped
from deepprooflog.learn.run.processes import processes

SIGNALS = (signal.SIGINT, signal.SIGTERM)
Result = TypeVar("Result")

TOLD = b"\nstopping when the step in hand is done and saved; once more stops at once\n"


def stop_at_once(number: int, frame: FrameType | None) -> None:
    """What a signal does where nothing is to be saved."""
    raise Stopped(signal=number)


class Stop:
    """Whether a run was asked to stop; called at each place where its state is whole."""

    def __init__(self, save: Callable[[], object]) -> None:
        self.save = save
        self.asked: int | None = None
        self.whole = False  # True while nothing is changed, as when the run is only looked at

    def ask(self, number: int, frame: FrameType | None) -> None:
        """What a signal does."""
        if self.whole or self.asked is not None:
            raise Stopped(signal=number)
        self.asked = number
        with suppress(OSError):
            # Not through sys.stderr, which may be in the middle of a line.
            os.write(2, TOLD)

    def __call__(self) -> None:
        """Save and stop, where the run was asked to; of several processes, where any was."""
        self.asked = processes().highest(self.asked or 0) or None
        if self.asked is not None:
            self.save()
            raise Stopped(signal=self.asked)

    def looking(self, look: Callable[[], Result]) -> Result | None:
        """What `look` finds; as it changes nothing, a signal need not wait: None where one came.

        Several processes look together: there it waits.
        """
        self.whole = not processes().several
        try:
            return look()
        except Stopped as stopped:
            self.asked = stopped.signal
            return None
        finally:
            self.whole = False


@contextmanager
def stopping(save: Callable[[], object] | None, close: Callable[[], object]) -> Iterator[Stop]:
    """Within, a signal waits until the run can be saved; `close` ends the line of progress.

    Only the main thread is told of signals. Handlers that someone else has set stay, as do all
    where there is nothing to save.
    """
    stop = Stop(save or (lambda: None))
    try:
        with handled(stop.ask if save is not None else None):
            yield stop
    finally:
        close()
    if stop.asked is not None:
        # After the last step, which saves by itself.
        raise Stopped(signal=stop.asked)


@contextmanager
def handled(handler: Callable[[int, FrameType | None], Any] | None) -> Iterator[None]:
    """Within, SIGINT and SIGTERM go to a handler, where they went to Python's own or to ours."""
    before: dict[signal.Signals, Any] = {}
    if handler is not None and threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in SIGNALS}
        before = {number: old for number, old in before.items() if _ours(old)}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _ours(handler: Any) -> bool:
    # SIG_IGN stays: a shell starts its background jobs so.
    return handler in (signal.SIG_DFL, signal.default_int_handler, stop_at_once)
