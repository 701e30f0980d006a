"""Scores and facts weighed by a softmax over whole lists, and which of them are worth weighing.

A list is a question r(h, ?) or r(?, t) with every entity y as its answer. With q for a relation and
a direction, s for scores (an embedding's, that of walks) and k for the numbers of facts there are
about an answer (`Evidence.answers`):

    logit(y) = Σ_s exp(a_s + a_qs) · score_s(y) + Σ_k (b_k + b_qk) · number_k(q, y)

is fitted to held-out triples by the cross-entropy of each triple's own answer among all entities
that make no other known truth; what belongs to one relation and direction is shrunk to what is
common to all, by `shrink` · Σ (a_qs² + b_qk²), so that it counts for more the more lists there are.

Which scores, and whether facts, is chosen by lists that the weights were not fitted on: each half
of them is ranked by weights of the other, and the highest mean reciprocal rank wins, the simpler of
equals. So nothing that is weighed makes the held-out triples rank worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.belief.calibration import Calibration, fit_platt
from deepprooflog.kg.belief.evidence import Evidence
from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.data.triples import SIDES, Graph, SplitName
from deepprooflog.kg.kge.negatives import all_candidates

ListScores: TypeAlias = (
    "Callable[[Int64[np.ndarray, 'lists 3'], Side], Float[Tensor, 'scores lists entities']]"
)
"""Scores of every entity in the place of a triple's head or tail, by each of some scorers."""

FACTS = "facts"
# What may be known while weights are fitted.
KNOWN: tuple[SplitName, ...] = ("train", "valid")
SHRINK, WEAK = 4.0, 0.02
ITERATIONS = 30
# Numbers of one score that are held while fitting, and that are differentiated at once.
CPU_HELD, DEVICE_HELD, AT_ONCE = 1 << 24, 1 << 28, 1 << 22


@dataclass(frozen=True, eq=False)
class AnswerLists:
    """Some lists: the scores of every entity, who may be the answer, and who is."""

    query: Int[Tensor, " lists"]  # the relation, from R on where heads are asked for
    own: Int[Tensor, " lists"]
    scores: Float[Tensor, "scores lists entities"]
    allowed: Bool[Tensor, "lists entities"]
    kinds: Int[Tensor, " kinds"]  # the distinct queries
    kind: Int[Tensor, " lists"]
    numbers: Float[Tensor, "kinds entities 4"]

    def logits(self, weights: ListWeights) -> Float[Tensor, "lists entities"]:
        """The weighed sum, −∞ for who may not be the answer."""
        found = weights.logits(self.scores, self.query, self.kinds, self.kind, self.numbers)
        return found.masked_fill(~self.allowed, -torch.inf)

    def gain(self, weights: ListWeights) -> float:
        """The sum of reciprocal ranks, ties averaged."""
        logits = self.logits(weights)
        own = logits.gather(1, self.own[:, None])
        rank = (logits > own).sum(1) + ((logits == own).sum(1) + 1) / 2
        return float((1 / rank).sum())


@dataclass(frozen=True, eq=False)
class ListWeights:
    """What each score and each number of facts weighs, for each relation and direction."""

    names: tuple[str, ...]  # of all scores there are
    used: tuple[int, ...]  # those that are weighed
    of_scores: Float[Tensor, "directed used"]
    of_facts: Float[Tensor, "directed 4"] | None

    @property
    def used_names(self) -> tuple[str, ...]:
        """The names of the scores that are weighed."""
        return tuple(self.names[s] for s in self.used)

    @property
    def text(self) -> str:
        """What is weighed, for people."""
        return _text(self.names, self.used, self.of_facts is not None)

    def logits(
        self,
        scores: Float[Tensor, "scores lists entities"],
        query: Int[Tensor, " lists"],
        kinds: Int[Tensor, " kinds"],
        kind: Int[Tensor, " lists"],
        numbers: Float[Tensor, "kinds entities 4"],
    ) -> Float[Tensor, "lists entities"]:
        """The weighed sums; `numbers` are those of the distinct queries `kinds`."""
        weight = self.of_scores[query]
        total = sum(weight[:, i, None] * scores[s] for i, s in enumerate(self.used))
        assert isinstance(total, Tensor)
        if self.of_facts is None:
            return total
        about = (numbers @ self.of_facts[kinds][:, :, None])[..., 0]
        return total + about[kind]

    def to(self, device: torch.device | str) -> ListWeights:
        """The same on a device."""
        facts = None if self.of_facts is None else self.of_facts.to(device)
        return ListWeights(self.names, self.used, self.of_scores.to(device), facts)


