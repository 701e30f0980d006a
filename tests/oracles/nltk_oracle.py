"""nltk as an oracle for probabilistic grammars: the sum over all parses of a sentence.

`InsideChartParser` without a beam lists every parse tree with its probability. That takes grammars
whose trees are finitely many for a sentence: no empty productions, no cycle of unary ones. Left
recursion is fine.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Production:
    """`label :: left → right`; terminals are the symbols in quotes."""

    label: Fraction
    left: str
    right: tuple[str, ...]


def as_dcg(productions: list[Production]) -> str:
    """The grammar as labelled DCG rules.

    >>> print(as_dcg([Production(Fraction(3, 10), "s", ("'a'", "s"))]))
    0.3 :: s --> [a], s.
    """
    lines = []
    for p in productions:
        body = ", ".join(f"[{x[1:-1]}]" if x.startswith("'") else x for x in p.right)
        lines.append(f"{float(p.label)} :: {p.left} --> {body}.")
    return "\n".join(lines)


def parse_probability(productions: list[Production], start: str, sentence: list[str]) -> float:
    """Σ over nltk's parse trees of the product of their productions' labels."""
    from nltk import PCFG, InsideChartParser, Nonterminal  # type: ignore[import-untyped]
    from nltk.grammar import ProbabilisticProduction  # type: ignore[import-untyped]

    covered = {x[1:-1] for p in productions for x in p.right if x.startswith("'")}
    if not covered.issuperset(sentence):
        return 0.0
    merged: dict[tuple[str, tuple[str, ...]], float] = defaultdict(float)
    for p in productions:
        merged[p.left, p.right] += float(p.label)
    rules = []
    for (left, right), label in merged.items():
        symbols = [x[1:-1] if x.startswith("'") else Nonterminal(x) for x in right]
        rules.append(ProbabilisticProduction(Nonterminal(left), symbols, prob=label))
    parser = InsideChartParser(PCFG(Nonterminal(start), rules))
    return sum(float(tree.prob()) for tree in parser.parse(sentence))
