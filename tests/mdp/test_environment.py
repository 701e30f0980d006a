"""The batched environment against the plain one, episode by episode along random derivations."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import strategies as st

from deepprooflog.errors import ModelError
from deepprooflog.graph.goalgraph import goal_text
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.program import BodyOrder, Program
from deepprooflog.mdp.environment import (
    FALSE,
    Actions,
    Environment,
    Process,
    Queries,
    actions,
    reset,
    restart,
    step,
)
from deepprooflog.relational.database import Database
from mdp import reference
from programs.fresh import fresh
from programs.function_free import ORDERS, Asked, episodes

RANDOMS = st.randoms(use_true_random=False)
"""Which way an episode goes; it shrinks to the first way."""


def text(goal: Goal) -> str:
    """A goal with its answer."""
    return f"{goal_text(goal, 99)} | {', '.join(map(str, goal.answer))}"


def shown(database: Database, offered: Actions) -> list[dict[str, tuple[int, bool]]]:
    """By episode: each successor as text, with its row and whether it is open."""
    result: list[dict[str, tuple[int, bool]]] = [{} for _ in range(len(offered.start) - 1)]
    rows = zip(
        offered.episode.tolist(), database.decode(offered.goals), offered.open.tolist(), strict=True
    )
    for number, (episode, goal, is_open) in enumerate(rows):
        assert text(goal) not in result[episode], "N(G) is a set"
        result[episode][text(goal)] = (number, is_open)
    return result


def labelled(database: Database, queries: Sequence[str], labels: list[int], **kw: bool) -> Queries:
    return Queries(database.goals(queries, **kw), torch.tensor(labels))


def play(
    program: Program, queries: Sequence[str], process: Process, dice: random.Random, leave: bool
) -> int:
    """Random episodes in both environments at once; how many steps were compared."""
    database = Database.of(program)
    labels = [dice.randint(0, 1) for _ in queries]
    environment = Environment(database, process)
    state = reset(environment, labelled(database, queries, labels, leave_out=leave))
    episodes = [
        reference.begin(program, q, y, leave_out=leave)
        for q, y in zip(queries, labels, strict=True)
    ]
    compared = 0
    while not bool(state.over.all()):
        offered = actions(environment, state)
        found = shown(database, offered)
        chosen, taken = [], []
        for i, episode in enumerate(episodes):
            expected = reference.offers(episode, process)
            mask = {text(g): o for g, o in zip(expected.goals, expected.open, strict=True)}
            assert mask == {goal: is_open for goal, (_, is_open) in found[i].items()}
            assert bool(offered.false[i]) == expected.false
            free = [n for n, is_open in enumerate(expected.open) if is_open]
            pick = dice.choice(free) if free and dice.random() < 0.9 else None
            if pick is None and free and not expected.false:
                pick = free[0]
            taken.append(pick)
            chosen.append(FALSE if pick is None else found[i][text(expected.goals[pick])][0])
            compared += len(mask)
        outcome = step(environment, state, offered, torch.tensor(chosen))
        for i, pick in enumerate(taken):
            before = episodes[i]
            episodes[i], reward = reference.step(before, process, pick)
            end = episodes[i].end
            fresh = before.end is None
            assert outcome.reward[i].item() == reward
            assert bool(outcome.state.over[i]) == (end is not None)
            assert bool(outcome.truncated[i]) == (fresh and end is reference.End.CUT)
            assert bool(outcome.proved[i]) == (fresh and end is reference.End.PROVED)
            assert int(outcome.state.depth[i]) == episodes[i].depth
        goals = [text(g) for g in database.decode(outcome.state.goals)]
        assert goals == [text(e.goal) for e in episodes]
        state = outcome.state
    return compared


@pytest.mark.parametrize("false_action", [False, True])
def test_guards_are_steps_without_a_choice(false_action: bool) -> None:
    """Where one holds there is one action, where it does not there is none; False is no other."""
    text = (
        "n(1). n(2). n(3). r(X, Y) :- n(X), n(Y), X < Y. s(X, Y) :- n(X), n(Y), X \\= Y, r(X, Y)."
    )
    queries = [f"{r}({x}, {y})" for r in "rs" for x in (1, 2, 3) for y in (1, 2, "Y")]
    for seed in range(5):
        process = Process(false_action=false_action, memory=False)
        compared = play(Program(text), queries, process, random.Random(seed), False)
        assert compared > len(queries)


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("false_action", [False, True])
def test_equal_to_the_plain_environment(memory: bool, false_action: bool) -> None:
    """Successors, masks, rewards, ends and depths along random episodes of random programs."""
    process = Process(max_depth=6, memory=memory, false_action=false_action)
    compared = []

    @fresh(20, episodes(), ORDERS, RANDOMS, st.booleans())
    def compare(asked: Asked, order: BodyOrder, dice: random.Random, leave: bool) -> None:
        compared.append(play(asked.program(order), asked.queries * 2, process, dice, leave))

    compare()
    assert sum(compared) > 1000


def test_equal_on_family(data_dir: Path) -> None:
    """Training facts as queries, each without itself, bound first."""
    folder = data_dir / "kg" / "family"
    rules = []
    for line in (folder / "rules.txt").read_text().splitlines():
        body, head = line.split(":", 2)[2].split("->")
        clause = f"{head.strip()} :- {body.strip()}."
        rules.append(re.sub(r"\b([a-z])\b(?!\()", lambda m: m[1].upper(), clause))
    facts = (folder / "train.txt").read_text()
    program = Program("\n".join(rules) + "\n" + facts, order="bound_first")
    queries = [line.rstrip(".") for line in facts.splitlines()[::400]]
    assert play(program, queries, Process(max_depth=5), random.Random(0), leave=True) > 500


LOOP = "p(X) :- q(X). q(X) :- p(X). q(a)."


def test_memory_excludes_the_query_itself() -> None:
    """p(a) → q(a) → p(a) would be a loop: of q(a)'s successors only True is left."""
    database = Database.of(Program(LOOP))
    queries = labelled(database, ["p(a)"], [1])
    for memory, expected in ((True, [False, True]), (False, [True, True])):
        environment = Environment(database, Process(memory=memory))
        state = reset(environment, queries)
        state = step(environment, state, actions(environment, state), torch.tensor([0])).state
        offered = actions(environment, state)
        shown_goals = [goal_text(g) for g in database.decode(offered.goals)]
        assert dict(zip(shown_goals, offered.open.tolist(), strict=True)) == dict(
            zip(["p(a)", "true"], expected, strict=True)
        )


