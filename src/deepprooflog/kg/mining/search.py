"""The search for rules in its order: short paths, constants, then paths of length 3.

All paths of length 1 and 2 that support a rule are counted, and all rules with constants. Of the
many paths of length 3, those are counted that connect several of a sample of facts, the ones that
connect the largest share of them first. Whenever the time is over, what was counted stays.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from deepprooflog.kg.mining.acyclic import acyclic_rules, subjects_of, traits_of
from deepprooflog.kg.mining.adjacency import DirectedGraph
from deepprooflog.kg.mining.closed import Path, PathCounter, Thresholds, oriented
from deepprooflog.kg.mining.connections import (
    Supports,
    added,
    codes_of_three,
    supports_of_one,
    supports_of_two,
    tally,
)
from deepprooflog.kg.mining.found import FoundRule
from deepprooflog.kg.mining.options import MineOptions

LOOKING = 0.25  # of the time that is left, for finding paths of length 3
SPARE = 100  # rules that are held beyond those that are kept, before the surest are chosen
EVERY = 32  # facts of a relation whose paths are put together

SearchStep = tuple[float, str]
"""How much is done, from 0 to 1, and of what."""


@dataclass(eq=False)
class RuleSearch:
    """The rules found so far, and how far the search came."""

    edges: DirectedGraph
    options: MineOptions
    stop: Callable[[], bool] = field(default=lambda: False)
    cut: str | None = None  # what was being done when the time was over

    def __post_init__(self) -> None:
        options = self.options
        self.kept = Thresholds(
            options.min_support, options.min_confidence, options.constants * options.constant_length
        )
        self.counter = PathCounter(self.edges, options.identity, self.kept)
        self.began = time.perf_counter()
        # Those of a relation without constants, and those of each constant in a head.
        self._found: dict[tuple[int, int, int], list[FoundRule]] = defaultdict(list)
        self._count = 0

    def run(self) -> Iterator[SearchStep]:
        """Search, step by step; stopping between two steps leaves what was found."""
        yield from self._short()
        if self.options.constants:
            yield from self._with_constants()
        if self.options.max_length > 2:
            yield from self._long()

    def found(self) -> list[FoundRule]:
        """The rules to keep, by relation, those without constants first, the surest first."""
        kept: dict[tuple[int, bool], list[FoundRule]] = defaultdict(list)
        for key, rules in self._found.items():
            kept[key[0], rules[0].with_constants] += _best(rules, self._most(rules[0]))
        most = {False: self.options.most, True: self.options.most_with_constants}
        return [rule for key in sorted(kept) for rule in _best(kept[key], most[key[1]])]

    def __len__(self) -> int:
        return self._count

    def _most(self, rule: FoundRule) -> int | None:
        """How many rules like one are kept."""
        options = self.options
        return options.most_of_constant if rule.with_constants else options.most

    def _keep(self, rules: Iterable[FoundRule]) -> None:
        for rule in rules:
            kept = self._found[rule.relation, rule.x, rule.y]
            most = self._most(rule)
            kept.append(rule)
            if most is None or len(kept) <= most:
                self._count += 1
            elif len(kept) > 2 * most + SPARE:
                kept[:] = _best(kept, most)

    def _over(self, doing: str, share: float = 1.0) -> bool:
        """Whether the search has to end, or one part of it has had its share of the time."""
        seconds = self.options.seconds
        late = seconds is not None and time.perf_counter() - self.began > seconds * share
        if late or self.stop():
            self.cut = doing
            return True
        return False

    def _short(self) -> Iterator[SearchStep]:
        edges, identity = self.edges, self.options.identity
        ones = [supports_of_one(edges, r) for r in range(edges.relations)]
        yield from self._counted(_bodies(edges, ones, 1, self.kept), 0.0, 0.02)
        if self.options.max_length < 2 or self.cut:
            return
        twos: list[Supports] = []
        for relation in range(edges.relations):
            if self._over("looking for paths of length 2"):
                return
            twos.append(supports_of_two(edges, relation, identity))
            yield 0.02 + 0.03 * relation / edges.relations, "paths of length 2"
        yield from self._counted(_bodies(edges, twos, 2, self.kept), 0.05, 0.1)

    def _with_constants(self) -> Iterator[SearchStep]:
        if self.cut:
            return
        traits = traits_of(self.edges, self.kept.support)
        last, subjects = -1, None
        for head in range(len(traits)):
            if self._over(f"constants: {head:,} of {len(traits):,} heads"):
                return
            if traits.label[head] != last or subjects is None:
                last = int(traits.label[head])
                subjects = subjects_of(traits, last)
            self._keep(acyclic_rules(traits, head, self.options.identity, self.kept, subjects))
            yield 0.15 + 0.1 * head / len(traits), "constants"

    def _long(self) -> Iterator[SearchStep]:
        if self.cut:
            return
        bodies: dict[Path, _Body] = {}
        yield from self._looked(bodies)
        partly, self.cut = self.cut, None
        yield from self._counted(bodies, 0.4, 0.6)
        self.cut = self.cut or partly

    def _looked(self, bodies: dict[Path, _Body]) -> Iterator[SearchStep]:
        """Paths of length 3 beside a sample of each relation's facts."""
        edges, options = self.edges, self.options
        sampled = [_Sample(edges, relation, options) for relation in range(edges.relations)]
        rounds = -(-max((len(s.order) for s in sampled), default=0) // EVERY)
        spent = (time.perf_counter() - self.began) / (options.seconds or np.inf)
        share = spent + LOOKING * (1 - spent)
        for number in range(rounds):
            for sample in sampled:
                if self._over(
                    f"looking for paths of length 3: round {number + 1} of {rounds}", share
                ):
                    break
                sample.look(number)
                yield 0.25 + 0.15 * number / rounds, "looking for paths of length 3"
        for sample in sampled:
            sample.into(bodies, self.kept)

    def _counted(
        self, bodies: dict[Path, _Body], begin: float, share: float
    ) -> Iterator[SearchStep]:
        """Count bodies, those with the widest coverage first; neighbours share their beginning."""
        length = max((len(path) for path in bodies), default=0)
        order = sorted(bodies, key=lambda path: (bodies[path].tier, oriented(self.edges, path)))
        for number, path in enumerate(order):
            if self._over(f"counting paths of length {length}: {number:,} of {len(order):,}"):
                return
            body = bodies[path]
            if self.counter.least_predictions(path) * self.kept.confidence <= body.support:
                self._keep(self.counter.rules(path, body.heads))
            yield begin + share * number / len(order), f"paths of length {length}"


@dataclass(eq=False)
class _Body:
    """A path that may be a body: its heads, and the most support one of them has or may have."""

    heads: list[int] = field(default_factory=list)
    support: float = 0.0
    coverage: float = 0.0

    def add(self, head: int, support: float, coverage: float) -> None:
        self.heads.append(head)
        self.support = max(self.support, support)
        self.coverage = max(self.coverage, coverage)

    @property
    def tier(self) -> int:
        """0 from a coverage of a half on, 1 from a quarter on, …"""
        return int(-np.log2(max(self.coverage, 2**-30)))


class _Sample:
    """Some facts of a relation, in an order that the seed decides, and the paths beside them."""

    def __init__(self, edges: DirectedGraph, relation: int, options: MineOptions) -> None:
        self.edges, self.relation, self.identity = edges, relation, options.identity
        self.draw = np.random.default_rng([options.seed, relation])
        self.size = len(edges.by_relation[relation])
        self.order = self.draw.permutation(self.size)[: options.facts_of(edges.relations)]
        self.looked = 0
        self.paths: list[Supports] = []

    def look(self, number: int) -> None:
        facts = self.edges.by_relation[self.relation]
        chosen = self.order[number * EVERY : (number + 1) * EVERY]
        codes = [
            codes_of_three(self.edges, x, y, self.identity, self.draw)
            for x, y in zip(
                facts.sources[chosen].tolist(), facts.targets[chosen].tolist(), strict=True
            )
        ]
        if codes:
            self.paths.append(tally(np.concatenate(codes)))
            self.looked += len(codes)

    def into(self, bodies: dict[Path, _Body], kept: Thresholds) -> None:
        """The paths that connect enough of the facts looked at, as bodies of this relation."""
        if not self.looked:
            return
        paths = added(self.paths)
        scale = self.size / self.looked
        enough = (paths.counts * scale >= kept.support) & (paths.counts >= min(2, self.looked))
        # A sample may hold fewer than its share; twice as many are still likely enough.
        slack = 1.0 if scale == 1 else 2.0
        restating = (self.relation, self.relation + self.edges.relations, self.relation)
        for code, count in zip(
            paths.codes[enough].tolist(), paths.counts[enough].tolist(), strict=True
        ):
            path = path_of(code, 3, self.edges.directed)
            if self.identity or path != restating:
                body = bodies.setdefault(path, _Body())
                body.add(self.relation, count * scale * slack, count / self.looked)


def _bodies(
    edges: DirectedGraph, supports: list[Supports], length: int, kept: Thresholds
) -> dict[Path, _Body]:
    """The paths that connect enough facts, with the relations of those."""
    bodies: dict[Path, _Body] = {}
    for relation, found in enumerate(supports):
        size = max(len(edges.by_relation[relation]), 1)
        enough = found.counts >= kept.support
        for code, count in zip(
            found.codes[enough].tolist(), found.counts[enough].tolist(), strict=True
        ):
            path = path_of(code, length, edges.directed)
            if path != (relation,):
                bodies.setdefault(path, _Body()).add(relation, count, count / size)
    return bodies


def path_of(code: int, length: int, directed: int) -> Path:
    """The directed relations of a path from its number.

    >>> path_of(2 * 100 + 3 * 10 + 4, 3, 10)
    (2, 3, 4)
    """
    labels: list[int] = []
    for _ in range(length):
        code, label = divmod(code, directed)
        labels.append(label)
    return tuple(reversed(labels))


def _best(rules: list[FoundRule], most: int | None) -> list[FoundRule]:
    return sorted(rules, key=lambda rule: rule.order)[:most]
