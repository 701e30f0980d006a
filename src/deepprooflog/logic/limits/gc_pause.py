"""Garbage collection kept out of the way while many long-lived objects are made.

Goals, facts and indexes are made by the million, hold no cycles and stay: a collector that looks
through them again and again costs up to half the time, the more the larger the graph, and finds
nothing. What is not in a cycle is freed at once with or without it.

The collector belongs to the whole process: it is switched on again when the last block of all
threads has ended.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_blocks: dict[int, int] = {}  # how many blocks each thread is in
_enabled_before = False


@contextmanager
def gc_paused() -> Iterator[None]:
    """Within the block the cycle collector is off; it is switched on again at the end.

    >>> with gc_paused():
    ...     gc.isenabled()
    False
    """
    before = depth()
    restore(before + 1)
    try:
        yield
    finally:
        restore(before)


def depth() -> int:
    """How many blocks this thread is in."""
    return _blocks.get(threading.get_ident(), 0)


def restore(depth: int) -> None:
    """Let this thread be in so many blocks: those that an interruption left open end here."""
    global _enabled_before
    thread = threading.get_ident()
    if _blocks.get(thread, 0) == depth:
        return
    with _lock:
        none = not _blocks
        if depth:
            _blocks[thread] = depth
        else:
            _blocks.pop(thread, None)
        if none:
            _enabled_before = gc.isenabled()
            gc.disable()
        elif not _blocks and _enabled_before:
            gc.enable()
