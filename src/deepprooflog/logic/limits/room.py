"""Room for what a builtin is about to build: refused before, where it cannot fit.

A watchdog ends work between two bytecodes; one call that builds a list of 10^12 cells or a text of
gigabytes is over before it can. So sizes are looked at first, and what is too large is ISO's
`resource_error(memory)`, which `catch/3` takes.
"""

from __future__ import annotations

from deepprooflog.logic.limits.watch import available, current, resident, size_text
from deepprooflog.syntax.numerals import resource_error

# Characters of the longest text that is built.
MOST_CHARACTERS = 1 << 25

# Bytes of a list cell with a variable in it, and of a variable in a compound's argument.
CELL = 200
ARGUMENT = 80

# Things that need no look: they take some megabytes.
_FEW = 1 << 15


def require_room(count: int, each: int, what: str) -> None:
    """Refuse to build `count` things of `each` bytes where they cannot fit in memory.

    >>> require_room(10**15, CELL, "a list of 10^15 cells")
    Traceback (most recent call last):
    deepprooflog.errors.PrologError: resource_error(memory): a list of 10^15 cells does not fit ...
    """
    if count <= _FEW:
        return
    left = room()
    if left is not None and count * each > left:
        raise resource_error(
            "memory", f"{what} does not fit into the {size_text(left)} of memory that are left"
        )


def room() -> int | None:
    """The bytes that may still be used: what the machine has left and `max_memory` allows."""
    left = available()
    watch = current()
    used = resident() if watch is not None else 0
    while watch is not None:
        if watch.ceiling is not None:
            own = max(watch.ceiling - used, 0)
            left = own if left is None else min(left, own)
        watch = watch.outer
    return left


def require_text(length: int) -> None:
    """Refuse to build a text of more than `MOST_CHARACTERS`."""
    if length > MOST_CHARACTERS:
        raise resource_error(
            "memory", f"a text of {length:,} characters is longer than {MOST_CHARACTERS:,}"
        )
