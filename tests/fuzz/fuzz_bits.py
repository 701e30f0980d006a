"""One bit of one file of a run, changed."""

from __future__ import annotations

from fuzz.damage import flipped
from fuzz.fuzz_checkpoints import spoil
from fuzz.rounds import Rounds, Tally

PROMISE = "a run with one bit changed gives the same values or is refused with one message"
QUICK = 37


def attack(rounds: Rounds) -> Tally:
    """Flip a bit in each case, read the file, and put it back."""
    return spoil(rounds, flipped)
