"""The prior as clauses: what is offered when, and what the embedding says of a triple."""

from __future__ import annotations

import math

import pytest
import torch

from deepprooflog.errors import ModelError, ProgramError
from deepprooflog.kg.belief.believe import Belief, with_belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.rotate import RotatE
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import PredicateKind, Program
from deepprooflog.logic.resolve import start, successors
from deepprooflog.model import Model
from deepprooflog.score.network import Network
from deepprooflog.syntax.terms import Atom, Functor
from deepprooflog.syntax.writer import write_term

TEXT = """
    parent(ann, bob). parent(bob, cid).
    grandparent(X, Z) :- parent(X, Y), parent(Y, Z).
"""
WRITTEN_OUT = """
    nn(kge, [R, X, Y]) :: believe(R, X, Y).
    parent(ann, bob). parent(bob, cid).
    parent(X, Y) :- ground(X), ground(Y), !, believe(parent, X, Y).
    grandparent(X, Z) :- parent(X, Y), parent(Y, Z).
    grandparent(X, Y) :- ground(X), ground(Y), !, believe(grandparent, X, Y).
    rival(X, Y) :- ground(X), ground(Y), !, believe(rival, X, Y).
"""
RELATIONS = ["parent", "grandparent", "rival"]
NAMES = [Atom(name) for name in ("ann", "bob", "cid")]


def texts(goal: Goal) -> tuple[str, ...]:
    return tuple(write_term(atom) for atom in goal.atoms)


def reachable(program: Program, query: str) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Every goal that can be reached without a network's answer, with its successors."""
    interner = Interner()
    todo = [start(program.query(query).atoms, interner)]
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    while todo:
        goal = todo.pop()
        if texts(goal) in found or not goal.atoms:
            continue
        following = [step.goal for step in successors(program, goal, interner)]
        found[texts(goal)] = [texts(g) for g in following]
        todo += following
    return found


@pytest.mark.parametrize("order", ["written", "bound_first"])
@pytest.mark.parametrize("query", ["grandparent(ann, cid)", "grandparent(ann, X)", "rival(bob, X)"])
def test_it_is_the_program_written_out(query: str, order: str) -> None:
    """Goals and steps as of the same clauses read from a text."""
    assert order in ("written", "bound_first")
    believing = with_belief(Program(TEXT, order=order), RELATIONS)  # type: ignore[arg-type]
    by_hand = Program(WRITTEN_OUT, order=order)  # type: ignore[arg-type]
    assert reachable(believing, query) == reachable(by_hand, query)


def test_belief_waits_for_ground_arguments() -> None:
    """An open goal calls no belief; a ground one its own, and that of what became ground."""
    program = with_belief(TEXT, RELATIONS)

    def believed(query: str) -> set[str]:
        first = {goal[0] for goal in reachable(program, query)}
        return {atom for atom in first if atom.startswith("believe")}

    assert believed("grandparent(ann, X)") == set()
    expected = {"believe(grandparent,ann,cid)", "believe(parent,bob,cid)"}
    assert believed("grandparent(ann, cid)") == expected


def test_the_program_itself_is_left_alone() -> None:
    """The clauses are new ones; facts, left-out facts and the text's order stay."""
    program = Program(TEXT, order="bound_first")
    parent = Functor("parent", 2)
    view = with_belief(program.without(program.query("parent(ann, bob)").atoms[0]), ["parent"])  # type: ignore[arg-type]
    assert program.size(parent) == 2 and not program.defines(Functor("believe", 3))
    found = view.candidates(parent, (Atom("ann"), Atom("bob")))
    assert [len(clause.body) for clause in found] == [4]
    assert view.order == "bound_first" and view.reaches_choice(Functor("grandparent", 2))
    assert view.predicates[Functor("believe", 3)].kind is PredicateKind.NEURAL
    assert list(view.networks()) == ["kge"]


def test_a_relation_named_twice_is_believed_once() -> None:
    program = with_belief(TEXT, ["parent", "parent"])
    assert program.size(Functor("parent", 2)) == 3


