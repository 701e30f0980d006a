"""The face for graphs, `dpl.kg`: load, train, ask, change facts, save, open."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.data.fact_changes import changed_graph
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.prove import conjunction, question
from deepprooflog.syntax.reader import ReadTerm, read_term

RULES = "gran(X, Z) :- parent(X, Y), parent(Y, Z).\n"
PARENTS = [(f"p{i}", "parent", f"p{2 * i + k}") for i in range(1, 8) for k in (0, 1)]
GRANS = [(f"p{i}", "gran", f"p{4 * i + k}") for i in range(1, 4) for k in range(4)]
SMALL: dict[str, object] = {
    "exact": {"steps": 3, "batch": 8, "negatives": 2}, "policy": {"dimension": 8}, "threads": 1,
    "search": {"nesting": 1},
}  # fmt: skip


@pytest.fixture(scope="module")
def model() -> GraphModel:
    graph = dpl.kg.load([*PARENTS, *GRANS[:6]], valid=GRANS[6:9], test=GRANS[9:])
    prior = {"kind": "complex", "dimension": 4, "steps": 20, "batch": 16}
    return dpl.kg.train(graph, RULES, prior, seed=0, **SMALL)  # type: ignore[arg-type]


def test_answers_agree_with_explanations(model: GraphModel) -> None:
    found = model.query("gran(X, p14)", top=3)
    assert len(found) == 3
    best = max(found, key=lambda one: one.by_proof)
    assert best.bindings == {"X": "p3"}
    assert best.proof is not None
    assert best.proof.check()
    why = model.explain("gran(p3, p14)", proofs=2)
    assert why.probability == pytest.approx(best.probability)
    assert why.proofs[0].query == "gran(p3,p14)"
    assert not why.known
    assert why.to_dict()["proofs"][0]["nodes"]
    with pytest.raises(DataError, match="is open"):
        model.explain("gran(X, p14)")


@pytest.mark.parametrize("text", ["gran(p3, p14)", "parent(p1, p3), gran(p3, p14)"])
def test_a_query_is_read_once(
    model: GraphModel, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def counted(text: str, **how: bool) -> ReadTerm:
        texts.append(text)
        return read_term(text, **how)  # type: ignore[arg-type]

    for module in (conjunction, question):
        monkeypatch.setattr(module, "read_term", counted)
    model.explain(text)
    assert texts == [text]


def test_figures_are_typed(model: GraphModel) -> None:
    found = model.evaluate(protocol="full")
    assert 0 < found.mrr <= 1
    assert found.queries == len(GRANS[9:])
    assert set(found.by_side) == {"head", "tail"}
    assert set(found.by_relation) == {"gran"}
    assert found.prior is not None
    assert found.to_dict()["mrr"] == found.mrr
    with pytest.raises(DataError, match="all entities are negatives"):
        model.evaluate(protocol="full", negatives=5)


def test_a_run_has_a_protocol_of_its_own(model: GraphModel) -> None:
    """Where neither another one nor a number of negatives is asked for."""
    assert model.evaluate().record["protocol"] == "sampled"
    own = replace(model.options, evaluation=replace(model.options.evaluation, protocol="full"))
    full = replace(model, options=own)
    assert full.evaluate().mrr == model.evaluate(protocol="full").mrr
    assert full.evaluate().record["protocol"] == "full"
    asked = full.evaluate(protocol="sampled"), full.evaluate(negatives=5)
    assert [found.record["protocol"] for found in asked] == ["sampled", "sampled"]


def test_what_is_saved_is_what_is_opened(model: GraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    for again in (dpl.kg.open(tmp_path / "run"), dpl.load(tmp_path / "run")):
        assert isinstance(again, GraphModel)
        assert again.query("gran(X, p14)").answers == model.query("gran(X, p14)").answers
        assert again.evaluate(protocol="full").mrr == model.evaluate(protocol="full").mrr
    with pytest.raises(DataError, match="holds a run already"):
        model.save(tmp_path / "run")


def test_a_saved_model_is_a_run_of_the_command_line(
    model: GraphModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model.save(tmp_path / "run")
    assert main(["query", str(tmp_path / "run"), "gran(X, p14)", "--top", "1", "--proof"]) == 0
    assert "gran(" in capsys.readouterr().out
    assert main(["evaluate", str(tmp_path / "run"), "--protocol", "full"]) == 0
    assert "p_success" in capsys.readouterr().out


def test_trained_into_a_folder_as_by_the_command_line(tmp_path: Path) -> None:
    graph = dpl.kg.load([*PARENTS, *GRANS[:6]], valid=GRANS[6:9], test=GRANS[9:])
    out = tmp_path / "run"
    trained = dpl.kg.train(graph, RULES, prior="none", out=out, **SMALL)  # type: ignore[arg-type]
    names = {path.name for path in out.iterdir()}
    assert {"config.json", "graph.json", "checkpoint.pt", "result.json", "metrics.jsonl"} <= names
    assert dpl.kg.open(out).result == trained.result
    assert trained.result["test"]["queries"] == 3


def test_other_facts_are_a_view(model: GraphModel) -> None:
    """Nothing is learned anew, and the model itself stays as it was."""
    before = model.explain("gran(p3, p14)")
    assert before.by_proof > 0
    without = model.with_facts(removed=["parent(p7, p14)"])
    assert without.explain("gran(p3, p14)").by_proof == 0
    assert model.explain("gran(p3, p14)") == before
    with_more = without.with_facts(added=[("p7", "parent", "p14")])
    again = with_more.explain("gran(p3, p14)")
    assert again.probability == pytest.approx(before.probability)
    assert without.prover.policy is model.prover.policy


def test_facts_about_new_entities(model: GraphModel, tmp_path: Path) -> None:
    """Clauses prove what follows from them; belief says nothing of whom it does not know."""
    view = model.with_facts(added=["parent(p15, newborn)"])
    why = view.explain("gran(p7, newborn)")
    assert why.by_proof == pytest.approx(why.probability)
    assert why.by_proof > 0
    assert (why.prior, why.evidence, why.unseen) == (None, None, ("newborn",))
    assert "belief abstains: training never saw newborn" in str(why)
    found = view.query("gran(X, newborn)", top=50)
    assert [one.bindings["X"] for one in found] == ["p7"]
    assert found.notes == ["belief abstains: training never saw newborn"]
    assert view.query("gran(p3, X)").notes == [] != view.query("gran(X, Y)", top=99).notes
    assert 0 < view.evaluate(protocol="full").mrr <= 1
    view.save(tmp_path / "run")
    assert dpl.kg.open(tmp_path / "run").explain("gran(p7, newborn)") == why
    with pytest.raises(DataError, match="unknown entity newborn"):
        model.explain("gran(p7, newborn)")


def test_facts_that_cannot_be(model: GraphModel) -> None:
    with pytest.raises(DataError, match="knows no relation parnt") as error:
        model.with_facts(added=["parnt(p1, p2)"])
    assert error.value.hint == "did you mean parent?"
    with pytest.raises(DataError, match="no training triple"):
        model.with_facts(removed=[("p1", "parent", "p9")])
    with pytest.raises(DataError, match="is no triple"):
        model.with_facts(added=["parent(p1)"])
    for nonsense in ("parent(X, p1)", "parent(f(p1), p2)", "parent(a, b) :- parent(b, a)", "p, q"):
        with pytest.raises(DataError, match=r"ground|no name|no triple"):
            model.with_facts(added=[nonsense])
    for triple in (("p1", "parent"), ("p1", "parent", None), 7):
        with pytest.raises(DataError, match="is no triple") as error:
            changed_graph(model.graph, [triple])
        assert error.value.hint == "(head, relation, tail), or relation(head, tail) as text"
    with pytest.raises(DataError, match="added is one text") as error:
        model.with_facts(added="parent(p1, p2)")
    assert error.value.hint == "added=['parent(p1, p2)']"


def test_rules_as_a_list_of_clauses(model: GraphModel) -> None:
    listed = dpl.kg.train(
        model.graph, RULES.splitlines(), prior="none", exact={"steps": 0}, threads=1
    )
    proof = listed.explain("gran(p1, p4)").proof
    assert "by gran(X,Z) :- parent(X,Y), parent(Y,Z)." in str(proof)


def test_a_file_of_triples_without_splits(tmp_path: Path) -> None:
    path = tmp_path / "people.tsv"
    path.write_text("".join(f"{h}\t{r}\t{t}\n" for h, r, t in [*PARENTS, *GRANS]))
    graph = dpl.kg.load(path)
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (26, 0, 0)
    with pytest.warns(Notice, match="of people are held out: 3 as validation"):
        trained = dpl.kg.train(graph, RULES, prior="none", **SMALL)  # type: ignore[arg-type]
    assert len(trained.graph.valid) == 3
    with pytest.raises(DataError, match="no test triples"):
        trained.evaluate()


def test_options_that_do_not_exist_are_refused() -> None:
    graph = dpl.kg.load(PARENTS, valid=GRANS)
    with pytest.raises(DataError, match="no option nestin"):
        dpl.kg.train(graph, RULES, nestin=2)
    with pytest.raises(DataError, match="learner is one of"):
        dpl.kg.train(graph, RULES, learner="guess")


def test_a_run_of_sums_is_no_graph(tmp_path: Path) -> None:
    from recipes.small import train_small

    train_small(tmp_path / "sums")
    with pytest.raises(DataError, match="not of a graph"):
        dpl.kg.open(tmp_path / "sums")
    assert isinstance(dpl.load(tmp_path / "sums"), dpl.Model)


def test_the_parts_one_by_one() -> None:
    """What `train` does, with each part in hand."""
    graph = dpl.kg.load([*PARENTS, *GRANS[:6]], valid=GRANS[6:9], test=GRANS[9:])
    trained = dpl.kg.train_kge(
        torch.from_numpy(graph.train), entities=len(graph.entities),
        relations=len(graph.relations),
        options=dpl.kg.KgeOptions(dimension=4, steps=5, batch=8),
    )  # fmt: skip
    belief = dpl.kg.calibrate(trained.model, graph)
    assert isinstance(belief, dpl.kg.Belief)
    prover = dpl.kg.prover(graph, dpl.kg.parse_rules(RULES), belief, nesting=1)
    assert isinstance(prover, dpl.kg.Prover)
    learned = dpl.kg.train_exact(
        prover, graph, graph.valid, dpl.kg.ExactOptions(steps=2, batch=2, negatives=2)
    )
    assert learned.steps == 2
    ranking = dpl.kg.rank(graph, lambda rows: prover(rows).success.detach(), protocol="full")
    assert dpl.kg.figures(ranking)["queries"] == 3


def test_the_name_is_there_without_torch() -> None:
    script = "import sys, deepprooflog as dpl; print('torch' in sys.modules, 'kg' in dpl.__all__)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