def test_no_action_left_is_failure() -> None:
    """p(b) → q(b) → p(b), which was visited: the episode fails, at no reward."""
    database = Database.of(Program(LOOP + " p(b) :- q(b)."))
    environment = Environment(database, Process(false_action=False))
    state = reset(environment, labelled(database, ["p(b)"], [0]))
    state = step(environment, state, actions(environment, state), torch.tensor([0])).state
    offered = actions(environment, state)
    assert not offered.open.any() and not offered.false.any()
    outcome = step(environment, state, offered, torch.tensor([FALSE]))
    assert outcome.terminated.item() and outcome.reward.item() == 0


def test_a_training_query_may_not_prove_itself() -> None:
    database = Database.of(Program("p(a). p(X) :- q(X). q(a)."))
    environment = Environment(database, Process())
    for leave_out, count in ((False, 2), (True, 1)):
        queries = labelled(database, ["p(a)"], [1], leave_out=leave_out)
        assert len(actions(environment, reset(environment, queries))) == count


def test_restart_puts_new_episodes_in_place_of_ended_ones() -> None:
    """The ended episode's memory goes with it: p(a) may be visited again."""
    database = Database.of(Program(LOOP))
    environment = Environment(database, Process())
    queries = labelled(database, ["p(a)", "q(a)"], [1, 0])
    state = reset(environment, queries, torch.tensor([0, 1]))
    offered = actions(environment, state)
    goals = [goal_text(g) for g in database.decode(offered.goals)]
    chosen = torch.tensor([goals.index("q(a)"), goals.index("true")])
    outcome = step(environment, state, offered, chosen)
    assert outcome.reward.tolist() == [0.0, -1.0]
    state = restart(environment, outcome.state, queries, torch.tensor([0, 0]))
    assert state.depth.tolist() == [1, 0] and state.label.tolist() == [1, 1]
    assert state.query.tolist() == [0, 0] and not state.over.any()
    found = shown(database, actions(environment, state))
    assert {g.split(" |")[0]: o for g, (_, o) in found[0].items()} == {"p(a)": False, "true": True}
    assert {g.split(" |")[0]: o for g, (_, o) in found[1].items()} == {"q(a)": True}


