"""Puts this folder's parent on the path, so that tests import their oracles as `oracles.name`."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = str(Path(__file__).parent.parent)
if TESTS not in sys.path:
    sys.path.insert(0, TESTS)
