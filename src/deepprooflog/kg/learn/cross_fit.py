"""How far a policy is trusted, chosen on validation triples that neither it nor belief knows.

A policy learns from validation triples, and belief is calibrated on the same ones. Where they are
few, what it learned about clauses is in part their accident, and belief looks better on them than
it is: on the triples themselves no one can see that. So the validation triples are dealt into
`FOLDS`; without each fold in turn belief is calibrated and a policy learned, as the run does it,
and the fold's triples are ranked by p_success of every trust in `TRUSTS`, until `HELD_OUT` of them
are. The trust that is chosen there (`lowest_equal`) is that of the policy that learned from all.

Where belief is asked at the query only, all shifts of one sharpness follow from its masses,

    p_δ = (p_proof + e^δ (p_success − p_proof)) / (1 − w + w e^δ),   w = p(believe | q),

else goals are weighed anew for each. They are explored once in any case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int, Int64
from torch import Tensor

from deepprooflog.kg.belief.prior import calibrate_belief
from deepprooflog.kg.evaluation.evaluate import CPU_BATCH, Ranker
from deepprooflog.kg.evaluation.metrics import ranks
from deepprooflog.kg.evaluation.scores import Score
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.policy import learn_policy
from deepprooflog.kg.learn.setup import untrained_policy
from deepprooflog.kg.learn.trust import AS_LEARNED, TRUSTS, ChosenTrust, Trust, lowest_equal
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.relational.layers import Layers
from deepprooflog.relational.rules import Offer
from deepprooflog.relational.sweep import MASS, at_roots, masses, sweep
from deepprooflog.score.shifted import sharpened, shifted

FOLDS = 3
HELD_OUT = 600
LEAST = 2 * FOLDS
NEGATIVES = 200


def choose_trust(
    options: GraphOptions, theory: Theory, prover: Prover, learner: str
) -> ChosenTrust | None:
    """How far a trained prover is trusted; None where that is not asked for or means nothing."""
    believes = prover.belief is not None and options.belief.shift
    valid = len(theory.graph.valid)
    if not believes or options.watch != "mrr" or not valid:
        return None
    if valid < LEAST:
        return ChosenTrust(AS_LEARNED.sharpness, AS_LEARNED.shift, None, None, valid, 0)
    ranker = Ranker(theory.graph, theory.candidates, negatives=NEGATIVES, seed=options.seed)
    found: dict[Trust, list[Float64[np.ndarray, " lists"]]] = {trust: [] for trust in TRUSTS}
    looked = folds = 0
    for held, rest in dealt(theory.graph.valid, options.seed):
        if looked >= HELD_OUT:
            break
        look = held[: HELD_OUT - looked]
        known = learned_from(rest, options, theory, prover, learner)
        known = known if theory.hiding is None else theory.hiding.prover(known, look)
        for trust, own in trusted_gains(known.eval(), ranker, look).items():
            found[trust].append(own)
        looked, folds = looked + len(look), folds + 1
    gains = {trust: np.concatenate(parts) for trust, parts in found.items()}
    chosen = lowest_equal(gains)
    before, after = (round(float(gains[at].mean()), 6) for at in (AS_LEARNED, chosen))
    return ChosenTrust(chosen.sharpness, chosen.shift, before, after, looked, folds)


def dealt(
    valid: Int64[np.ndarray, "valid 3"], seed: int
) -> Iterator[tuple[Int64[np.ndarray, "held 3"], Int64[np.ndarray, "rest 3"]]]:
    """Each fold, and what is not in it.

    >>> triples = np.arange(12).reshape(4, 3)
    >>> [(len(held), len(rest)) for held, rest in dealt(triples, 0)]
    [(2, 2), (1, 3), (1, 3)]
    """
    mixed = valid[np.random.default_rng(seed).permutation(len(valid))]
    fold = np.arange(len(mixed)) % FOLDS
    for number in range(FOLDS):
        yield mixed[fold == number], mixed[fold != number]


def learned_from(
    valid: Int64[np.ndarray, "valid 3"], options: GraphOptions, theory: Theory, prover: Prover,
    learner: str,
) -> Prover:  # fmt: skip
    """The prover of a run that has other validation triples, with the embedding of this one."""
    assert prover.belief is not None
    graph = replace(theory.graph, valid=valid)
    belief = calibrate_belief(
        prover.belief.kge, graph, base_rate=options.belief.base_rate,
        evidence=options.belief.evidence, seed=options.seed,
    )  # fmt: skip
    policy = untrained_policy(options, theory).to(prover.device)
    own = Prover(prover.database, policy, belief, prover.limits)
    learn_policy(options, replace(theory, graph=graph), own, learner, None, progress=False)
    return own


def trusted_gains(
    prover: Prover, ranker: Ranker, look: Int64[np.ndarray, "look 3"]
) -> dict[Trust, Float64[np.ndarray, " lists"]]:
    """The reciprocal rank of every list, for each trust."""

    def gains(score: Score) -> Float64[np.ndarray, " lists"]:
        found = ranker.rank(score, look, CPU_BATCH).ranked
        return 1.0 / ranks(found.better, found.equal)

    recorded = TrustedScores(prover)
    gains(recorded)
    return {trust: gains(recorded.again(number)) for number, trust in enumerate(TRUSTS)}


class TrustedScores:
    """p_success by every trust, kept call by call."""

    def __init__(self, prover: Prover, trusts: tuple[Trust, ...] = TRUSTS) -> None:
        self.prover, self.trusts = prover, trusts
        rules = [rule.offer is Offer.BELIEF for rule in prover.database.rules]
        facts = [False] * len(prover.database.facts)
        self.believes = torch.tensor(rules + facts, device=prover.device)
        database = prover.database
        self.on_the_way = database.believe == "everywhere" and database.nesting != 0
        self.calls: list[Float[Tensor, "trusts _triples"]] = []

    @torch.no_grad()
    def __call__(self, triples: Int[Tensor, "triples 3"]) -> Float[Tensor, " triples"]:
        """p_success as learned, which is the first of the trusts; those of all others are kept."""
        prover = self.prover
        layers = prover.explore(prover.goals(triples.to(prover.device)))
        learned, neural = prover.log_weights(layers)
        found: dict[Trust, Tensor] = {}
        for sharpness in {trust.sharpness for trust in self.trusts}:
            weights = flattened(layers, learned, sharpness)
            shifts = [trust.shift for trust in self.trusts if trust.sharpness == sharpness]
            if self.on_the_way:
                parts = [self._weighed(layers, weights, shift) for shift in shifts]
            else:
                parts = self._from_masses(layers, weights, neural, shifts)
            found |= {Trust(sharpness, d): p for d, p in zip(shifts, parts, strict=True)}
        self.calls.append(torch.stack([found[trust] for trust in self.trusts]))
        return self.calls[-1][0]

    def again(self, number: int) -> Callable[[Int[Tensor, "triples 3"]], Tensor]:
        """p_success by the trust of that number, of the same calls in the same order."""
        rest = iter(self.calls)
        return lambda _: next(rest)[number]

    def _from_masses(
        self,
        layers: Layers,
        weights: list[Float[Tensor, " _steps"]],
        neural: list[Bool[Tensor, " _steps"]] | None,
        shifts: list[float],
    ) -> list[Float[Tensor, " triples"]]:
        mass = masses(layers, weights, neural)
        trust = mass.success.new_zeros(len(layers.goals[0]))
        if layers.steps:
            steps = layers.steps[0]
            mine = self.believes[steps.clause]
            trust = trust.index_add(0, steps.source[mine], weights[0][mine].exp().to(trust))
        w, believed = trust[layers.roots], mass.success - mass.proof
        return [(mass.proof + math.exp(d) * believed) / (1 + (math.exp(d) - 1) * w) for d in shifts]

    def _weighed(
        self, layers: Layers, weights: list[Float[Tensor, " _steps"]], shift: float
    ) -> Float[Tensor, " triples"]:
        moved = []
        for goals, steps, log in zip(layers.goals, layers.steps, weights, strict=False):
            mine = self.believes[steps.clause]
            offered = torch.zeros(len(goals), dtype=torch.bool, device=mine.device)
            offered[steps.source[mine]] = True
            raised, _ = shifted(log.double(), steps.source, len(goals), shift * mine.double())
            moved.append(torch.where(offered[steps.source], raised, log.double()).exp())
        return at_roots(layers, sweep(layers, MASS, moved))


def flattened(
    layers: Layers, log_weights: list[Float[Tensor, " _steps"]], sharpness: float
) -> list[Float[Tensor, " _steps"]]:
    """The steps of every goal at a sharpness; a step that is its goal's only one stays."""
    return [
        sharpened(log.double(), steps.source, len(goals), sharpness)
        for goals, steps, log in zip(layers.goals, layers.steps, log_weights, strict=False)
    ]
