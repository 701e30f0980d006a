"""How far a trained policy is trusted: two numbers beside it, kept with its weights.

The *sharpness* τ flattens what the policy learned about clauses, 1 leaving it and 0 weighing all
clauses of a goal alike; the *shift* δ raises the weight of the belief clause by e^δ
(`score.shifted`). `kg.learn.cross_fit` chooses both on validation triples that were not learned
from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64

from deepprooflog.errors import DataError
from deepprooflog.kg.belief.believe import BELIEVE
from deepprooflog.learn.run.weights import ENDING, MODEL, load_state, restore_weights, save_state
from deepprooflog.score.scorer import Scorer
from deepprooflog.score.shifted import Shifted

ERRORS = 2.0
POLICY_WEIGHTS, SHIFT, SHARPNESS = "policy", "belief_shift", "sharpness"


@dataclass(frozen=True)
class Trust:
    """A sharpness and a shift; as they are here, the policy stays what it learned."""

    sharpness: float = 1.0
    shift: float = 0.0


AS_LEARNED = Trust()
TRUSTS = (
    AS_LEARNED,
    *(
        Trust(sharpness, shift)
        for sharpness in (1.0, 0.5, 0.0)
        for shift in (0.0, -1.0, 1.0, -2.0, 2.0, -4.0, 4.0)
        if (sharpness, shift) != (1.0, 0.0)
    ),
)
"""What is tried, the nearest to what was learned first: the first of equals is taken."""


@dataclass(frozen=True)
class ChosenTrust:
    """What was chosen, and the MRR of held-out validation triples without it and with it."""

    sharpness: float
    shift: float
    before: float | None  # None: too few triples to tell
    after: float | None
    triples: int
    folds: int

    @property
    def trust(self) -> Trust:
        """The two numbers."""
        return Trust(self.sharpness, self.shift)

    def __str__(self) -> str:
        parts = []
        if self.sharpness != AS_LEARNED.sharpness:
            parts.append(f"policy flattened to sharpness {self.sharpness:g}")
        if self.shift != AS_LEARNED.shift:
            parts.append(f"belief clause shifted by {self.shift:+g}")
        told = ", ".join(parts) or "policy and belief as learned"
        if self.before is None:
            return f"{told} ({self.triples:,} validation triples are too few to tell)"
        rise = f" → {self.after:.4f}" if parts else ""
        return (
            f"{told} (MRR of {self.triples:,} validation triples held out in {self.folds} "
            f"{'fold' if self.folds == 1 else 'folds'}: {self.before:.4f}{rise})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, with the note for people."""
        return {**asdict(self), "note": str(self)}


def lowest_equal(gains: Mapping[Trust, Float64[np.ndarray, " lists"]]) -> Trust:
    """The sharpness of the highest mean, with the lowest shift that is not told from its shift.

    That is by `ERRORS` standard errors of the paired difference of reciprocal ranks. A shift whose
    mean is not above that of what was learned is not taken. Lowest, since the embedding is chosen
    on validation triples and gaps may be others than theirs: what biases them speaks for belief.

    >>> flat = np.array([0.5, 1.0, 0.5, 1.0])
    >>> lowest_equal({AS_LEARNED: flat, Trust(0.5, -1.0): flat + 0.01, Trust(0.5, -2.0): flat})
    Trust(sharpness=0.5, shift=-1.0)
    >>> lowest_equal({AS_LEARNED: flat, Trust(0.5, -1.0): flat})
    Trust(sharpness=1.0, shift=0.0)
    """
    learned = float(gains[AS_LEARNED].mean())
    best = max(gains, key=lambda trust: float(gains[trust].mean()))
    chosen = best
    for trust, own in gains.items():
        behind = gains[best] - own
        told = float(behind.mean()) > ERRORS * float(behind.std(ddof=1)) / len(own) ** 0.5 + 1e-12
        alike = trust.sharpness == best.sharpness and not told
        fits = trust == AS_LEARNED or float(own.mean()) > learned
        if alike and fits and trust.shift < chosen.shift:
            chosen = trust
    return chosen


def trusted_policy(policy: Scorer, trust: Trust) -> Scorer:
    """A policy that is trusted so far; what it was before is taken back."""
    base = policy.base if isinstance(policy, Shifted) else policy
    return base if trust == AS_LEARNED else Shifted(base, BELIEVE, trust.shift, trust.sharpness)


def trust_of(policy: Scorer) -> Trust:
    """How far a policy is trusted."""
    return Trust(policy.sharpness, policy.shift) if isinstance(policy, Shifted) else AS_LEARNED


def save_policy(folder: Path, policy: Scorer) -> None:
    """Write a policy's weights into a run's folder, and beside them how far it is trusted."""
    base, trust = trusted_policy(policy, AS_LEARNED), trust_of(policy)
    state = {"weights": base.state_dict(), SHIFT: trust.shift, SHARPNESS: trust.sharpness}
    save_state(folder / (MODEL + ENDING), POLICY_WEIGHTS, state)


def restore_policy(folder: Path, policy: Scorer, device: torch.device | str) -> Scorer:
    """A run's weights in an untrained policy, trusted as in the run; one of old as learned."""
    restore_weights(folder, POLICY_WEIGHTS, policy, device)
    path = folder / (MODEL + ENDING)
    if not path.exists():
        return policy
    state = load_state(path, POLICY_WEIGHTS, {"weights": dict}, device)
    found = Trust(
        _number(state, SHARPNESS, AS_LEARNED.sharpness, path),
        _number(state, SHIFT, AS_LEARNED.shift, path),
    )
    return trusted_policy(policy, found)


def _number(state: Mapping[str, Any], name: str, default: float, path: Path) -> float:
    found = state.get(name, default)
    if type(found) not in (int, float) or not abs(found) < float("inf"):
        raise DataError(f"{name} is no number", file=str(path), hint="train into another folder")
    return float(found)
