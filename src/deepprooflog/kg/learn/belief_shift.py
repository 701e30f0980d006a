"""How much a trained policy trusts belief, corrected on validation triples by one number.

    p_δ(believe | q) = w e^δ / (1 − w + w e^δ),   w = p(believe | q) as learned  (`score.shifted`)

A policy learns from few validation triples, and belief was calibrated on the same ones: there it
looks better than it is. So δ is the lowest shift of `SHIFTS` whose MRR validation cannot tell from
the best one's, by two standard errors of the paired difference of reciprocal ranks. One whose MRR
is not above that of δ = 0 is not taken: validation is never worse for it.

Where belief is asked at the query only, all of p_success of a shift follows from that of none,

    p_δ = (p_proof + e^δ (p_success − p_proof)) / (1 − w + w e^δ),

so that goals are explored once; belief that is asked on the way is weighed anew for each shift.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int, Int64
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.belief.believe import BELIEVE
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.evaluation.metrics import ranks
from deepprooflog.kg.evaluation.scores import Score, success_score
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.learn.run.weights import ENDING, MODEL, load_state, restore_weights, save_state
from deepprooflog.relational.rules import Offer
from deepprooflog.relational.sweep import masses
from deepprooflog.score.scorer import Scorer
from deepprooflog.score.shifted import Shifted

SHIFTS = (-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
NEGATIVES = 200
ERRORS = 2.0
BATCH = 4096
POLICY_WEIGHTS, SHIFT = "policy", "belief_shift"


@dataclass(frozen=True)
class BeliefShift:
    """The shift that was chosen, and the validation MRR without it and with it."""

    shift: float
    before: float
    after: float
    triples: int

    def __str__(self) -> str:
        if not self.shift:
            told = f"belief clause not shifted (validation MRR {self.before:.4f}"
        else:
            told = f"belief clause shifted by {self.shift:+.1f} (validation MRR {self.before:.4f}"
            told += f" → {self.after:.4f}"
        return f"{told}, {self.triples:,} triples)"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, with the note for people."""
        return {**asdict(self), "note": str(self)}


def shifted_policy(policy: Scorer, shift: float) -> Scorer:
    """A policy that trusts belief more or less by a shift; a shift before is taken back."""
    base = policy.base if isinstance(policy, Shifted) else policy
    return Shifted(base, BELIEVE, shift) if shift else base


def shift_of(policy: Scorer) -> float:
    """The shift of a policy; 0 where there is none."""
    return policy.shift if isinstance(policy, Shifted) else 0.0


def choose_shift(options: GraphOptions, theory: Theory, prover: Prover) -> BeliefShift | None:
    """The shift for a trained prover, on validation triples; None where there is none to choose."""
    believes = prover.belief is not None and options.belief.shift
    valid = theory.graph.valid
    if not believes or options.watch != "mrr" or not len(valid):
        return None
    order = np.random.default_rng(options.seed).permutation(len(valid))
    look = valid[order[: options.evaluation.validation_size]]
    known = prover if theory.hiding is None else theory.hiding.prover(prover, look)
    ranker = Ranker(theory.graph, theory.candidates, negatives=NEGATIVES, seed=options.seed)
    with torch.no_grad():
        gains = shifted_gains(known, ranker, look)
    chosen = lowest_equal(gains)
    before, after = (float(gains[at].mean()) for at in (0.0, chosen))
    return BeliefShift(chosen, round(before, 6), round(after, 6), len(look))


