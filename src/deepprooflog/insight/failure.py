"""Why a query failed: derivations that fail nearest to success, and what each of them lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deepprooflog.proof.render.text import probability_text
from deepprooflog.proof.tree import Proof


@dataclass(frozen=True)
class FailedDerivation:
    """A derivation that fails for want of some facts, or at tests that do not hold.

    `steps` is its tree: leaves of kind `missing` are facts that are not there, leaves of kind
    `failed` are tests that do not hold; its probability is the policy's of the steps that are
    there. Added to the program, the facts `missing` complete it, unless a test fails:
    `steps.check()` replays it with them. `invented` are names, among those in `missing`, that stand
    for anything. `then` is the probability of the query once the facts are added, where known;
    `believed` that of each missing fact by the prior of a graph's model.

    >>> from deepprooflog.proof.tree import Node
    >>> leaf = Node("q(a)", "missing", "", None, 0.0, -1, 0)
    >>> print(FailedDerivation(Proof("q(a)", {}, 0.0, (leaf,)), ("q(a)",), then=1.0))
    missing q(a)
            with that, the probability is 1
    └─ q(a)  1  missing
    """

    steps: Proof
    missing: tuple[str, ...]
    failed: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    then: float | None = None
    believed: tuple[float, ...] | None = None

    @property
    def log_prob(self) -> float:
        """log p of the steps that are there; those that are missing count as certain."""
        return self.steps.log_prob

    @property
    def lacks(self) -> int:
        """How many facts are missing and how many tests fail."""
        return len(self.missing) + len(self.failed)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "missing": list(self.missing), "failed": list(self.failed),
            "invented": list(self.invented), "probability": self.steps.probability,
            "then": self.then, "believed": None if self.believed is None else list(self.believed),
            "steps": self.steps.to_dict(),
        }  # fmt: skip

    def __str__(self) -> str:
        _, *tree, _ = str(self.steps).splitlines()
        likely = [""] * len(self.missing)
        if self.believed is not None:
            likely = [f"  (believed {p:.2g})" for p in self.believed]
        facts = zip(self.missing, likely, strict=True)
        lines = [f"missing {fact}{belief}" for fact, belief in facts]
        lines += [f"fails   {test}" for test in self.failed]
        for name in self.invented:
            lines.append(f"        where {name} is anything")
        if self.then is not None:
            lines.append(f"        with that, the probability is {self.then:.4g}")
        return "\n".join([*lines, *tree])


@dataclass(frozen=True)
class WhyNot:
    """What it would take to prove a query: failed derivations, those that lack least first.

    `probability` is that of the query as things are, None where the budget ended first. `stopped`
    says which limit left derivations out that may come before or between these; None: none did.
    """

    query: str
    probability: float | None
    derivations: tuple[FailedDerivation, ...]
    stopped: str | None = None
    goals: int = 0  # that were expanded
    seconds: float = field(default=0.0, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "query": self.query, "probability": self.probability,
            "derivations": [one.to_dict() for one in self.derivations],
            "stopped": self.stopped, "goals": self.goals, "seconds": self.seconds,
        }  # fmt: skip

    def __str__(self) -> str:
        known = "unknown" if self.probability is None else f"{self.probability:.10g}"
        lines = [f"{self.query}  {known}"]
        for number, one in enumerate(self.derivations, 1):
            share = probability_text(one.log_prob)
            lines += [f"derivation {number}, probability of what is there {share}", str(one)]
        if not self.derivations:
            lines.append("no derivation comes near: no facts that could be added prove it")
        if self.stopped is not None:
            lines.append(f"(the search was cut by {self.stopped}: there may be nearer ones)")
        return "\n".join(lines)
