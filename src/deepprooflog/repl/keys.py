"""One key, without Enter, from the terminal."""

from __future__ import annotations

import os
import sys


def read_key() -> str:
    """The next key; empty at the end of the input. Ctrl-C interrupts, as elsewhere."""
    if sys.platform == "win32":
        import msvcrt

        key = msvcrt.getwch()
        if key == "\x03":
            raise KeyboardInterrupt
        return key
    import select
    import termios
    import tty

    where = sys.stdin.fileno()
    before = termios.tcgetattr(where)
    try:
        tty.setcbreak(where, termios.TCSADRAIN)
        found = os.read(where, 1)
        # An arrow is several bytes, and one key.
        while found == b"\x1b" and select.select([where], [], [], 0.01)[0]:
            os.read(where, 1)
        return found.decode("latin-1")
    finally:
        termios.tcsetattr(where, termios.TCSADRAIN, before)