def test_restart_with_wider_queries() -> None:
    """Ground episodes give way to open ones: p(X) → q(X) → p(X) is a loop with its answer, too."""
    database = Database.of(Program(LOOP))
    environment = Environment(database, Process())
    state = reset(environment, labelled(database, ["q(a)"], [1]))
    offered = actions(environment, state)
    goals = [goal_text(g) for g in database.decode(offered.goals)]
    state = step(environment, state, offered, torch.tensor([goals.index("true")])).state
    opened = labelled(database, ["p(X), q(Y)", "p(X)"], [1, 1])
    state = restart(environment, state, opened, torch.tensor([1]))
    for expected in ({"q(_0)": True}, {"p(_0)": False, "true": True}):
        offered = actions(environment, state)
        found = {g.split(" |")[0]: o for g, (_, o) in shown(database, offered)[0].items()}
        assert found == expected
        state = step(environment, state, offered, torch.tensor([0])).state


BELIEF = """
nn(kge, [R, X, Y]) :: believe(R, X, Y).
p(X, Y) :- q(X, Z), p(Z, Y).
p(X, Y) :- believe(p, X, Y).
q(a, b).
"""


def test_a_neural_fact_is_decided_by_its_network() -> None:
    """believe(p, a, b) holds with probability 0.3: so many of 4,000 episodes are proved."""
    database = Database.of(Program(BELIEF))
    constant = database.symbols.constant

    def belief(atoms: torch.Tensor) -> torch.Tensor:
        from deepprooflog.syntax.terms import Atom

        assert atoms.shape[1] == 4
        expected = [constant(Atom(name)) for name in ("p", "a", "b")]
        assert (atoms[:, 1:] == torch.tensor(expected)).all()
        return torch.full((len(atoms),), 0.3).log()

    environment = Environment(database, Process(), belief)
    count = 4000
    queries = labelled(database, ["p(a, b)"], [1])
    state = reset(environment, queries, torch.zeros(count, dtype=torch.int64))
    offered = actions(environment, state)
    atoms = [goal_text(g) for g in database.decode(offered.goals.select(torch.arange(2)))]
    rule = next(i for i, t in enumerate(atoms) if t.startswith("believe"))
    chosen = offered.start[:-1] + rule
    state = step(environment, state, offered, chosen).state
    offered = actions(environment, state)
    assert offered.chance.all() and not offered.false.any() and len(offered) == count
    generator = torch.Generator().manual_seed(0)
    outcome = step(environment, state, offered, offered.start[:-1], generator)
    assert outcome.terminated.all()
    share = outcome.proved.double().mean().item()
    assert abs(share - 0.3) < 4 * (0.3 * 0.7 / count) ** 0.5
    assert (outcome.reward == outcome.proved.float()).all()


def test_a_neural_fact_without_a_network_is_refused() -> None:
    database = Database.of(Program(BELIEF))
    environment = Environment(database, Process())
    state = reset(environment, labelled(database, ["p(a, b)"], [1]))
    with pytest.raises(ModelError, match="nothing decides them"):
        step(environment, state, actions(environment, state), torch.tensor([0]))
