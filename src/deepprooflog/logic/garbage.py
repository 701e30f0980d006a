"""Garbage collection kept out of the way while many long-lived objects are made.

Goals, facts and indexes are made by the million, hold no cycles and stay: a collector that looks
through them every few hundred allocations costs up to half the time and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Allocations between two collections of the youngest objects; Python's own default is 700.
ALLOCATIONS = 50_000


@contextmanager
def rare_collection() -> Iterator[None]:
    """Within the block the collector runs rarely; its settings are put back at the end.

    >>> with rare_collection():
    ...     gc.get_threshold()[0] >= ALLOCATIONS
    True
    """
    before = gc.get_threshold()
    # A threshold of 0 is a collector switched off by the user.
    if before[0]:
        gc.set_threshold(max(before[0], ALLOCATIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
