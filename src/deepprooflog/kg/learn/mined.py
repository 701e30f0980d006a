"""Rules that a run mines for itself where it is given none.

For a policy, which weighs every rule of a goal, few that say most of what many do; walks read all.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from deepprooflog.errors import Notice
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.rule_files.rule_writing import rules_text
from deepprooflog.kg.data.rules import MINED, Rule, Rules, parse_rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.mining.miner import mine
from deepprooflog.kg.mining.options import LONGEST, MineOptions
from deepprooflog.kg.readings.cover import covering
from deepprooflog.kg.readings.scores import RuleReader
from deepprooflog.learn.run.options import CheckedOptions, option

AT_MOST = 500  # of a relation's rules are chosen from, without and with constants each


@dataclass(frozen=True)
class MiningOptions(CheckedOptions):
    """Which rules are mined, and how long that may take."""

    rules: int = option(
        10, "mined rules of a relation that a policy weighs at most; walks take all", at_least=1,
        at_most=10_000,
    )  # fmt: skip
    confidence: float = option(0.01, "the least that a mined rule has", at_least=0, at_most=1)
    seconds: float = option(60.0, "for mining and choosing", above=0, at_most=10**6)
    nesting: int = option(
        1, "how deep mined rules stand inside one another", at_least=0, at_most=100
    )
    support: int = option(
        MineOptions.min_support, "facts that a mined rule predicts at least", at_least=1,
        at_most=10**9,
    )  # fmt: skip
    constants: bool = option(True, "mined rules may name entities")


def mined_rules(
    graph: Graph, options: MiningOptions, seed: int = 0, progress: bool = False
) -> Rules:
    """Rules mined from the training triples, with a notice that says how many of how many.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> rows = [(a, r, b) for a in "abc" for b in "def" for r in "pq"]
    >>> with warnings.catch_warnings(record=True) as told:
    ...     rules = mined_rules(graph_of(rows), MiningOptions(rules=1))
    >>> print(rules.text(), end="")
    p(A,B) :- q(A,B).
    q(A,B) :- p(A,B).
    """
    began = time.perf_counter()
    found = mine(
        graph, seconds=options.seconds, min_support=options.support, constants=options.constants,
        min_confidence=options.confidence, seed=seed, progress=progress, constant_length=LONGEST,
        most=AT_MOST, most_of_constant=AT_MOST, most_with_constants=AT_MOST,
    )  # fmt: skip
    reader = RuleReader(graph, found.rules)
    chosen: list[Rule] = []
    unchosen = 0
    for rules in reader.by_relation.values():
        late = time.perf_counter() - began > options.seconds
        unchosen += late
        of = list(rules.rules[: options.rules]) if late else None
        chosen += of or covering(reader.bodies, rules, options.rules, seed)
    seconds = time.perf_counter() - began
    late_ones = f"; of {plural(unchosen, 'relation')} the surest, the time was over"
    warnings.warn(
        f"{plural(len(chosen), 'rule')} of {len(found):,} mined in "
        f"{seconds:.1f} s, at most {options.rules} of a relation (mine.rules)"
        f"{late_ones if unchosen else ''}; rules=none does without",
        Notice,
        stacklevel=3,
    )
    return _kept(chosen, found)


def every_mined_rule(
    graph: Graph, options: MiningOptions, seed: int = 0, progress: bool = False
) -> Rules:
    """All the rules that are mined, within the miner's own limits, with their counts."""
    began = time.perf_counter()
    found = mine(
        graph, seconds=options.seconds, min_support=options.support, constants=options.constants,
        min_confidence=options.confidence, seed=seed, progress=progress,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    warnings.warn(
        f"{plural(len(found), 'rule')} mined in {seconds:.1f} s, read beside walks", Notice,
        stacklevel=3,
    )  # fmt: skip
    return _kept(found.rules, found)


def _kept(chosen: Sequence[Rule], found: Rules) -> Rules:
    """Rules as a run keeps them: read from the text that it writes, with the miner's counts."""
    if not chosen:
        return Rules((), found.notices, file=MINED)
    text = rules_text(chosen)
    read = parse_rules(text, MINED).rules
    counted = (replace(rule, counts=own.counts) for rule, own in zip(read, chosen, strict=True))
    return Rules(tuple(counted), found.notices, text, MINED)
