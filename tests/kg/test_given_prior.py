"""Priors that are given: modules with `score(h, r, t)`, and PyKEEN's models by names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.kge.given import given_prior
from deepprooflog.kg.kge.rotate import RotatE
from deepprooflog.kg.kge.triple_model import ModuleScores

ROWS = [(f"p{i}", "parent", f"p{i + 1}") for i in range(12)]
GRAN = [(f"p{i}", "gran", f"p{i + 2}") for i in range(10)]
RULES = "gran(X, Z) :- parent(X, Y), parent(Y, Z)."
SMALL: dict[str, Any] = {
    "exact": {"steps": 2}, "threads": 1, "belief": {"evidence": "score"},
    "evaluation": {"validation_size": 4}, "search": {"nesting": 1},
}  # fmt: skip


def graph() -> dpl.kg.Graph:
    return dpl.kg.load([*GRAN[:6], *ROWS], valid=GRAN[6:8], test=GRAN[8:], name="chain")


class Steps(nn.Module):
    """−|t − h − (1 or 2)|, by the numbers of names; one weight that is learned elsewhere."""

    def __init__(self, place: Tensor, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale))
        self.register_buffer("place", place)

    def score(self, h: Tensor, r: Tensor, t: Tensor) -> Tensor:
        place = self.get_buffer("place")
        return -self.scale * (place[t] - place[h] - 2 + r).abs()


def steps(own: dpl.kg.Graph, scale: float = 1.0) -> Steps:
    """gran is the relation 0, parent 1; p7 is at place 7."""
    return Steps(torch.tensor([float(str(e)[1:]) for e in map(own.entity_text, range(13))]), scale)


def expected(own: dpl.kg.Graph, h: str, relation: str, t: str) -> float:
    return -float(abs(int(t[1:]) - int(h[1:]) - (1 if relation == "parent" else 2)))


def test_a_module_is_a_prior(tmp_path: Path) -> None:
    own = graph()
    module = steps(own)
    model = dpl.kg.train(own, RULES, prior=module, **SMALL)
    assert "prior module" in repr(model)
    belief = model.belief
    assert belief is not None
    rows = torch.from_numpy(own.test)
    scores = belief.kge.score(*rows.unbind(1))
    ids = {e: own.entity_text(e) for e in range(13)}
    wanted = [expected(own, ids[h], own.relations[r], ids[t]) for h, r, t in own.test.tolist()]
    assert scores.tolist() == wanted == [0.0, 0.0]
    lines = belief.calibration
    logit = lines.slope[rows[:, 1]] * scores.double() + lines.offset[rows[:, 1]]
    torch.testing.assert_close(belief.of_triples(rows), logit)
    every = belief.kge.all_heads(torch.tensor([0]), rows[:1, 2])[0]
    assert every.argmax().item() == own.test[0, 0]
    assert model.query("gran(X, p10)", top=1)[0].bindings == {"X": "p8"}
    assert model.evaluate(protocol="full").prior.mrr == 1.0  # type: ignore[union-attr]
    assert next(module.parameters()).requires_grad  # the caller's own is left alone

    model.save(tmp_path / "run")
    with pytest.raises(DataError, match="whose code no run keeps") as found:
        dpl.load(tmp_path / "run")
    assert found.value.hint == "in Python: dpl.load(folder, prior=module)"
    assert main(["query", str(tmp_path / "run"), "gran(X, p10)"]) == 2
    again = dpl.load(tmp_path / "run", prior=steps(own, scale=0.25))
    assert again.query("gran(X, p10)").answers == model.query("gran(X, p10)").answers
    with pytest.raises(DataError, match="does not fit this module"):
        dpl.load(tmp_path / "run", prior=ModuleScores(Odd(lambda n: torch.zeros(n)), [0], [0, 0]))
    more = model.with_facts(added=["parent(newcomer, p3)"])
    assert more.explain("gran(newcomer, p4)").by_proof > 0


def test_a_module_is_trained_with_into_a_folder(tmp_path: Path) -> None:
    own = graph()
    model = dpl.kg.train(own, RULES, prior=steps(own), out=tmp_path / "run", **SMALL)
    again = dpl.kg.open(tmp_path / "run", prior=steps(own, scale=3.0))
    assert again.evaluate().mrr == model.evaluate().mrr
    # Another graph, whose names have other numbers.
    other = [("p3", "parent", "p4"), ("p2", "parent", "p3"), ("p4", "gran", "p6")]
    (tmp_path / "other").mkdir()
    for split, rows in (("train", other), ("valid", other[:1]), ("test", [("p2", "gran", "p4")])):
        text = "".join("\t".join(row) + "\n" for row in rows)
        (tmp_path / "other" / f"{split}.tsv").write_text(text)
    moved = dpl.kg.open(tmp_path / "run", data=str(tmp_path / "other"), prior=steps(own))
    assert moved.belief is not None
    h, t = (moved.graph.entity_ids[dpl.kg.load(other).entities[i]] for i in (0, 1))
    scores = moved.belief.kge.score(torch.tensor(h), torch.tensor([0, 1]), torch.tensor(t))
    assert scores.tolist() == [-1.0, 0.0]


class Odd(nn.Module):
    def __init__(self, give: Any) -> None:
        super().__init__()
        self.give = give

    def score(self, h: Tensor, r: Tensor, t: Tensor) -> Any:
        return self.give(len(h))


def test_what_is_no_prior_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = graph()
    triple = torch.tensor([0]), torch.tensor([0]), torch.tensor([1])
    for give, message in (
        (lambda n: torch.zeros(n, 2), r"Odd.score gave \(1, 2\) for 1 triples"),
        (lambda n: 1.0, "Odd.score gave float"),
    ):
        with pytest.raises(ModelError, match=message):
            given_prior(Odd(give), own).score(*triple)
    column = given_prior(Odd(lambda n: torch.zeros(n, 1, dtype=torch.int64)), own)
    assert column.score(*triple).tolist() == [0.0]
    with pytest.raises(ModelError, match=r"a Linear has no score\(h, r, t\)"):
        dpl.kg.train(own, RULES, prior=nn.Linear(1, 1), **SMALL)
    with pytest.raises(DataError, match="a int is no prior"):
        dpl.kg.train(own, RULES, prior=3, **SMALL)
    with pytest.raises(DataError, match="the prior is about 13 entities and 5 relations"):
        dpl.kg.train(own, RULES, prior=RotatE(13, 5, 2), **SMALL)
    with pytest.raises(ModelError, match="a score is not finite"):
        dpl.kg.train(own, RULES, prior=Odd(lambda n: torch.full((n,), torch.nan)), **SMALL)
    out = str(tmp_path / "run")
    assert main(["train", "kg", "--set", "prior=module", "--out", out]) == 2
    assert "a module is given in Python" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["RotatE", "ComplEx", "TransE", "DistMult", "HolE", "TuckER"])
def test_models_of_pykeen_score_as_they_do_there(name: str, tmp_path: Path) -> None:
    """By one call, the model with its triples factory; names decide which number is whose."""
    models = pytest.importorskip("pykeen.models", reason="pykeen is not installed")
    triples = pytest.importorskip("pykeen.triples", reason="pykeen is not installed")
    own = graph()
    factory = triples.TriplesFactory.from_labeled_triples(np.array([*ROWS, *GRAN]))
    theirs = getattr(models, name)(triples_factory=factory, embedding_dim=6, random_seed=0).eval()
    model = dpl.kg.train(own, RULES, prior=(theirs, factory), learner="none", **SMALL)
    assert model.belief is not None
    rows = np.concatenate([own.train, own.test])
    text = [own.entity_text(e) for e in range(len(own.entities))]
    labels = [(text[h], own.relations[r], text[t]) for h, r, t in rows.tolist()]
    numbers = [
        (factory.entity_to_id[h], factory.relation_to_id[r], factory.entity_to_id[t])
        for h, r, t in labels
    ]
    assert numbers != rows.tolist()
    with torch.no_grad():
        expected = theirs.score_hrt(torch.tensor(numbers))[:, 0]
        found = model.belief.kge.score(*torch.from_numpy(rows).unbind(1))
        torch.testing.assert_close(found, expected)
    model.save(tmp_path / "run")
    given = None if name not in ("HolE", "TuckER") else (theirs, factory)
    again = dpl.load(tmp_path / "run", prior=given)
    torch.testing.assert_close(again.belief.kge.score(*torch.from_numpy(rows).unbind(1)), found)


def test_a_result_of_pykeens_pipeline_is_a_prior() -> None:
    pipeline = pytest.importorskip("pykeen.pipeline", reason="pykeen is not installed")
    triples = pytest.importorskip("pykeen.triples", reason="pykeen is not installed")
    factory = triples.TriplesFactory.from_labeled_triples(np.array([*ROWS, *GRAN]))
    result = pipeline.pipeline(
        training=factory, testing=factory, model="ComplEx", model_kwargs={"embedding_dim": 4},
        training_kwargs={"num_epochs": 1, "use_tqdm": False}, random_seed=0, device="cpu",
        evaluation_kwargs={"use_tqdm": False},
    )  # fmt: skip
    own = graph()
    model = dpl.kg.train(own, RULES, prior=result, learner="none", **SMALL)
    assert "prior complex" in repr(model)
    row = torch.from_numpy(own.test[:1])
    ids = [factory.entity_to_id["p8"], factory.relation_to_id["gran"], factory.entity_to_id["p10"]]
    with torch.no_grad():
        expected = result.model.score_hrt(torch.tensor([ids]))[:, 0]
        mine = dpl.kg.from_pykeen(result, graph=own).score(*row.unbind(1))
        torch.testing.assert_close(mine, expected)
        assert model.belief is not None
        torch.testing.assert_close(model.belief.kge.score(*row.unbind(1)), expected)
    with pytest.raises(ModelError, match="not known") as found:
        dpl.kg.train(own, RULES, prior=result.model, **SMALL)
    assert "prior=(model, factory)" in str(found.value.hint)
