"""e_t: what terms are made of, and that no depth or length stands in the way."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import parse_query
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.terms import VARIABLES
from deepprooflog.syntax.terms import NIL, Functor, Slot, Struct, Term, canonical_var, make_list

PROGRAM = Program("""
p(X) :- q(X, [a, b, c]), q(f(g(X)), "s").
q(_, _).
n(0). n(s(X)) :- n(X).
""")


def argument_itself(predicate: Tensor, arguments: Tensor) -> Tensor:
    """An f_atom that shows the vector of the atom's only argument."""
    return arguments[:, :, 0]


@pytest.fixture
def scorer() -> Embedding:
    return Embedding(PROGRAM, dim=6, f_atom=argument_itself, seed=0).double()


def goal(text: str) -> Goal:
    return Interner().goal(parse_query(text).atoms)


def vectors(scorer: Embedding, *terms: str) -> list[np.ndarray]:
    """e_t of terms over the program's symbols."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scorer.embed([goal(f"p({t})") for t in terms])
    assert found.shape == (len(terms), 1, 6)
    return list(found[:, 0].detach().numpy())


def test_symbols_come_from_the_table(scorer: Embedding) -> None:
    rows = scorer.vocabulary.rows
    a = goal("p(a)").atoms[0].args[0]  # type: ignore[union-attr]
    expected = scorer.terms.symbols[rows[a]].detach().numpy()  # type: ignore[index]
    np.testing.assert_array_equal(vectors(scorer, "a")[0], expected)


def test_unknown_symbols_are_alike(scorer: Embedding) -> None:
    with pytest.warns(UserWarning, match="zebra"):
        unknown = scorer.embed([goal("p(zebra)"), goal("p(f(zebra))"), goal("p(a)")])
    with pytest.warns(UserWarning, match="gnu"):
        other = scorer.embed([goal("p(gnu)"), goal("p(f(gnu))")])
    assert torch.equal(unknown[:2], other)
    assert not torch.equal(unknown[0], unknown[2])


def test_compounds_by_functor_and_arguments(scorer: Embedding) -> None:
    f_a, g_a, f_b, a = vectors(scorer, "f(a)", "g(a)", "f(b)", "a")
    assert len({tuple(v) for v in (f_a, g_a, f_b, a)}) == 4
    mlp = scorer.terms.compound
    f = scorer.terms.symbols[scorer.vocabulary.rows[Functor("f", 1)]]
    inputs = torch.from_numpy(a).view(1, 1, 1, 6)
    expected = torch.tanh(mlp(f.view(1, 1, 6), inputs)).detach().numpy()
    np.testing.assert_allclose(f_a, expected[0, 0])


def test_a_list_is_torchs_gru_from_its_end(scorer: Embedding) -> None:
    lists = ["[a, b, c]", "[b, c]", "[c]", "[]", "a", "b", "c", "[X|Y]", "X", "[a, b|a]"]
    abc, bc, c_, nil, a, b, c, partial, x, improper = vectors(scorer, *lists)

    def run(items: list[np.ndarray], start: np.ndarray) -> np.ndarray:
        inputs = torch.from_numpy(np.stack(items))
        after = scorer.terms.list(inputs, torch.from_numpy(start[None]))[1][0]
        return np.asarray(after.detach().numpy())

    np.testing.assert_allclose(abc, run([c, b, a], nil))
    np.testing.assert_allclose(bc, run([c, b], nil))
    np.testing.assert_allclose(c_, run([c], nil))
    second = scorer.terms.variables[1].detach().numpy()
    np.testing.assert_allclose(partial, run([x], second))
    np.testing.assert_allclose(improper, run([b, a], a))


def test_sharing_does_not_change_a_term(scorer: Embedding) -> None:
    """Lists embedded together, sharing tails and levels, equal the same lists embedded alone."""
    terms = [
        "[a, b, c]", "[b, b, c]", "[c, b, b, c]", "[[a, b, c], a, b, c]", "[f([b, c]), b, c]",
        "f([f([c]), c])", "[1, 2.0, X, Y, X]", "[[], [[]], [[[]]]]", "[f(f(f(a))), a]",
    ]  # fmt: skip
    together = vectors(scorer, *terms)
    for term, expected in zip(terms, together, strict=True):
        np.testing.assert_allclose(vectors(scorer, term)[0], expected, atol=1e-12)


def test_variables_by_first_occurrence(scorer: Embedding) -> None:
    x, y, same = vectors(scorer, "X", "Y", "Z")
    np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(x, same)
    xy, yx, xx = vectors(scorer, "[X, Y]", "[Y, X]", "[X, X]")
    np.testing.assert_array_equal(xy, yx)
    assert not np.allclose(xy, xx)


def test_late_variables_share_a_vector(scorer: Embedding) -> None:
    def alone(index: int) -> Goal:
        return Goal((Struct(Functor("p", 1), (canonical_var(index),)),), (), index + 1)

    last, beyond, before = scorer.embed(
        [alone(VARIABLES - 1), alone(VARIABLES + 40), alone(VARIABLES - 2)]
    )
    assert torch.equal(last, beyond)
    assert not torch.equal(last, before)


def test_numbers_need_no_table(scorer: Embedding) -> None:
    found = vectors(scorer, *(str(n) for n in range(20)), "1.0", "-1", "123456789123456789")
    assert len({tuple(v.round(6)) for v in found}) == 23


@pytest.mark.parametrize("f_agg", ["sum", "gru"])
def test_length_and_depth_have_no_limit(f_agg: str) -> None:
    scorer = Embedding(PROGRAM, dim=4, f_agg=f_agg, seed=0)
    deep: Term = 0
    for _ in range(1500):
        deep = Struct(Functor("s", 1), (deep,), True)
    long = make_list([i % 5 for i in range(5000)])
    terms = [deep, long]
    goals = [Goal((Struct(Functor("n", 1), (t,)),)) for t in terms]
    goals.append(Goal(tuple(Struct(Functor("n", 1), (i,)) for i in range(2000))))
    found = scorer.embed([*goals])
    found.sum().backward()
    assert bool(found.isfinite().all())
    assert scorer.terms.list.weight_hh_l0.grad.abs().sum() > 0  # type: ignore[union-attr,operator]


class TestTensors:
    program = Program("""
        nn(net, [X], Y, 0..1) :: digit(X, Y).
        nn(other, [X], Y, 0..1) :: letter(X, Y).
        sum(X, Y) :- digit(X, A), digit(Y, B), letter(Y, A), t(A, B).
        t(_, _).
    """)
    slots = torch.tensor([[0, 1], [2, 0], [1, 1]])
    bank: ClassVar = [torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]), torch.tensor([3.0, 3.0])]

    def goals(self) -> list[Goal]:
        x, y = Slot(0), Slot(1)
        texts: list[tuple[Term, ...]] = [(x,), (y,), (make_list([x, y]),), (make_list([y]),), (1,)]
        return [Goal((Struct(Functor("p", 1), args),)) for args in texts]

    def test_each_query_has_its_own(self) -> None:
        encoder = nn.Linear(2, 4)
        scorer = Embedding(self.program, 4, f_atom=argument_itself, encoders=encoder, seed=0)
        with pytest.warns(UserWarning, match="p/1"):
            found = scorer.embed(self.goals(), self.slots, self.bank)
        assert found.shape == (5, 3, 4)
        for b, (x, y) in enumerate(self.slots.tolist()):
            e_x, e_y = encoder(self.bank[x]), encoder(self.bank[y])
            torch.testing.assert_close(found[0, b], e_x)
            torch.testing.assert_close(found[1, b], e_y)
            nil = scorer.embed([Goal((Struct(Functor("p", 1), (NIL,)),))])[0]
            whole = scorer.terms.list(torch.stack([e_y, e_x]), nil)[1][0]
            torch.testing.assert_close(found[2, b], whole)
        assert torch.equal(found[4, 0], found[4, 1])

    def test_an_encoder_runs_once_for_each_distinct_tensor(self) -> None:
        seen: list[int] = []

        class Counting(nn.Linear):
            def forward(self, input: Tensor) -> Tensor:
                seen.append(len(input))
                return super().forward(input)

        scorer = Embedding(self.program, 4, encoders=Counting(2, 4))
        with pytest.warns(UserWarning, match="p/1"):
            scorer.embed(self.goals(), self.slots, self.bank)
        assert seen == [3]

    def test_encoders_by_network(self) -> None:
        net, other = nn.Linear(2, 4), nn.Linear(2, 4)
        scorer = Embedding(
            self.program, 4, f_atom=argument_itself, encoders={"net": net, "other": other}
        )
        with pytest.warns(UserWarning, match="p/1"):
            found = scorer.embed(
                self.goals()[:2], self.slots, self.bank, networks={0: "net", 1: "other"}
            )
        torch.testing.assert_close(found[0, 0], net(self.bank[0]))
        torch.testing.assert_close(found[1, 0], other(self.bank[1]))

    def test_a_missing_encoder_is_an_error_that_says_how_to_give_one(self) -> None:
        scorer = Embedding(self.program, 4)
        with (
            pytest.warns(UserWarning, match="p/1"),
            pytest.raises(ModelError, match="no encoder for the tensors of net") as error,
        ):
            scorer.embed(self.goals()[:1], self.slots, self.bank, networks={0: "net"})
        assert "encoders={'net': module}" in str(error.value)

    def test_a_misfitting_encoder_is_named(self) -> None:
        scorer = Embedding(self.program, 4, encoders={"net": nn.Linear(2, 3)})
        with (
            pytest.warns(UserWarning, match="p/1"),
            pytest.raises(ModelError, match=r"encoder of net returned \[3, 3\].*\[3, 4\]"),
        ):
            scorer.embed(self.goals()[:1], self.slots, self.bank, networks={0: "net"})
