"""`python -m deepprooflog` is `dprl`."""

from __future__ import annotations

import sys

from deepprooflog.cli import main

if __name__ == "__main__":
    sys.exit(main())
