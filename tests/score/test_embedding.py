"""The softmax of eq. resTransOur over the distinct successors of each goal."""

from __future__ import annotations

import copy
import io
import math
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import goal
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.scorer import Scene
from deepprooflog.syntax.terms import Functor
from score.scenes import mass, scene_of, transitions

F_ATOM = ["mlp", "transe", "distmult", "complex", "rotate"]
F_AGG = ["sum", "mean", "attention", "gru"]


def predicate_itself(predicate: Tensor, arguments: Tensor) -> Tensor:
    return predicate


def given(program: Program, vectors: dict[str, list[float]], **options: object) -> Embedding:
    """A scorer with these vectors for predicates of arity 0, True and False."""
    scorer = Embedding(program, dim=2, f_atom=predicate_itself, **options).double()  # type: ignore[arg-type]
    with torch.no_grad():
        for name, vector in vectors.items():
            value = torch.tensor(vector, dtype=torch.float64)
            if name in ("True", "False"):
                getattr(scorer, name.lower()).copy_(value)
            else:
                scorer.terms.symbols[scorer.vocabulary.rows[Functor(name, 0)]] = value
    return scorer


CHAIN = Program("p :- q, r. p :- q. p :- r, r. q. r.")
VECTORS = {"p": [1.0, 2.0], "q": [0.5, 0.0], "r": [0.0, -0.25], "True": [0.0, 3.0]}


def by_goal(program: Program, query: str, scorer: Embedding) -> dict[tuple[str, str], float]:
    return {(s, t): w for s, t, w in transitions(scene_of(program, query), scorer)}


def test_softmax_by_hand() -> None:
    """e_p · e_G' with sums as goals: (q, r) 0.5 − 0.5, q 0.5, (r, r) −1."""
    found = by_goal(CHAIN, "p", given(CHAIN, VECTORS))
    total = math.exp(0.0) + math.exp(0.5) + math.exp(-1.0)
    assert found["p", "q, r"] == pytest.approx(math.exp(0.0) / total)
    assert found["p", "q"] == pytest.approx(math.exp(0.5) / total)
    assert found["p", "r, r"] == pytest.approx(math.exp(-1.0) / total)
    assert found["q, r", "r"] == found["q", "true"] == found["r, r", "r"] == 1.0


def test_false_action_by_hand() -> None:
    scorer = given(CHAIN, {**VECTORS, "False": [1.0, -1.0]}, false_action=True)
    found = by_goal(CHAIN, "p", scorer)
    total = math.exp(0.0) + math.exp(0.5) + math.exp(-1.0) + math.exp(1 - 2)
    assert found["p", "q"] == pytest.approx(math.exp(0.5) / total)
    # One clause only: r · True = −0.75, r · False = 0.25.
    assert found["r", "true"] == pytest.approx(1 / (1 + math.exp(0.25 + 0.75)))


def test_temperature_by_hand() -> None:
    found = by_goal(CHAIN, "p", given(CHAIN, VECTORS, temperature=0.5))
    total = math.exp(0.0) + math.exp(1.0) + math.exp(-2.0)
    assert found["p", "q"] == pytest.approx(math.exp(1.0) / total)


def test_norm_by_hand() -> None:
    """Cosines: p = (1, 2)/√5; (q, r) = (2, −1)/√5, q = (1, 0), (r, r) = (0, −1)."""
    found = by_goal(CHAIN, "p", given(CHAIN, VECTORS, normalize=True))
    scores = [0.0, 1 / math.sqrt(5), -2 / math.sqrt(5)]
    total = sum(map(math.exp, scores))
    names = ["q, r", "q", "r, r"]
    assert [found["p", n] for n in names] == pytest.approx([math.exp(s) / total for s in scores])


def test_successors_are_a_set() -> None:
    """Two clauses with the same body are one choice, carried by the first."""
    program = Program("p :- q. p :- r. p :- q. q. r.")
    vectors = {name: [0.0, 0.0] for name in ("p", "q", "r")}
    found = transitions(scene_of(program, "p"), given(program, vectors))
    assert [(t, w) for s, t, w in found if s == "p"] == [("q", 0.5), ("r", 0.5), ("q", 0.0)]


