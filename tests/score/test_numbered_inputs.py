"""Networks that read names by numbers in place of tensors."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

import deepprooflog as dpl
from deepprooflog.errors import ModelError
from deepprooflog.syntax.terms import Atom, Term
from deepprooflog.syntax.writer import write_term

PROGRAM = """
nn(mood, [X], M, [good, bad]) :: mood(X, M).
nn(like, [X, Y]) :: likes(X, Y).
visits(X, Y) :- mood(X, good), likes(X, Y).
"""
NAMES: list[Term] = [Atom("ann"), 7, Atom("cid")]


def number(position: int, term: Term) -> int:
    """The place of a name; as second input of a label it counts from 10."""
    if term not in NAMES:
        raise ModelError(f"no name {write_term(term)}")
    return NAMES.index(term) + 10 * position


class Mood(nn.Module):
    """Logits from a table; notes what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor([[0.0, 1.0], [2.0, 0.5], [-1.0, 0.0]]))
        self.asked: list[list[int]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.asked.append(x.tolist())
        return self.table[x]


class Like(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return 0.3 * x - 0.1 * (y - 10)


def model_of(mood: Mood) -> dpl.Model:
    networks = {
        "mood": dpl.Network(mood, number=number),
        "like": dpl.Network(Like(), number=number),
    }
    return dpl.Model(dpl.Program(PROGRAM), networks=networks)


def test_values_and_gradient_by_hand() -> None:
    mood = Mood()
    queries = ["visits(ann, cid)", "visits(7, ann)", "visits(7, cid)"]
    found = model_of(mood).log_prob(queries).exp()
    for value, (x, y) in zip(found.tolist(), [(0, 2), (1, 0), (1, 2)], strict=True):
        good, bad = mood.table[x].exp().tolist()
        like = 1 / (1 + math.exp(-(0.3 * x - 0.1 * y)))
        assert value == pytest.approx(good / (good + bad) * like, rel=1e-6)
    assert mood.asked == [[0, 1]]  # each name once for the whole batch
    found.log().sum().backward()
    grad = mood.table.grad
    assert grad is not None
    # d log softmax: one query for ann, two for 7.
    for row, count in enumerate([1, 2, 0]):
        bad = torch.softmax(mood.table[row].detach(), 0)[1].item()
        assert grad[row].tolist() == pytest.approx([count * bad, -count * bad], abs=1e-6)


def test_names_inside_terms() -> None:
    """The same table, whether a goal names ann by herself or in a list."""
    text = PROGRAM + "all([]). all([X|Xs]) :- visits(X, cid), all(Xs)."
    mood = Mood()
    model = dpl.Model(dpl.Program(text), networks=dict(model_of(mood).networks.items()))
    one, other = model.log_prob(["visits(ann, cid)", "visits(7, cid)"]).tolist()
    assert model.log_prob(["all([ann, 7])"]).item() == pytest.approx(one + other, rel=1e-6)


def test_what_has_no_number() -> None:
    model = model_of(Mood())
    with pytest.raises(ModelError, match="no name zoe"):
        model.prob("visits(zoe, ann)")
    plain = dpl.Model(dpl.Program(PROGRAM), networks={"mood": Mood(), "like": Like()})
    with pytest.raises(ModelError, match=r"called with ann, which is not a tensor(.|\n)*number="):
        plain.prob("visits(ann, cid)")
