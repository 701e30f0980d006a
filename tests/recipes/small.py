"""A run small enough for tests: the 8 × 8 digits, few sums, few epochs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SETTINGS = {"n": 2, "sums": 24, "epochs": 4, "batch": 8, "average": 0.9, "augment": "affine"}


def train_small(out: Path, resume: bool = False, **given: Any) -> dict[str, object]:
    """Train the small recipe into a folder."""
    pytest.importorskip("sklearn", reason="scikit-learn brings the 8 × 8 digits")
    from deepprooflog.recipes.addition.run import train

    options = {**SETTINGS, **given}
    return train("digits-addition", options, out, resume=resume, progress=False)