def test_under_labels_the_same_clauses_add_up() -> None:
    from deepprooflog.api import prob

    assert prob(Program("0.25 :: p :- q. 0.5 :: p :- r. 0.25 :: p :- q. q. r :- fail."), "p") == 0.5


@pytest.mark.parametrize("track_answers", [False, True])
def test_answers_tell_successors_apart(track_answers: bool) -> None:
    """f(a), f(b) and f(a) again all end in True: two answers, two choices."""
    program = Program("f(a). f(b). f(a).")
    scene = scene_of(program, "f(X)", track_answers=track_answers)
    weights = Embedding(program, dim=4, seed=0).log_weights(scene).exp()
    assert weights.flatten().tolist() == pytest.approx([0.5, 0.5, 0.0])


MIXED = Program("""
path(X, Y) :- edge(X, Y).
path(X, Y) :- edge(X, Z), path(Z, Y).
edge(a, b). edge(b, c). edge(c, a). edge(a, c).
walk([X]) :- node(X).
walk([X, Y | T]) :- edge(X, Y), walk([Y | T]).
node(a). node(b). node(c).
count(0, []).
count(N, [_ | T]) :- N > 0, M is N - 1, count(M, T).
all :- T = [], path(a, X), walk([a, X | T]), count(2, _).
""")


@pytest.mark.parametrize("f_agg", F_AGG)
@pytest.mark.parametrize("f_atom", F_ATOM)
def test_each_goal_has_a_distribution(f_atom: str, f_agg: str) -> None:
    scene = scene_of(MIXED, "all", "path(a, c)", "walk([X, Y, Z])", track_answers=True)
    scorer = Embedding(MIXED, dim=8, f_atom=f_atom, f_agg=f_agg, seed=0)
    weights = scorer.log_weights(scene).exp()
    assert weights.dtype == torch.float64
    assert weights.shape == (len(scene.steps), 1)
    torch.testing.assert_close(mass(scene, weights), torch.ones_like(mass(scene, weights)))
    lossy = Embedding(MIXED, dim=8, f_atom=f_atom, f_agg=f_agg, false_action=True, seed=0)
    left = 1 - mass(scene, lossy.log_weights(scene).exp())
    assert bool(((left > 0) & (left < 1)).all())


def test_the_mass_left_over_is_falses() -> None:
    scene = scene_of(MIXED, "path(a, c)")
    scorer = Embedding(MIXED, dim=8, false_action=True, seed=0).double()
    weights = scorer.log_weights(scene).exp()
    graph = scene.graph
    sources = sorted(set(graph.source[scene.steps.numpy()].tolist()))
    for n, left in zip(sources, (1 - mass(scene, weights)).flatten().tolist(), strict=True):
        e_g = scorer.embed([graph.goals[n]])[0, 0]
        mine = [e for e in scene.steps.tolist() if graph.source[e] == n and graph.twin[e] == e]
        targets = scorer.embed([graph.goals[graph.target[e]] for e in mine])[:, 0]
        scores = np.exp(np.append((targets @ e_g).detach().numpy(), (scorer.false @ e_g).item()))
        assert left == pytest.approx(scores[-1] / scores.sum())


def test_only_the_scene_competes() -> None:
    """Labelled steps of the same graph keep out of the softmax, and out of the result."""
    program = Program("0.3 :: c(x). 0.7 :: c(y). p(X) :- c(X). p(X) :- d(X). d(x).")
    scene = scene_of(program, "p(X)")
    assert len(scene.steps) < scene.graph.edges
    weights = Embedding(program, dim=4, seed=0).log_weights(scene).exp()
    torch.testing.assert_close(mass(scene, weights), torch.ones_like(mass(scene, weights)))


