"""Two triples side by side: which rules and facts only one of them rests on, and what that makes.

The probability of a triple is what its proofs add up to and what belief adds to them; the
comparison takes both apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deepprooflog.kg.prove.answers import Answer
from deepprooflog.proof.tree import Node


@dataclass(frozen=True)
class SharedParts:
    """What only the left, only the right, and both have, by text, with where it was read."""

    left: Mapping[str, str | None]
    right: Mapping[str, str | None]
    both: Mapping[str, str | None]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python."""
        return {"left": dict(self.left), "right": dict(self.right), "both": dict(self.both)}


@dataclass(frozen=True)
class Comparison:
    """Two answers and what sets them apart.

    `rules` and `facts` are those of the proofs that were looked at, at most `proofs` of each.
    Differences are left less right: of the probabilities, of the shares that rest on clauses alone,
    of belief (None without a prior), and of what each kind of fact adds to belief's log odds.
    """

    left: Answer
    right: Answer
    rules: SharedParts
    facts: SharedParts
    proofs: int

    @property
    def difference(self) -> dict[str, float | None]:
        """Left less right: probability, by_proof, by_belief and prior."""
        a, b = self.left, self.right
        prior = None if a.prior is None or b.prior is None else a.prior - b.prior
        by_belief = (a.probability - a.by_proof) - (b.probability - b.by_proof)
        return {
            "probability": a.probability - b.probability, "by_proof": a.by_proof - b.by_proof,
            "by_belief": by_belief, "prior": prior,
        }  # fmt: skip

    @property
    def evidence(self) -> tuple[tuple[str, str, float], ...]:
        """Facts that belief weighs, of the left and of the right, and their log odds apart."""
        pairs = zip(self.left.evidence or (), self.right.evidence or (), strict=False)
        return tuple((a.facts, b.facts, a.log_odds - b.log_odds) for a, b in pairs)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "left": self.left.to_dict(), "right": self.right.to_dict(),
            "rules": self.rules.to_dict(), "facts": self.facts.to_dict(),
            "difference": self.difference, "proofs": self.proofs,
            "evidence": [
                {"left": a, "right": b, "difference": apart} for a, b, apart in self.evidence
            ],
        }  # fmt: skip

    def __str__(self) -> str:
        a, b = self.left, self.right
        rows: list[tuple[str, str, str]] = [
            ("", a.triple, b.triple),
            ("probability", f"{a.probability:.4f}", f"{b.probability:.4f}"),
            ("by proof", f"{a.by_proof:.4f}", f"{b.by_proof:.4f}"),
        ]
        if a.prior is not None and b.prior is not None:
            rows.append(("belief alone", f"{a.prior:.4f}", f"{b.prior:.4f}"))
        widths = [max(len(row[at]) for row in rows) for at in range(3)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
                 for row in rows]  # fmt: skip
        for what, shared in (("rules", self.rules), ("facts", self.facts)):
            for whose, found in ((a.triple, shared.left), (b.triple, shared.right)):
                lines += _list(f"{what} that only {whose} rests on", found)
            lines += _list(f"{what} of both", shared.both)
        return "\n".join(lines)


def compare_answers(left: Answer, right: Answer, proofs: int) -> Comparison:
    """Two answers with their proofs, taken apart.

    >>> likely = Answer({}, "p(a,b)", 0.75, 0.75, 0.5, None, None, False, ())
    >>> unlikely = Answer({}, "p(a,c)", 0.25, 0.25, 0.0, None, None, False, ())
    >>> compare_answers(likely, unlikely, 1).difference["by_belief"]
    0.0
    """
    return Comparison(
        left, right, _shared(left, right, "rule"), _shared(left, right, "fact"), proofs
    )


def _shared(left: Answer, right: Answer, kind: str) -> SharedParts:
    a, b = _used(left, kind), _used(right, kind)
    return SharedParts(
        {text: place for text, place in a.items() if text not in b},
        {text: place for text, place in b.items() if text not in a},
        {text: place for text, place in a.items() if text in b},
    )


def _used(one: Answer, kind: str) -> dict[str, str | None]:
    """The rules (as clauses) or facts (as atoms) of an answer's proofs, those that matter first."""
    nodes = (node for proof in one.proofs for node in proof.nodes if node.kind == kind)
    # The rule that offers belief says nothing of its own: belief is compared as a number.
    return {_text(node): node.place for node in nodes if not _offers_belief(node)}


def _text(node: Node) -> str:
    return node.reason if node.kind == "rule" else node.atom


def _offers_belief(node: Node) -> bool:
    return node.kind == "rule" and "!, believe(" in node.reason


def _list(title: str, found: Mapping[str, str | None]) -> Iterable[str]:
    if not found:
        return []
    return [title, *(f"  {t}  ({p})" if p else f"  {t}" for t, p in found.items())]
