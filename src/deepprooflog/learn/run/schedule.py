"""Learning rates over a training run, as a function of the share of it that is done.

>>> [round(rate("cosine", s), 3) for s in (0.0, 0.025, 0.05, 0.525, 1.0)]
[0.0, 0.5, 1.0, 0.5, 0.0]
>>> [round(rate("one-cycle", s), 3) for s in (0.0, 0.15, 0.3, 0.65, 1.0)]
[0.04, 0.52, 1.0, 0.5, 0.0]
"""

from __future__ import annotations

import math
from typing import Literal, get_args

RateSchedule = Literal["constant", "cosine", "one-cycle"]
SCHEDULES: tuple[str, ...] = get_args(RateSchedule)

WARM = {"cosine": 0.05, "one-cycle": 0.3}
FIRST = {"cosine": 0.0, "one-cycle": 0.04}


def rate(schedule: str, share: float) -> float:
    """What to multiply the learning rate by when `share` of the steps are done."""
    if schedule == "constant":
        return 1.0
    warm, first = WARM[schedule], FIRST[schedule]
    if share < warm:
        if schedule == "cosine":
            return share / warm
        return first + (1 - first) * (1 - math.cos(math.pi * share / warm)) / 2
    return (1 + math.cos(math.pi * (share - warm) / (1 - warm))) / 2
