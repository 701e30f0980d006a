"""Garbage collection kept out of the way while many long-lived objects are made.

Goals, facts and indexes are made by the million, hold no cycles and stay: a collector that looks
through them again and again costs up to half the time, the more the larger the graph, and finds
nothing. What is not in a cycle is freed at once with or without it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Within the block the cycle collector is off; it is switched on again at the end.

    >>> with no_collection():
    ...     gc.isenabled()
    False
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
