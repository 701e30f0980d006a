"""PPO on a knowledge graph: p_success by exact inference, before and after."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.data.domains import Candidates
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.reading import SHIPPED
from deepprooflog.kg.data.rules import Rules, parse_rules, read_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.kge.negatives import training_negatives
from deepprooflog.kg.learn.ppo_learner import PpoTrainer, environment_of, policy_of, train_ppo
from deepprooflog.kg.learn.ppo_options import PpoOptions
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.learn.rollout import collect_whole
from deepprooflog.learn.run import loop
from deepprooflog.relational.database import Believe
from deepprooflog.score.embedding.embedding import Embedding
from kg.bottom_up import levels, read_clauses, read_facts

SMALL = PpoOptions(iterations=4, episodes=16, steps=6, positives=64, minibatch=64, validate_every=1)


def made(
    graph: Graph,
    rules: Rules,
    *,
    belief: Belief | None = None,
    believe_at: Believe = "everywhere",
    nesting: int = 1,
    seed: int = 0,
    **scorer: Any,
) -> Prover:
    given = belief is not None
    policy = Embedding(
        program_of(graph, rules, believe=given),
        16,
        f_agg="mean",
        numbers="symbols",
        seed=seed,
        **scorer,
    )
    database = database_of(graph, rules, nesting=nesting, believe=believe_at if given else False)
    return Prover(database, policy, belief, ExploreLimits(depth=10))


def success(prover: Prover, triples: Any, *, leave_out: bool = True) -> torch.Tensor:
    with torch.no_grad():
        return torch.as_tensor(
            prover(torch.from_numpy(np.asarray(triples)), leave_out=leave_out).success
        )


@pytest.fixture(scope="module")
def village() -> tuple[Graph, Rules]:
    graph = read_graph("village")
    assert graph.rules is not None
    return graph, read_rules(graph.rules)


# -- what is learned -------------------------------------------------------------------------------


def test_raises_what_rules_prove_and_nothing_else(village: tuple[Graph, Rules]) -> None:
    """Exact p_success on the village; what is provable is told by joins, not by this engine."""
    graph, rules = village
    folder = SHIPPED / "village"
    least = levels(read_facts(folder / "train.pl"), read_clauses(folder / "rules.pl"), 10)
    positives = graph.train[::5]
    negatives = training_negatives(graph, positives, seed=3).triples
    named = [
        (graph.relations[r], graph.entity_text(h), graph.entity_text(t))
        for h, r, t in negatives.tolist()
    ]
    false = torch.tensor([triple not in least for triple in named])
    assert 0.9 * len(false) < int(false.sum()) < len(false)

    prover = made(graph, rules, constants="shared", false_action=True)
    before, wrong = success(prover, positives), success(prover, negatives)
    provable = before > 0
    assert int(provable.sum()) > 100
    options = PpoOptions(
        iterations=8, episodes=128, steps=12, positives=0, lr=5e-3, entropy=0.02, minibatch=512
    )
    train_ppo(prover, graph, positives, options)
    after, still_wrong = success(prover, positives), success(prover, negatives)
    assert after[provable].mean() > before[provable].mean() + 0.2
    assert float(after[~provable].abs().max()) == 0.0
    assert float(still_wrong[false].abs().max()) == float(wrong[false].abs().max()) == 0.0


TWO_WAYS = graph_of(
    [(f"a{i}", "good", f"b{i}") for i in range(6)]
    + [(f"a{i}", "likes", f"b{i}") for i in range(6)]
    + [("a0", "poor", "c"), ("c", "worse", "d")]
)
CHOICE = parse_rules("likes(X, Y) :- good(X, Y). likes(X, Y) :- poor(X, Z), worse(Y, Z).")


def test_the_choice_that_always_fails_is_unlearned() -> None:
    """likes(a, b) has two rules, and only the first ever succeeds: p_success = π(first) → 1.

    The fact that a query is itself stays left out; without that, p_success would be more.
    """
    prover = made(TWO_WAYS, CHOICE, constants="shared")
    likes = TWO_WAYS.train[TWO_WAYS.train[:, 1] == TWO_WAYS.relation_ids["likes"]]
    options = PpoOptions(
        iterations=12,
        episodes=64,
        steps=4,
        lr=0.03,
        entropy=0.0,
        minibatch=128,
        target_kl=None,
        validate_every=10,
    )
    learned = train_ppo(prover, TWO_WAYS, likes, options)
    assert float(success(prover, likes).min()) > 0.95
    assert learned.steps == learned.best_step == 12
    assert np.isnan(learned.best)
    assert learned.history[-1]["proved_positives"] > learned.history[0]["proved_positives"]
    assert learned.history[-1]["proved_negatives"] == 0.0


# -- the process -----------------------------------------------------------------------------------


def coin(graph: Graph, believed: float) -> Belief:
    """A prior that gives every triple the same probability."""
    kge = ComplEx(len(graph.entities), len(graph.relations), 2)
    offset = torch.full((len(graph.relations),), float(np.log(believed / (1 - believed))))
    calibration = Calibration(torch.zeros(len(graph.relations)), offset.double(), 0.5)
    return Belief(kge, calibration, graph.relations, graph.entities)


@pytest.mark.parametrize("believe_at", get_args(Believe))
def test_rollouts_succeed_as_often_as_p_success_says(believe_at: Believe) -> None:
    """With belief, without memory: rules, facts and the prior's coin, against exact inference."""
    prior = coin(TWO_WAYS, 0.3)
    prover = made(TWO_WAYS, CHOICE, belief=prior, believe_at=believe_at, false_action=True)
    likes = TWO_WAYS.train[TWO_WAYS.train[:, 1] == TWO_WAYS.relation_ids["likes"]][:2]
    exact = success(prover, likes)
    learning = PpoTrainer(prover, TWO_WAYS, likes, PpoOptions(memory=False, positives=0))
    queries = learning.queries(0)
    count = 20_000
    positive = torch.arange(count) % 2
    rollout, _ = collect_whole(
        environment_of(prover, memory=False),
        policy_of(prover),
        queries,
        positive,
        torch.Generator().manual_seed(0),
    )
    expected = float(exact.mean())
    deviation = (expected * (1 - expected) / count) ** 0.5
    assert abs(rollout.tally.success[0] - expected) < 4 * deviation