def lowest_equal(gains: dict[float, Float64[np.ndarray, " lists"]]) -> float:
    """The lowest shift within two standard errors of the best that is 0, or better than 0.

    >>> flat = np.array([0.5, 1.0, 0.5, 1.0])
    >>> lowest_equal({-2.0: flat, -1.0: flat + 0.01, 0.0: flat})
    -1.0
    >>> lowest_equal({-2.0: flat, 0.0: flat, 2.0: flat})
    0.0
    """
    best = max(gains.values(), key=lambda each: float(each.mean()))
    for shift in sorted(gains):
        behind = best - gains[shift]
        error = float(behind.std()) / len(behind) ** 0.5
        fits = not shift or float(gains[shift].mean()) > float(gains[0.0].mean())
        if fits and float(behind.mean()) <= ERRORS * error + 1e-12:
            return shift
    return 0.0


def shifted_gains(
    prover: Prover, ranker: Ranker, look: Int64[np.ndarray, "look 3"]
) -> dict[float, Float64[np.ndarray, " lists"]]:
    """The reciprocal rank of every list, for each shift."""

    def gains(score: Score) -> Float64[np.ndarray, " lists"]:
        found = ranker.rank(score, look, BATCH).ranked
        return 1.0 / ranks(found.better, found.equal)

    if prover.database.believe == "everywhere" and prover.database.nesting != 0:
        own = prover.policy
        return {
            shift: gains(success_score(prover.with_policy(shifted_policy(own, shift))))
            for shift in SHIFTS
        }
    recorded = RecordedBelief(prover)
    gains(recorded)
    return {shift: gains(recorded.again(shift)) for shift in SHIFTS}


class RecordedBelief:
    """What p_success of any shift follows from, kept call by call."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        rules = [rule.offer is Offer.BELIEF for rule in prover.database.rules]
        facts = [False] * len(prover.database.facts)
        self.believes = torch.tensor(rules + facts, device=prover.device)
        self.calls: list[tuple[Tensor, Tensor, Tensor]] = []

    @torch.no_grad()
    def __call__(self, triples: Int[Tensor, "triples 3"]) -> Float[Tensor, " triples"]:
        """p_success without a shift; proof, belief's part and its weight are kept."""
        prover = self.prover
        layers = prover.explore(prover.goals(triples.to(prover.device)))
        weights, neural = prover.log_weights(layers)
        mass = masses(layers, weights, neural)
        trust = mass.success.new_zeros(len(layers.goals[0]))
        if layers.steps:
            steps = layers.steps[0]
            mine = self.believes[steps.clause]
            trust = trust.index_add(0, steps.source[mine], weights[0][mine].exp().to(trust))
        believed = mass.success - mass.proof
        self.calls.append((mass.proof, believed, trust[layers.roots]))
        return mass.success

    def again(self, shift: float) -> Callable[[Int[Tensor, "triples 3"]], Tensor]:
        """p_success with a shift, of the same calls in the same order."""
        rest: Iterator[tuple[Tensor, Tensor, Tensor]] = iter(self.calls)
        factor = float(np.exp(shift))

        def score(_: Int[Tensor, "triples 3"]) -> Tensor:
            proof, believed, trust = next(rest)
            return (proof + factor * believed) / (1 + (factor - 1) * trust)

        return score


def save_policy(folder: Path, policy: Scorer) -> None:
    """Write a policy's weights into a run's folder, and its shift beside them."""
    base = policy.base if isinstance(policy, Shifted) else policy
    state = {"weights": base.state_dict(), SHIFT: shift_of(policy)}
    save_state(folder / (MODEL + ENDING), POLICY_WEIGHTS, state)


def restore_policy(folder: Path, policy: Scorer, device: torch.device | str) -> Scorer:
    """A run's weights in an untrained policy, shifted as the run was; one of old is not."""
    restore_weights(folder, POLICY_WEIGHTS, policy, device)
    path = folder / (MODEL + ENDING)
    if not path.exists():
        return policy
    shift = load_state(path, POLICY_WEIGHTS, {"weights": dict}, device).get(SHIFT, 0.0)
    if type(shift) not in (int, float) or not abs(shift) < float("inf"):
        raise DataError(f"{SHIFT} is no number", file=str(path), hint="train into another folder")
    return shifted_policy(policy, float(shift))
