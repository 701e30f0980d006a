"""`python -m deepprooflog.cli` is `dprl`."""

from __future__ import annotations

import sys

from deepprooflog.cli import main

sys.exit(main())
