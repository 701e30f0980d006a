"""How far work has come, for those who watch it: goals explored, depth, candidates scored.

    with counting() as counts: …    while the block runs, what its thread does is noted in counts

Searches note their counts where they look at their budget, which costs a look-up where nobody
counts. `candidates` beside `candidates_of` is so many of so many.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_here = threading.local()


@contextmanager
def counting() -> Iterator[dict[str, int]]:
    """A block whose counts are kept in the dictionary that it gives; another thread may read it.

    >>> with counting() as counts:
    ...     note(goals=12, depth=3)
    ...     note(goals=20)
    >>> counts
    {'goals': 20, 'depth': 3}
    """
    outer = counts_here()
    found: dict[str, int] = {}
    _here.counts = found
    try:
        yield found
    finally:
        _here.counts = outer


def counts_here() -> dict[str, int] | None:
    """The counts of the innermost block of this thread; None where nobody counts."""
    found: dict[str, int] | None = getattr(_here, "counts", None)
    return found


def note(**counts: int) -> None:
    """Say how far the work has come; later counts of a name take the place of earlier ones."""
    found = counts_here()
    if found is not None:
        found.update(counts)
