"""The mass that a goal's labels leave over: 1 − Σ of the labels, from the fractions as written.

Found from the sum of float64 weights it would be lost where it matters: beside a loop of weight
1 − 10⁻¹⁶ there is nothing left of 10⁻¹⁶.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deepprooflog.logic.choice import Choice, Weigher
from deepprooflog.logic.clause import Constant

Floats = NDArray[np.float64]
Slack = Callable[[Sequence[int]], Floats]
"""For some goals of a graph, 1 − Σ of their steps' weights; nan where only the weights tell."""


def unknown_slack(nodes: Sequence[int]) -> Floats:
    """Nothing is known apart from the weights."""
    return np.full(len(nodes), np.nan)


def label_slack(first: NDArray[np.int64], choices: Sequence[Choice]) -> Slack:
    """The slack of goals whose steps are weighed by constant labels.

    The steps of goal n are choices[first[n]] … choices[first[n + 1] − 1].
    """
    known: dict[tuple[int, ...], float] = {}

    def slack(nodes: Sequence[int]) -> Floats:
        found = np.full(len(nodes), np.nan)
        for i, n in enumerate(nodes):
            steps = choices[int(first[n]) : int(first[n + 1])]
            if not steps or steps[0].weigher is not Weigher.LABEL:
                continue
            labels = [c.clause.label for c in steps if c.clause is not None]
            key = tuple([id(label) for label in labels])
            if key not in known:
                values = [label.value for label in labels if isinstance(label, Constant)]
                whole = len(values) == len(steps)
                known[key] = float(1 - sum(values, Fraction(0))) if whole else np.nan
            found[i] = known[key]
        return found

    return slack