def test_a_coin_and_nothing_else() -> None:
    """No rules: p_success is π(believe) · 0.3 where the fact itself is left out, π(believe) = 1."""
    nothing = Rules(())
    graph = graph_of([("a", "r", "b"), ("c", "r", "d")])
    prover = made(graph, nothing, belief=coin(graph, 0.3))
    assert success(prover, graph.train).tolist() == pytest.approx([0.3, 0.3])
    learning = PpoTrainer(prover, graph, graph.train, PpoOptions(positives=0))
    rollout, _ = collect_whole(
        learning.learner.environment,
        learning.learner.policy,
        learning.queries(0),
        torch.zeros(10_000, dtype=torch.int64),
        torch.Generator().manual_seed(0),
    )
    assert abs(rollout.tally.success[0] - 0.3) < 4 * (0.3 * 0.7 / 10_000) ** 0.5


def test_queries_of_an_iteration(village: tuple[Graph, Rules]) -> None:
    """As many negatives as positives, none of them in train, other ones in the next iteration."""
    graph, rules = village
    prover = made(graph, rules, constants="shared")
    learning = PpoTrainer(prover, graph, graph.train, SMALL)

    def triples(iteration: int) -> tuple[np.ndarray, np.ndarray, torch.Tensor]:
        queries = learning.queries(iteration)
        rows = queries.goals.atoms[:, 0, [1, 0, 2]].long().numpy()
        positive = queries.label.numpy() == 1
        return rows[positive], rows[~positive], queries.goals.left_out[queries.label == 1]

    positive, negative, left_out = triples(0)
    assert len(positive) == len(negative) == SMALL.positives
    assert graph.holds(positive, ("train",)).all() and not graph.holds(negative, ("train",)).any()
    changed = (positive != negative).sum(1)
    assert (changed == 1).all() and (positive[:, 1] == negative[:, 1]).all()
    assert len(set(left_out.tolist())) == SMALL.positives and int(left_out.min()) >= 0
    other, _, _ = triples(1)
    assert not np.array_equal(positive, other)
    again, _, _ = triples(0)
    assert np.array_equal(positive, again)


def test_negatives_are_made_of_candidates(village: tuple[Graph, Rules]) -> None:
    """Only tails are replaced, and only by the first ten entities."""
    graph, rules = village
    few = Candidates(("tail",), np.arange(10))
    learning = PpoTrainer(made(graph, rules), graph, graph.train[:30], SMALL, candidates=few)
    queries = learning.queries(3)
    count = int(queries.label.sum())
    # A query is its goal's only atom: predicate, head, tail.
    rows = queries.goals.atoms[:, 0, :3].tolist()
    positives, negatives = rows[:count], rows[count:]
    asked = {(relation, head) for relation, head, _ in positives}
    assert len(negatives) > 20
    for relation, head, tail in negatives:
        assert tail < 10
        assert (relation, head) in asked


# -- a run -----------------------------------------------------------------------------------------


class Killed(Exception):
    pass


def weights(prover: Prover) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in prover.policy.parameters()])


def mean_success(graph: Graph) -> Any:
    return lambda prover: float(success(prover, graph.valid[:40], leave_out=False).mean())