def test_a_part_of_the_steps_competes_among_itself() -> None:
    program = Program("p :- q. p :- q. p :- r. q. r.")
    whole = scene_of(program, "p")
    first = int(whole.graph.first[0])
    scorer = Embedding(program, dim=4, seed=0)
    scorer.log_weights(whole)
    for edges, expected in [([1], [1.0]), ([0, 1], [1.0, 0.0])]:
        steps = torch.tensor([first + e for e in edges])
        part = Scene(whole.graph, steps, whole.slots, whole.bank)
        assert scorer.log_weights(part).exp().flatten().tolist() == expected


def test_no_steps() -> None:
    program = Program("0.5 :: p. 0.5 :: p :- p.")
    assert Embedding(program, dim=4).log_weights(scene_of(program, "p")).shape == (0, 1)


def test_gradients_by_finite_differences() -> None:
    scene = scene_of(MIXED, "all", track_answers=True)
    scorer = Embedding(
        MIXED, dim=4, f_agg="gru", normalize=True, false_action=True, seed=0
    ).double()
    parameters = list(scorer.parameters())

    def value() -> Tensor:
        weights = scorer.log_weights(scene)
        return (weights.exp() * torch.arange(1.0, len(weights) + 1)[:, None]).sum()

    gradients = torch.autograd.grad(value(), parameters, allow_unused=True)
    rng = torch.Generator().manual_seed(0)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        direction = torch.randn(parameter.shape, generator=rng, dtype=torch.float64)
        expected = 0.0 if gradient is None else (gradient * direction).sum().item()
        h = 1e-6
        with torch.no_grad():
            parameter += h * direction  # type: ignore[misc]
            above = value().item()
            parameter -= 2 * h * direction  # type: ignore[misc]
            below = value().item()
            parameter += h * direction  # type: ignore[misc]
        assert (above - below) / (2 * h) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_seed_and_global_generator() -> None:
    scene = scene_of(MIXED, "path(a, c)")
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    one, two, other = (Embedding(MIXED, dim=8, seed=s).log_weights(scene) for s in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_state_round_trip() -> None:
    scene = scene_of(MIXED, "path(a, c)")
    one, two = (Embedding(MIXED, dim=8, f_agg="attention", seed=s) for s in (1, 2))
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    file.seek(0)
    two.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(one.log_weights(scene), two.log_weights(scene))


def test_weights_of_another_program_are_refused() -> None:
    one = Embedding(Program("p(a). p(b)."), dim=4)
    two = Embedding(Program("p(b). p(a)."), dim=4)
    with pytest.raises(ModelError, match="other symbols"):
        two.load_state_dict(one.state_dict())


def test_copies_and_pickles() -> None:
    scene = scene_of(MIXED, "path(a, c)")
    scorer = Embedding(MIXED, dim=8, seed=0)
    expected = scorer.log_weights(scene)
    for other in (copy.deepcopy(scorer), pickle.loads(pickle.dumps(scorer))):
        assert torch.equal(other.log_weights(scene), expected)


def test_plans_are_kept_as_long_as_their_graph() -> None:
    scorer = Embedding(CHAIN, dim=4)
    scene = scene_of(CHAIN, "p")
    scorer.log_weights(scene)
    scorer.log_weights(Scene(scene.graph, scene.steps.clone(), scene.slots, scene.bank))
    assert len(scorer._plans) == 1
    other = scene_of(CHAIN, "q")
    scorer.log_weights(other)
    assert len(scorer._plans) == 2
    del scene, other
    assert len(scorer._plans) == 0


@pytest.mark.parametrize("options", [{"dim": 0}, {"temperature": 0.0}, {"temperature": -1.0}])
def test_senseless_sizes(options: dict[str, float]) -> None:
    with pytest.raises(ModelError, match="no embedding scorer"):
        Embedding(CHAIN, **options)  # type: ignore[arg-type]


def test_a_module_of_the_wrong_shape_is_named() -> None:
    def first_half(predicate: Tensor, arguments: Tensor) -> Tensor:
        return predicate[..., :2]

    with pytest.raises(ModelError, match=r"f_atom returned \[\d+, 1, 2\].*1, 4\]"):
        Embedding(CHAIN, dim=4, f_atom=first_half).log_weights(scene_of(CHAIN, "p"))


def test_binary_models_leave_other_arities_to_an_mlp() -> None:
    program = Program("p :- q(a), r(a, b). p :- r(b, a). q(a). r(a, b). r(b, a).")
    scorer = Embedding(program, dim=4, f_atom="transe", seed=0).double()
    scene = scene_of(program, "p")
    by_text = {str(g.atoms): g for g in scene.graph.goals if len(g.atoms) == 1}
    (name,) = [t for t in by_text if "r(b,a)" in t]
    table, rows = scorer.terms.symbols, scorer.vocabulary.rows
    h, t = (table[rows[x]] for x in by_text[name].atoms[0].args)  # type: ignore[union-attr,index]
    expected = h + table[rows[Functor("r", 2)]] - t
    torch.testing.assert_close(scorer.embed([by_text[name]])[0, 0], expected)


class TestTensors:
    program = Program("""
        nn(net, [X], Y, 0..2) :: digit(X, Y).
        show([], []).
        show([X | T], [Y | S]) :- look(X, Y), show(T, S).
        look(X, Y) :- digit(X, Y).
        look(_, 0).
    """)

    def scene(self, slots: Tensor, bank: list[Tensor]) -> Scene:
        query = goal("show(L, R)", L=[torch.zeros(1), torch.zeros(1)])
        return scene_of(self.program, query, track_answers=True, slots=slots, bank=bank)

    def test_a_batch_is_its_queries(self) -> None:
        torch.manual_seed(0)
        bank = list(torch.randn(4, 2))
        slots = torch.tensor([[0, 1], [2, 3], [1, 0], [3, 3]])
        scorer = Embedding(self.program, 6, encoders={"net": nn.Linear(2, 6)}, seed=0)
        scene = self.scene(slots, bank)
        together = scorer.log_weights(scene)
        assert together.shape == (len(scene.steps), 4)
        ones = mass(scene, together.exp())
        torch.testing.assert_close(ones, torch.ones_like(ones))
        for b in range(4):
            alone = Scene(scene.graph, scene.steps, slots[b : b + 1], bank)
            torch.testing.assert_close(scorer.log_weights(alone)[:, 0], together[:, b])
        assert not torch.allclose(together[:, 0], together[:, 1])

    def test_gradients_reach_the_encoder(self) -> None:
        encoder = nn.Linear(2, 6)
        scorer = Embedding(self.program, 6, encoders={"net": encoder}, seed=0)
        scene = self.scene(torch.tensor([[0, 1]]), list(torch.randn(2, 2)))
        weights = scorer.log_weights(scene).exp()
        (weights * torch.arange(len(weights))[:, None]).sum().backward()
        assert encoder.weight.grad is not None
        assert encoder.weight.grad.abs().sum() > 0

    def test_encoders_can_come_later(self) -> None:
        scorer = Embedding(self.program, 6)
        scene = self.scene(torch.tensor([[0, 1]]), list(torch.randn(2, 2)))
        with pytest.raises(ModelError, match="no encoder for the tensors of net"):
            scorer.log_weights(scene)
        scorer.encoders.add({"net": nn.Linear(2, 6)})
        assert bool(scorer.log_weights(scene).isfinite().all())


def test_unknown_symbols_of_a_query_are_warned_of() -> None:
    program = Program("p(X) :- q(X). p(_). q(a).")
    scorer = Embedding(program, dim=4)
    with pytest.warns(UserWarning, match="no symbol zebra"):
        scorer.log_weights(scene_of(program, "p(zebra)"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scorer.log_weights(scene_of(program, "p(zebra)"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("f_agg", F_AGG)
def test_cuda_gives_what_the_cpu_gives(f_agg: str) -> None:
    scene = scene_of(MIXED, "all", track_answers=True)
    scorer = Embedding(MIXED, dim=8, f_agg=f_agg, false_action=True, seed=0).double()
    expected = scorer.log_weights(scene)
    there = Scene(scene.graph, scene.steps.cuda(), scene.slots.cuda(), [])
    found = scorer.cuda().log_weights(there)
    assert found.is_cuda
    torch.testing.assert_close(found.cpu(), expected)
