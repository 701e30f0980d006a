"""What was counted of a rule over a graph: support, confidence, PCA confidence, head coverage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RuleCounts:
    """Counts over pairs (x, y) of a rule's head; None for what its source does not tell.

    >>> counts = RuleCounts(support=97, predictions=141, pca_predictions=120, facts=970)
    >>> round(counts.confidence, 3), round(counts.pca_confidence, 3), counts.head_coverage
    (0.688, 0.808, 0.1)
    """

    support: int
    """The pairs that the body connects and that are facts."""
    predictions: int
    """The pairs that the body connects."""
    pca_predictions: int | None = None
    """Those of them whose subject has some fact of the head's relation."""
    facts: int | None = None
    """The facts of the head's relation."""
    example: str | None = None
    """A fact that the rule predicts."""

    @property
    def confidence(self) -> float:
        """The share of the predictions that are facts."""
        return self.support / self.predictions if self.predictions else 0.0

    @property
    def pca_confidence(self) -> float | None:
        """The same where only what could be known counts as wrong (AMIE's partial completeness)."""
        if self.pca_predictions is None:
            return None
        return self.support / self.pca_predictions if self.pca_predictions else 0.0

    @property
    def head_coverage(self) -> float | None:
        """The share of the head relation's facts that the rule predicts."""
        if self.facts is None:
            return None
        return self.support / self.facts if self.facts else 0.0

    def __str__(self) -> str:
        parts = [f"support {self.support:,} of {self.predictions:,}"]
        if self.head_coverage is not None:
            parts.append(f"head coverage {self.head_coverage:.3g}")
        if self.pca_confidence is not None:
            parts.append(f"PCA confidence {self.pca_confidence:.3g}")
        if self.example is not None:
            parts.append(f"e.g. {self.example}")
        return ", ".join(parts)
