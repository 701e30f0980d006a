"""Random probabilistic grammars, left-recursive too, against the sum over nltk's parses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deepprooflog as dpl
from oracles.nltk_oracle import Production, as_dcg, parse_probability
from programs.cases import Dice, Draw, Record

pytest.importorskip("nltk", reason="nltk is not installed")

NONTERMINALS = ("s", "np", "vp")
TERMINALS = ("'a'", "'b'", "'c'")


@dataclass(frozen=True)
class Grammar:
    """A grammar with sentences, some of them of its language."""

    productions: tuple[Production, ...]
    sentences: tuple[tuple[str, ...], ...]

    @property
    def left_recursive(self) -> bool:
        """Whether a nonterminal begins something derived from itself."""
        first = {(p.left, p.right[0]) for p in self.productions if p.right[0] in NONTERMINALS}
        for middle in NONTERMINALS:
            begins = {(a, d) for a, b in first for c, d in first if b == c == middle}
            first |= begins
        return any(a == b for a, b in first)


def _right_side(dice: Dice, left: int) -> tuple[str, ...]:
    length = 1 + dice.below(3)
    symbols = [dice.pick(NONTERMINALS + TERMINALS) for _ in range(length)]
    if length == 1:
        # One nonterminal alone must come later, or unary productions could go round in a circle.
        symbols = [dice.pick(NONTERMINALS[left + 1 :] + TERMINALS)]
    return tuple(symbols)


def _sentence(dice: Dice, productions: list[Production]) -> tuple[str, ...]:
    """The yield of a random derivation, cut to five words."""
    stack, words = ["s"], list[str]()
    for _ in range(40):
        if not stack or len(words) == 5:
            break
        symbol = stack.pop()
        if symbol in NONTERMINALS:
            chosen = dice.pick([p for p in productions if p.left == symbol])
            stack.extend(reversed(chosen.right))
        else:
            words.append(symbol[1:-1])
    return tuple(words) or ("a",)


@st.composite
def grammars(draw: Draw) -> Grammar:
    """Three nonterminals; each has a production of one word, so that derivations can end."""
    dice = Dice(draw)
    productions: list[Production] = []
    for i, left in enumerate(NONTERMINALS):
        rights = [(dice.pick(TERMINALS),)] + [
            _right_side(dice, i) for _ in range(1 + dice.below(3))
        ]
        weights = [4 + dice.below(6)] + [1 + dice.below(4) for _ in rights[1:]]
        total = sum(weights)
        parts = [20 * w // total for w in weights[1:]]
        labels = [20 - sum(parts), *parts]
        for part, right in zip(labels, rights, strict=True):
            if part:
                productions.append(Production(Fraction(part, 20), left, right))
    sentences = [_sentence(dice, productions) for _ in range(2)]
    other = tuple(dice.pick("abc") for _ in range(1 + dice.below(4)))
    return Grammar(tuple(productions), (*sentences, other))


@pytest.mark.parametrize(("n", "value"), [(1, 0.6), (2, 0.144), (3, 0.06912), (4, 0.041472)])
def test_the_oracle_counts_every_parse(n: int, value: float) -> None:
    """S → S S | a has Catalan(n−1) parses of aⁿ, each 0.4ⁿ⁻¹ 0.6ⁿ."""
    rules = [
        Production(Fraction(2, 5), "s", ("s", "s")),
        Production(Fraction(3, 5), "s", ("'a'",)),
    ]
    assert parse_probability(rules, "s", ["a"] * n) == pytest.approx(value, rel=1e-12)


def test_random_grammars(record_property: Record) -> None:
    """The probability of a sentence is the sum over its parses."""
    done: dict[tuple[str, tuple[str, ...]], float] = {}
    recursive: set[str] = set()

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=120,
        suppress_health_check=list(HealthCheck),
    )
    @given(grammars())
    def compare(grammar: Grammar) -> None:
        rules = list(grammar.productions)
        text = as_dcg(rules)
        program = dpl.Program(text)
        for sentence in grammar.sentences:
            if (text, sentence) in done:
                continue
            expected = parse_probability(rules, "s", list(sentence))
            query = f"s([{','.join(sentence)}], [])"
            found = dpl.prob(program, query)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-15), f"{text}\n?- {query}."
            done[text, sentence] = expected
        if grammar.left_recursive:
            recursive.add(text)

    compare()
    record_property("cases", len(done))
    print(f"{len(done)} sentences compared, {len(recursive)} left-recursive grammars")
    assert len(done) >= 200
    assert sum(p > 0 for p in done.values()) >= 100
    assert len(recursive) >= 20