def test_resumed_as_if_never_killed(
    village: tuple[Graph, Rules], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the third iteration, resumed from the file: bit for bit the uninterrupted run."""
    graph, rules = village
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    whole = made(graph, rules, constants="shared", false_action=True)
    validate = mean_success(graph)
    reference = train_ppo(whole, graph, graph.train, SMALL, validate=validate)

    def kill(row: dict[str, float]) -> None:
        if row["step"] == 3:
            raise Killed

    path = tmp_path / "checkpoint.pt"
    first = made(graph, rules, constants="shared", false_action=True)
    with pytest.raises(Killed):
        train_ppo(first, graph, graph.train, SMALL, validate=validate, path=path, on_row=kill)
    second = made(graph, rules, constants="shared", false_action=True, seed=5)
    rows: list[dict[str, float]] = []
    resumed = train_ppo(
        second, graph, graph.train, SMALL, validate=validate, path=path, on_row=rows.append
    )
    assert [row["step"] for row in rows] == [3.0, 4.0]
    assert torch.equal(weights(second), weights(whole))
    assert resumed.best == reference.best and resumed.best_step == reference.best_step
    for row, expected in zip(resumed.history, reference.history, strict=True):
        clocks = {"seconds", "steps_per_second", "rollout_steps_per_second"}
        assert {k: v for k, v in row.items() if k not in clocks} == {
            k: v for k, v in expected.items() if k not in clocks
        }


@pytest.mark.parametrize(("values", "best"), [([0.0, 2.0, 1.0, 1.0], 1), ([0.0, 2.0, 1.0, 2.0], 1)])
def test_the_best_weights_are_kept_and_patience_ends_a_run(
    village: tuple[Graph, Rules], values: list[float], best: int
) -> None:
    """The highest look, of equals the first; two looks without a higher one, and it ends."""
    graph, rules = village
    prover = made(graph, rules, constants="shared")
    told = iter(values)
    looked: list[torch.Tensor] = []

    def validate(current: Prover) -> float:
        looked.append(weights(current).clone())
        return next(told)

    options = PpoOptions(**{**vars(SMALL), "iterations": 9, "patience": 2})
    learned = train_ppo(prover, graph, graph.train, options, validate=validate)
    assert learned.steps == 3 and learned.best_step == best and learned.best == 2.0
    assert torch.equal(weights(prover), looked[best])
    assert not torch.equal(looked[1], looked[3])


def test_entropy_fades_as_told() -> None:
    settings = PpoOptions(iterations=5, entropy=0.2, entropy_end=0.0)
    assert [settings.entropy_at(i) for i in range(5)] == pytest.approx([0.2, 0.15, 0.1, 0.05, 0.0])
    assert PpoOptions().entropy_at(150) == 0.2


def test_what_cannot_be_trained_is_refused(village: tuple[Graph, Rules], tmp_path: Path) -> None:
    graph, rules = village
    prover = made(graph, rules, constants="shared")
    with pytest.raises(DataError, match="no triples"):
        train_ppo(prover, graph, graph.train[:0], SMALL)
    for name, value in (
        ("lr", 0.0),
        ("validate_every", 0),
        ("entropy", float("nan")),
    ):
        with pytest.raises(DataError, match=f"{name} is "):
            PpoOptions(**{name: value})  # type: ignore[arg-type]
    path = tmp_path / "checkpoint.pt"
    options = PpoOptions(**{**vars(SMALL), "iterations": 1})
    train_ppo(prover, graph, graph.train, options, path=path)
    with pytest.raises(DataError, match="another iterations"):
        train_ppo(prover, graph, graph.train, SMALL, path=path)
    other = graph_of([("a", "r", "b"), ("c", "r", "d")])
    with pytest.raises((DataError, ModelError), match=r"fit this graph|other symbols"):
        train_ppo(made(other, Rules(())), other, other.train, options, path=path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="damaged"):
        train_ppo(prover, graph, graph.train, options, path=path)


def test_scalars_for_tensorboard(village: tuple[Graph, Rules], tmp_path: Path) -> None:
    """Read back by TensorBoard itself: one value of each curve for each iteration."""
    reading = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="tensorboard is not installed",
    )
    graph, rules = village
    prover = made(graph, rules, constants="shared")
    learned = train_ppo(prover, graph, graph.train, SMALL, scalars=tmp_path)
    events = reading.EventAccumulator(str(tmp_path)).Reload()
    assert {"reward", "proved_positives", "entropy"} <= set(events.Tags()["scalars"])
    found = [(e.step, e.value) for e in events.Scalars("reward")]
    expected = [(int(row["step"]), row["reward"]) for row in learned.history]
    assert found == [(step, pytest.approx(value, abs=1e-6)) for step, value in expected]


def test_without_tensorboard_the_message_says_what_to_install(
    village: tuple[Graph, Rules], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    graph, rules = village
    prover = made(graph, rules, constants="shared")
    with pytest.raises(ModelError, match="TensorBoard is not installed"):
        train_ppo(prover, graph, graph.train, SMALL, scalars=tmp_path)
