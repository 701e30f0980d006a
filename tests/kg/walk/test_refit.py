"""Fitting the weight of an answer's own facts on validation lists."""

from __future__ import annotations

import numpy as np
import torch

from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.walk.model import WalkModel, walk_graph
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.refit import refit_suits
from deepprooflog.syntax.terms import Atom
from kg.walk.small import RELATIONS


def popular() -> Graph:
    """Everyone knows entity 0, and the validation triples are about it too; 9 is asked by none."""
    train = [(i, 0, 0) for i in range(1, 6)] + [(i, 1, i + 1) for i in range(1, 8)]
    names = tuple(Atom(f"e{i}") for i in range(10))
    valid = np.array([(6, 0, 0), (7, 0, 0)], dtype=np.int64)
    return Graph("popular", names, RELATIONS, np.array(train), valid, valid[:0])


def test_what_is_often_an_answer_is_one_again() -> None:
    """The count of p(·, e0) is found to speak for e0; all else stays."""
    graph = popular()
    model = WalkModel(RELATIONS, WalkOptions(hops=1, states=1, gates=False))
    facts = walk_graph(graph, RELATIONS)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    found = refit_suits(model, facts, graph)
    assert found.kept and found.after > found.before
    assert float(model(facts, torch.tensor([6]), torch.tensor([0]))[0].argmax()) == 0
    changed = {k for k, v in model.state_dict().items() if not torch.equal(v, before[k])}
    assert changed == {"policy.suit_all", "policy.suit_own"}


def test_nothing_to_fit_on() -> None:
    """Without validation triples, or without suits, the model is left alone."""
    graph = popular()
    bare = Graph("bare", graph.entities, RELATIONS, graph.train, graph.test, graph.test)
    model = WalkModel(RELATIONS, WalkOptions(hops=1, states=1))
    assert not refit_suits(model, walk_graph(bare, RELATIONS), bare).kept
    plain = WalkModel(RELATIONS, WalkOptions(hops=1, states=1, suits=False))
    assert not refit_suits(plain, walk_graph(graph, RELATIONS), graph).kept
