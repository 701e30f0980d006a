"""SBR, DCR and R2N against their formulas, worked out one grounding at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.belief.prior import as_belief
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.ground.backward import Grounder
from deepprooflog.kg.ground.dcr import Dcr
from deepprooflog.kg.ground.options import GroundedOptions, SystemOptions
from deepprooflog.kg.ground.r2n import R2n
from deepprooflog.kg.ground.reasoner import GroundReasoner, make_system, pooled
from deepprooflog.kg.ground.sbr import Sbr
from deepprooflog.kg.ground.system import AtomStates, PerRule
from deepprooflog.kg.ground.table import BY_NAME
from deepprooflog.kg.ground.tnorms import TNORMS
from deepprooflog.kg.ground.training import GroundObjective, train_reasoner
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.kge.negatives import training_negatives
from deepprooflog.learn.run.settings import options_from
from kg.ground.plain import PlainGrounder, Triple

RULES = """
gran(X, Y) :- mother(X, Z), mother(Z, Y).
mother(X, Y) :- child(Y, X).
child(X, Y) :- mother(Y, X).
gran(X, Y) :- gran(X, Z), sister(Z, Y).
"""
FACTS = [
    ("ann", "mother", "bea"), ("cy", "child", "bea"), ("cy", "sister", "dee"),
    ("eve", "mother", "ann"), ("eve", "gran", "cy"), ("dee", "sister", "cy"),
]  # fmt: skip
DIMENSION = 3


def family() -> Graph:
    return graph_of([*FACTS])


def reasoner(width: int, depth: int, **system: object) -> GroundReasoner:
    """A system over an embedding with random weights."""
    graph = family()
    torch.manual_seed(1)
    kge = ComplEx(len(graph.entities), len(graph.relations), DIMENSION, scale=0.7)
    offset = torch.tensor([2.0, 2.0, 2.0, -3.0])  # gran is held improbable
    lines = Calibration(torch.ones(4), offset, 0.5)
    grounder = Grounder.of(graph, parse_rules(RULES), width=width, depth=depth)
    options = options_from(SystemOptions, {"dimension": 5, **system})
    return GroundReasoner(
        as_belief(kge, lines, graph), make_system(options, grounder, 2 * DIMENSION), grounder
    )


def every_triple(graph: Graph) -> Tensor:
    sizes = len(graph.entities), len(graph.relations), len(graph.entities)
    return torch.cartesian_prod(*map(torch.arange, sizes))


def by_hand(
    plain: PlainGrounder, p: dict[Triple, float], query: Triple, depth: int, tnorm: str
) -> float:
    """v(a) = max(p(a), max ⊗ v(b)), a fact's value in a body being the embedding's."""
    values = [p[query]]
    for _, _, body in plain.kept(query, depth):
        atoms = [by_hand(plain, p, b, 0 if b in plain.facts else depth - 1, tnorm) for b in body]
        joined = {
            "product": math.prod(atoms), "minimum": min(atoms),
            "lukasiewicz": max(0.0, 1 - sum(1 - v for v in atoms)),
        }  # fmt: skip
        values.append(joined[tnorm])
    return max(values)


@pytest.mark.parametrize(
    ("width", "depth", "tnorm"),
    [(0, 1, "product"), (1, 2, "product"), (2, 3, "minimum"), (1, 2, "lukasiewicz")],
)
def test_sbr_is_its_recursion(width: int, depth: int, tnorm: str) -> None:
    graph, model = family(), reasoner(width, depth, kind="sbr", tnorm=tnorm)
    triples = every_triple(graph)
    rows: list[Triple] = [(h, r, t) for h, r, t in triples.tolist()]
    p = dict(zip(rows, model.belief.of_triples(triples).sigmoid().tolist(), strict=True))
    facts = frozenset((h, r, t) for h, r, t in graph.train.tolist())
    plain = PlainGrounder(facts, model.grounder.rules, width, len(graph.entities))
    asked = [row for row in rows if graph.relations[row[1]] in ("gran", "child")]
    scores = model(torch.tensor(asked))
    expected = [by_hand(plain, p, row, depth, tnorm) for row in asked]
    assert isinstance(model.system, Sbr) and not [*model.system.parameters()]
    torch.testing.assert_close(scores.value, torch.tensor(expected, dtype=torch.float64))
    assert (scores.by_rules > scores.embedding).any()
    both = torch.maximum(scores.embedding, scores.by_rules)
    torch.testing.assert_close(scores.value, both, rtol=0, atol=0)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_tnorms_are_conjunctions(values: list[float]) -> None:
    """Each has 1 as its neutral element, no order, and lies below the minimum."""
    given_values = torch.tensor(values, dtype=torch.float64)
    found = {name: float(norm(given_values)) for name, norm in TNORMS.items()}
    for name, norm in TNORMS.items():
        with_one = torch.cat([given_values, given_values.new_ones(1)])
        assert math.isclose(float(norm(with_one)), found[name], abs_tol=1e-12)
        assert math.isclose(float(norm(given_values.flip(0))), found[name], abs_tol=1e-12)
    assert found["lukasiewicz"] <= found["product"] + 1e-12 <= found["minimum"] + 2e-12


def test_dcr_is_sbr_where_every_atom_counts_as_it_stands() -> None:
    plain, model = reasoner(1, 2, kind="sbr"), reasoner(1, 2, kind="dcr")
    assert isinstance(model.system, Dcr)
    with torch.no_grad():
        model.system.literal.weight.zero_()
        model.system.literal.bias.fill_(60.0)
    triples = every_triple(family())
    torch.testing.assert_close(model(triples).value, plain(triples).value)


def test_a_sign_negates_and_a_filter_leaves_out() -> None:
    """Of v = (.9, .2): the first negated gives .1 · .2, the second left out .9."""
    system = Dcr(1, 2, 1, 3, TNORMS["product"])
    atoms = AtomStates(torch.tensor([[0.9, 0.2]]).double(), torch.zeros(1, 2, 3))
    present, rule = torch.ones(1, 2, dtype=torch.bool), torch.tensor([0])
    for signs, filters, expected in (((-60, 60), (60, 60), 0.02), ((60, 60), (60, -60), 0.9)):
        with torch.no_grad():
            system.literal.bias.copy_(torch.tensor([*zip(signs, filters, strict=True)]))
        found = system.bodies(rule, atoms, present).value.item()
        assert math.isclose(found, expected, rel_tol=1e-6)


def test_r2n_is_its_networks() -> None:
    """One body of rule 1, layer by layer; a missing atom is 0."""
    torch.manual_seed(0)
    system = R2n(2, 3, 1, 4, TNORMS["product"])
    vector, value = torch.randn(1, 3, 4), torch.tensor([[0.3, 0.8, 0.5]]).double()
    present = torch.tensor([[True, True, False]])
    found = system.bodies(torch.tensor([1]), AtomStates(value, vector), present)
    given_vector = torch.cat(
        [vector[0, 0], torch.tensor([0.3]), vector[0, 1], torch.tensor([0.8]), torch.zeros(5)]
    )
    inner = torch.relu(given_vector @ system.hidden.weight[1] + system.hidden.bias[1])
    message = torch.tanh(inner @ system.message.weight[1] + system.message.bias[1])
    torch.testing.assert_close(found.vector[0], message)
    logit = message @ system.read.weight[0] + system.read.bias[0]
    torch.testing.assert_close(found.value[0], logit.sigmoid().double())


def test_atoms_are_pooled_by_the_maximum() -> None:
    model = reasoner(0, 1, kind="r2n")
    [found] = model.grounder.rounds(every_triple(family()))
    own = AtomStates(torch.full((len(found.asked),), 0.5), torch.zeros(len(found.asked), 2))
    values = torch.linspace(0.1, 0.9, len(found))
    states = pooled(found, own, AtomStates(values, torch.stack([values, -values], 1)))
    for at in range(len(found.asked)):
        mine = values[found.head == at].tolist()
        assert math.isclose(float(states.value[at]), max([0.5, *mine]), abs_tol=1e-6)
        assert math.isclose(float(states.vector[at, 0]), max([0.0, *mine]), abs_tol=1e-6)
        assert float(states.vector[at, 1]) == 0.0


def test_a_map_for_each_rule() -> None:
    maps, x = PerRule(3, 2, 1), torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rule = torch.tensor([2, 0, 2])
    expected = [x[i] @ maps.weight[r] + maps.bias[r] for i, r in enumerate(rule.tolist())]
    torch.testing.assert_close(maps(rule, x), torch.stack(expected))


def test_half_the_loss_is_the_embeddings() -> None:
    """−log p − Σ log(1 − p') of both, halved; without a grounding the system is the embedding."""
    model, graph = reasoner(0, 1, kind="sbr"), family()
    options = SystemOptions(negatives=4)
    objective = GroundObjective(model, graph, graph.train, options)
    found = objective.losses(torch.tensor([0]))
    drawn = training_negatives(graph, graph.train[:1], 4, 0, 0)
    scores = model(torch.from_numpy(np.concatenate([graph.train[:1], drawn.triples])))
    expected = 0.0
    rules, alone = scores.by_rules.tolist(), scores.embedding.tolist()
    for p in (alone, [v or q for v, q in zip(rules, alone, strict=True)]):
        expected += 0.5 * (-math.log(p[0]) - sum(math.log(1 - q) for q in p[1:]))
    assert math.isclose(float(found), expected, rel_tol=1e-6)


@pytest.mark.parametrize("kind", BY_NAME)
def test_training_lowers_the_loss(kind: str) -> None:
    model, graph = reasoner(1, 2, kind=kind), family()
    options = options_from(
        SystemOptions,
        {"kind": kind, "steps": 12, "batch": 6, "negatives": 4, "kge_lr": 0.05, "lr": 0.05,
         "validate_every": 6},
    )  # fmt: skip
    learned = train_reasoner(model, graph, graph.train, options)
    losses = [row["loss"] for row in learned.history]
    assert losses[-1] < losses[0]


def test_what_leaves_nothing_to_learn_is_refused() -> None:
    with pytest.raises(DataError, match="no weights of its own"):
        options_from(GroundedOptions, {"system": "sbr", "system.kge_lr": 0.0})
    with pytest.raises(DataError, match="over the scores of an embedding"):
        options_from(GroundedOptions, {"prior": "none"})
    with pytest.raises(DataError, match="no triples to learn from"):
        train_reasoner(reasoner(0, 1), family(), family().valid, SystemOptions())