def test_programs_that_cannot_be_believed() -> None:
    with pytest.raises(ProgramError, match="defines believe/3 itself"):
        with_belief("believe(a, b, c).", ["r"])
    with pytest.raises(ProgramError, match="r/2 is labelled"):
        with_belief("0.5 :: r(a, b).", ["r"])


def small_belief() -> Belief:
    torch.manual_seed(0)
    line = Calibration(torch.tensor([0.5, 2.0]), torch.tensor([0.1, -1.0]), base_rate=0.5)
    return Belief(RotatE(3, 2, 4, margin=2.0), line, ["parent", "rival"], NAMES)


def test_the_probability_of_a_triple() -> None:
    """σ(slope · score + offset) of the triple's relation, in the order of the label."""
    belief = small_belief()
    slope, offset = (0.5, 2.0), (0.1, -1.0)
    for r in range(2):
        for h in range(3):
            for t in range(3):
                index = [torch.tensor([i]) for i in (r, h, t)]
                score = belief.kge.score(index[1], index[0], index[2]).item()
                p = 1 / (1 + math.exp(-(slope[r] * score + offset[r])))
                assert belief.log_probability(*index).exp().item() == pytest.approx(p, rel=1e-6)


def test_names_have_numbers() -> None:
    belief = small_belief()
    assert [belief.number(0, Atom("rival")), belief.number(2, Atom("cid"))] == [1, 2]
    with pytest.raises(ModelError, match="knows no entity dan"):
        belief.number(1, Atom("dan"))
    with pytest.raises(ModelError, match="knows no relation ann"):
        belief.number(0, Atom("ann"))


def test_the_embedding_can_be_trained_through_belief_and_saved() -> None:
    belief = small_belief()
    index = torch.tensor([0, 1])
    belief.log_probability(index, index, index + 1).sum().backward()
    assert isinstance(belief.kge, Kge) and belief.kge.entity.grad is not None
    assert belief.kge.entity.grad.abs().sum() > 0
    other = small_belief()
    with torch.no_grad():
        other.get_buffer("slope").zero_()
    other.load_state_dict(belief.state_dict())
    torch.testing.assert_close(other(index, index, index), belief(index, index, index))


def test_belief_must_fit_its_embedding() -> None:
    line = Calibration(torch.ones(3), torch.zeros(3), base_rate=0.5)
    with pytest.raises(ModelError, match="calibration is for 3 relations, the embedding has 2"):
        Belief(RotatE(3, 2, 4), line)
    good = Calibration(torch.ones(2), torch.zeros(2), base_rate=0.5)
    with pytest.raises(ModelError, match="1 entities are named"):
        Belief(RotatE(3, 2, 4), good, entities=[Atom("ann")])


def test_success_is_a_mixture_of_proof_and_belief() -> None:
    """Clauses weigh 1: what rules and the prior give adds up, with the prior's gradient."""
    belief = small_belief()
    belief = Belief(belief.kge, belief.calibration, ["parent", "grandparent"], NAMES)
    program = with_belief(TEXT, ["parent", "grandparent"])
    model = Model(program, networks={"kge": Network(belief, number=belief.number)})

    def p(*numbers: int) -> float:
        return belief.log_probability(*(torch.tensor([i]) for i in numbers)).exp().item()

    ann, bob, cid = range(3)
    assert model.prob("parent(cid, ann)") == pytest.approx(p(0, cid, ann))
    log = model.log_prob(["grandparent(bob, ann)", "parent(cid, bob)"])
    # bob's child cid is believed to be ann's parent, or bob her grandparent.
    expected = [p(1, bob, ann) + p(0, cid, ann), p(0, cid, bob)]
    assert log.exp().tolist() == pytest.approx(expected)
    log.sum().backward()
    assert isinstance(belief.kge, Kge) and belief.kge.entity.grad is not None
    assert belief.kge.entity.grad.abs().sum() > 0
    proof = model.best_proof("parent(cid, ann)")
    assert proof.check() and [node.kind for node in proof.nodes] == ["rule", "neural"]
    with pytest.raises(ModelError, match="knows no entity dan"):
        model.prob("parent(dan, ann)")