@dataclass(frozen=True, eq=False)
class ChosenWeights:
    """The weights that rank lists best which they were not fitted on."""

    weights: ListWeights
    tried: dict[str, float]  # the mean reciprocal rank of each choice there was
    lists: int

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, for a run's result."""
        tried = {name: round(value, 4) for name, value in self.tried.items()}
        return {"weighed": self.weights.text, "lists": self.lists, "validation": tried}


def validation_lists(
    graph: Graph,
    scores: ListScores,
    evidence: Evidence,
    *,
    triples: Int64[np.ndarray, "triples 3"] | None = None,
    held: int | None = None,
    seed: int = 0,
) -> tuple[list[AnswerLists], list[AnswerLists]]:
    """The lists of validation triples, in two halves; fewer where more numbers than `held` come.

    A triple's two lists are in the same half. Known are the triples of train and valid.
    """
    rows = graph.valid if triples is None else triples
    if not len(rows):
        raise DataError("there are no validation triples to fit on", hint="a graph with valid")
    if held is None:
        held = CPU_HELD if evidence.facts.device.type == "cpu" else DEVICE_HELD
    order = np.random.default_rng(seed).permutation(len(rows))
    most = max(2, held // (2 * len(graph.entities)))
    rows = rows[order[:most]]
    halves = rows[: (len(rows) + 1) // 2], rows[(len(rows) + 1) // 2 :]
    return (list(_lists(graph, scores, evidence, halves[0])),
            list(_lists(graph, scores, evidence, halves[1])))  # fmt: skip


def _lists(
    graph: Graph, scores: ListScores, evidence: Evidence, rows: Int64[np.ndarray, "n 3"]
) -> Iterator[AnswerLists]:
    """Both lists of some triples at a time, relation by relation."""
    rows = rows[np.argsort(rows[:, 1], kind="stable")]
    device, relations = evidence.facts.device, len(graph.relations)
    size = max(1, AT_ONCE // (2 * len(graph.entities)))
    for begin in range(0, len(rows), size):
        part = rows[begin : begin + size]
        query = torch.cat([directed(part, side, relations) for side in SIDES]).to(device)
        kinds, kind = torch.unique(query, return_inverse=True)
        yield AnswerLists(
            query, torch.from_numpy(part[:, [column(s) for s in SIDES]].T.reshape(-1)).to(device),
            torch.cat([scores(part, side).detach() for side in SIDES], 1),
            torch.from_numpy(np.concatenate([all_candidates(graph, part, s, KNOWN) for s in SIDES]))
            .to(device),
            kinds, kind, evidence.answers(kinds),
        )  # fmt: skip


def directed(triples: Int64[np.ndarray, "n 3"], side: Side, relations: int) -> Int[Tensor, " n"]:
    """The relation and direction of the questions for one side of some triples."""
    return torch.from_numpy(triples[:, 1] + (relations if side == "head" else 0))


def choose_weights(
    halves: tuple[Sequence[AnswerLists], Sequence[AnswerLists]],
    names: Sequence[str],
    directed: int,
    *,
    required: Sequence[str] = (),
    shrink: float = SHRINK,
) -> ChosenWeights:
    """Fit every choice of scores, with facts and without, and keep the one that ranks best.

    `required` scores are in every choice. The weights are fitted on all lists in the end.
    """
    both = (*halves[0], *halves[1])
    count = sum(len(part.own) for part in both)
    tried: dict[str, float] = {}
    best: tuple[float, tuple[int, ...], bool] | None = None
    needed = {names.index(name) for name in required}
    for size in range(1, len(names) + 1):
        for used in combinations(range(len(names)), size):
            for facts in (False, True):
                if not needed <= set(used):
                    continue
                gain = 0.0
                for fitted, ranked in (halves, halves[::-1]):
                    weights = fit_weights(fitted or ranked, names, used, facts, directed, shrink)
                    gain += sum(part.gain(weights) for part in ranked)
                tried[_text(names, used, facts)] = gain / count
                if best is None or gain / count > best[0]:
                    best = gain / count, used, facts
    assert best is not None
    weights = fit_weights(both, names, best[1], best[2], directed, shrink)
    return ChosenWeights(weights, tried, count)


def fit_weights(
    lists: Sequence[AnswerLists],
    names: Sequence[str],
    used: Sequence[int],
    facts: bool,
    directed: int,
    shrink: float = SHRINK,
) -> ListWeights:
    """The weights of some scores, and of facts, that make lists most probable."""
    device, total = lists[0].own.device, sum(len(part.own) for part in lists)
    spread = [_spread(lists, s) for s in used]
    start = torch.tensor([-np.log(x) for x in spread], device=device).float()
    common = start.clone()
    of_query = torch.zeros(directed, len(used), device=device)
    common_facts = torch.zeros(4, device=device)
    facts_of_query = torch.zeros(directed, 4, device=device)
    values = [common, of_query, *((common_facts, facts_of_query) if facts else ())]
    for value in values:
        value.requires_grad_(True)
    optimizer = torch.optim.LBFGS(values, max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def weights() -> ListWeights:
        of_facts = common_facts + facts_of_query if facts else None
        return ListWeights(tuple(names), tuple(used), (common + of_query).exp(), of_facts)

    def loss() -> Tensor:
        optimizer.zero_grad()
        far = of_query.square().sum() + facts_of_query.square().sum()
        # A score that says nothing would fade for ever: a weak pull keeps its weight above 0.
        faint = (common - start).square().sum() + common_facts.square().sum()
        value = (shrink * far + WEAK * faint) / total
        value.backward()  # type: ignore[no-untyped-call]
        value = value.detach()
        for part in lists:
            logits = part.logits(weights())
            own = logits.gather(1, part.own[:, None])[:, 0]
            cross = (logits.logsumexp(1) - own).sum() / total
            cross.backward()  # type: ignore[no-untyped-call]
            value = value + cross.detach()
        return value

    with torch.enable_grad():
        optimizer.step(loss)  # type: ignore[no-untyped-call]
    found = weights()
    of_facts = None if found.of_facts is None else found.of_facts.detach()
    return ListWeights(found.names, found.used, found.of_scores.detach(), of_facts)


def calibrate_lists(
    lists: Sequence[AnswerLists],
    weights: ListWeights,
    directed: int,
    *,
    base_rate: float,
    negatives: int = 50,
    seed: int = 0,
) -> Calibration:
    """From log-shares of a list's softmax to probabilities, a line for each relation and direction.

    The true answers are compared with `negatives` others of their lists. Lines rise, if but a
    little: a probability orders a list as its logits do.
    """
    generator = torch.Generator().manual_seed(seed)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    for part in lists:
        share = part.logits(weights).log_softmax(1)
        own = share.gather(1, part.own[:, None])[:, 0]
        parts.append((own, torch.ones_like(own, dtype=torch.bool), part.query))
        size = (len(own), negatives)
        drawn = torch.randint(share.shape[1], size, generator=generator).to(share.device)
        other = part.allowed.gather(1, drawn) & (drawn != part.own[:, None])
        at, chosen = other.nonzero()[:, 0], drawn[other]
        chosen = share[at, chosen]
        parts.append((chosen, torch.zeros_like(chosen, dtype=torch.bool), part.query[at]))
    score, true, query = (torch.cat(column) for column in zip(*parts, strict=True))
    lines = fit_platt(score.double(), true, query, relations=directed, base_rate=base_rate)
    return replace(lines, slope=lines.slope.clamp_min(1e-3))


def _spread(lists: Sequence[AnswerLists], score: int) -> float:
    """The standard deviation of a score within its lists, of those who may be the answer."""
    found = []
    for part in lists:
        values, size = part.scores[score], part.allowed.sum(1)
        centre = (values * part.allowed).sum(1) / size
        found.append((((values - centre[:, None]) * part.allowed).square().sum(1) / size).sqrt())
    return max(float(torch.cat(found).mean()), 1e-6)


def _text(names: Sequence[str], used: Sequence[int], facts: bool) -> str:
    return " + ".join([*(names[s] for s in used), *([FACTS] if facts else [])])
