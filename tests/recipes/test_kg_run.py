"""Knowledge-graph runs on the village: what a folder holds, what it answers, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import SIDES
from deepprooflog.kg.evaluation.scores import success_score
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.negatives import corruptions
from deepprooflog.kg.learn.options import SEEDS_APART, GraphOptions
from deepprooflog.kg.learn.policy import validation
from deepprooflog.kg.opening import open_graph_model
from deepprooflog.kg.prove.candidates import most_believed
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.learn.run.folder import RunFolder, open_run
from deepprooflog.learn.run.settings import options_from
from deepprooflog.recipes.graph import train
from deepprooflog.recipes.tasks import TASKS, EvaluateOptions, QueryOptions

SMALL = {
    "data": "village", "prior_dimension": 8, "prior_steps": 30, "prior_batch": 128, "steps": 6,
    "look": 3, "batch": 16, "negatives": 4, "nesting": 1, "looked_at": 20, "test": 40,
    "dimension": 8, "belief.shift": False, "threads": 1,
}  # fmt: skip


def opened(run: Path) -> tuple[GraphOptions, Theory, Prover]:
    model = open_graph_model(run)
    return model.options, model.theory, model.prover


def small(out: Path, **given: object) -> dict[str, Any]:
    return train("kg", {**SMALL, **given}, out, progress=False)


def ask(run: RunFolder, query: str, **given: Any) -> dict[str, Any]:
    return TASKS["kg"].query(run, QueryOptions(query, **given)).to_dict()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("graphs") / "village"
    small(out)
    return out


def test_the_folder_of_a_run(run: Path) -> None:
    names = {path.name for path in run.iterdir()}
    assert names == {
        "config.json", "metrics.jsonl", "checkpoint.pt", "curves.svg", "result.json",
        "prior.safetensors", "graph.json", "graph.safetensors", "model.safetensors", "README.md",
    }  # fmt: skip
    result = json.loads((run / "result.json").read_text())
    assert (result["learner"], result["test"]["queries"]) == ("exact", 40)
    assert result["test"]["lists"] == 80
    assert {"mrr", "hits@1", "hits@3", "hits@10", "auc_pr"} <= result["test"].keys()
    assert result["test"]["prior"]["lists"] == 80
    assert result["test"]["cut"] == 0


def test_evaluating_again_gives_the_same(run: Path) -> None:
    found, _ = TASKS["kg"].evaluate(open_run(run), EvaluateOptions(progress=False))
    kept = json.loads((run / "result.json").read_text())["test"]
    for key in ("mrr", "hits@1", "hits@10", "auc_pr", "queries", "goals"):
        assert found[key] == kept[key], key
    assert found["prior"]["mrr"] == kept["prior"]["mrr"]


def test_the_ranks_are_those_of_the_scores(run: Path) -> None:
    """MRR from scores of all candidates, ranked here by hand with average ties."""
    options, task, prover = opened(run)
    result = json.loads((run / "result.json").read_text())["test"]
    chosen = np.random.default_rng(0).choice(len(task.graph.test), 40, replace=False)
    queries = task.graph.test[np.sort(chosen)]
    for score, expected in (
        (success_score(prover), result["mrr"]),
        (prover.belief.of_triples, result["belief"]["mrr"]),  # type: ignore[union-attr]
        (
            lambda triples: prover.belief.kge.score(*triples.unbind(1)).detach(),  # type: ignore[union-attr]
            result["prior"]["mrr"],
        ),
    ):
        reciprocal = []
        for side in SIDES:
            drawn = corruptions(task.graph, queries, side, 100)
            for query, row, there in zip(
                queries, drawn.triples(queries), drawn.present, strict=True
            ):
                # In one call with its own triple, as it is ranked: equal is then equal to the bit.
                listed = score(torch.from_numpy(np.vstack([query, row[there]]))).numpy()
                own, others = listed[0], listed[1:]
                better, equal = (others > own).sum(), (others == own).sum()
                reciprocal.append(1 / (1 + better + equal / 2))
        assert float(np.mean(reciprocal)) == pytest.approx(expected, abs=1e-6)
    assert options.search.nesting == 1


def test_an_open_query_is_answered_with_proofs(run: Path) -> None:
    options, task, prover = opened(run)
    by_proof = prover(torch.from_numpy(task.graph.test)).proof
    triple = task.graph.test[int(by_proof.argmax())]
    relation = task.graph.relations[triple[1]]
    tail = task.graph.entity_text(int(triple[2]))
    found = ask(open_run(run), f"{relation}(Who, {tail})", top=200, proofs=1)
    own = task.graph.entity_text(int(triple[0]))
    (mine,) = [one for one in found["answers"] if one["bindings"] == {"Who": own}]
    ground = ask(open_run(run), f"{relation}({own}, {tail})", top=1, proofs=2)["answers"][0]
    assert mine["probability"] == pytest.approx(ground["probability"])
    assert mine["by_proof"] > 0
    assert not mine["known"]
    assert ground["bindings"] == {}
    assert mine["proof"] is not None
    order = [one["probability"] for one in found["answers"]]
    assert order == sorted(order, reverse=True)
    fresh = ask(open_run(run), f"{relation}(Who, {tail})", top=200, proofs=0, new=True)
    assert not any(one["known"] for one in fresh["answers"])
    assert options.prior.kind == "complex"


def test_proofs_by_clauses_come_first(run: Path) -> None:
    """Each kind most probable first; together they are p_success, those by clauses by_proof."""
    _, task, prover = opened(run)
    mass = prover(torch.from_numpy(task.graph.test))
    assert ((mass.proof > 0) & (mass.proof < mass.success)).sum() > 100
    best = int(mass.proof.argmax())
    triple = task.graph.test[best].tolist()
    found = prover.proofs(triple, 50, believing="last")
    assert len(found) < 50
    believes = [any(node.kind == "belief" for node in proof.nodes) for proof in found]
    assert believes == sorted(believes)
    assert {True, False} == set(believes)
    for kind, total in ((False, mass.proof), (True, mass.success - mass.proof)):
        own = [p.probability for p, b in zip(found, believes, strict=True) if b is kind]
        assert own == sorted(own, reverse=True)
        assert sum(own) == pytest.approx(total[best].item())
    assert prover.proofs(triple, 1, believing="last") == found[:1]
    nothing = task.graph.test[int(mass.proof.argmin())].tolist()
    (only,) = prover.proofs(nothing, 3, believing="last")
    assert any(node.kind == "belief" for node in only.nodes)


def test_a_prior_of_another_margin_is_refused(tmp_path: Path) -> None:
    """Its phases are stored on a scale that the margin gives: with another they would be others."""
    rotate = {"prior": "rotate", "learner": "none", "prior_steps": 3, "test": 5}
    small(tmp_path / "first", **rotate, prior_margin=6.0)
    again = {**rotate, "prior_from": str(tmp_path / "first")}
    with pytest.raises(DataError, match="a prior of margin 6"):
        small(tmp_path / "other", **again, prior_margin=9.0)
    small(tmp_path / "same", **again, prior_margin=6.0)
    one, two = (opened(tmp_path / n)[2].belief for n in ("first", "same"))
    assert one is not None
    assert two is not None
    triple = torch.tensor(0), torch.tensor(0), torch.tensor(1)
    assert one.kge.score(*triple) == two.kge.score(*triple)


def test_options_reach_the_learners() -> None:
    """What is set is what the embedding and the policy are trained with."""
    given = {"prior.filtered": 1, "prior.dura": 0.3, "prior.margin": 7.0, "exact.entropy": 0.4}
    found = options_from(GraphOptions, {**given, "seed": 5})
    prior = found.prior.member(2)
    assert (prior.filtered, prior.dura, prior.margin) == (True, 0.3, 7.0)
    assert prior.seed == 5 + 2 * SEEDS_APART
    assert not GraphOptions().prior.filtered
    assert (found.exact.entropy, found.exact.seed, found.ppo.seed) == (0.4, 5, 5)


def test_proofs_alone(tmp_path: Path) -> None:
    """Without a prior what no rule proves has probability 0."""
    result = small(tmp_path / "run", prior="none", steps=3)
    assert not {"prior", "late_fusion"} & result["test"].keys()
    _, task, prover = opened(tmp_path / "run")
    mass = prover(torch.from_numpy(task.graph.test))
    assert torch.equal(mass.success, mass.proof)
    assert not (tmp_path / "run" / "prior.safetensors").exists()
    # 356 of 644 test triples have a proof at nesting 1, counted bottom-up in the village's tests.
    assert int((mass.success > 0).sum()) == 356


def test_a_prior_can_be_used_again(run: Path, tmp_path: Path) -> None:
    small(tmp_path / "again", prior_from=str(run), steps=3)
    _, _, first = opened(run)
    _, _, second = opened(tmp_path / "again")
    assert first.belief is not None
    assert second.belief is not None
    triples = torch.tensor([[0, 0, 1], [3, 2, 4]])
    one = first.belief(triples[:, 1], triples[:, 0], triples[:, 2])
    two = second.belief(triples[:, 1], triples[:, 0], triples[:, 2])
    assert torch.equal(one, two)


def test_a_prior_that_weighs_facts(run: Path, tmp_path: Path) -> None:
    """The embedding of another run calibrated anew: its ranks stay, those of belief change."""
    plain = small(tmp_path / "plain", prior_from=str(run), evidence="score", steps=3)["test"]
    kept = json.loads((run / "result.json").read_text())["test"]
    assert "belief" not in plain
    assert plain["prior"]["mrr"] == kept["prior"]["mrr"]
    assert kept["belief"]["mrr"] != kept["prior"]["mrr"]
    again, _ = TASKS["kg"].evaluate(open_run(run), EvaluateOptions(progress=False))
    assert again["belief"]["mrr"] == kept["belief"]["mrr"]
    _, task, prover = opened(run)
    h, r, t = task.graph.test[0]
    train = {tuple(row) for row in task.graph.train.tolist()}
    name, a, b = (
        task.graph.relations[r], task.graph.entity_text(int(h)), task.graph.entity_text(int(t))
    )  # fmt: skip
    (one,) = ask(open_run(run), f"{name}({a}, {b})", top=1)["answers"]
    counts = [row["count"] for row in one["evidence"]]
    assert counts == [
        sum((x, y) == (h, r) for x, y, _ in train), sum((y, z) == (r, t) for _, y, z in train),
        sum(h in (x, z) for x, _, z in train), sum(t in (x, z) for x, _, z in train),
    ]  # fmt: skip
    assert prover.belief is not None
    score = prover.belief.kge.score(*torch.tensor([h, r, t]))
    line = prover.belief.calibration
    logit = line.slope[r] * score + line.offset[r] + sum(row["log_odds"] for row in one["evidence"])
    assert one["prior"] == pytest.approx(torch.sigmoid(logit).item())
    (bare,) = ask(open_run(tmp_path / "plain"), f"{name}({a}, {b})", top=1)["answers"]
    assert bare["evidence"] is None


def test_an_open_query_looks_where_belief_is_high(run: Path) -> None:
    """The entities that belief, not the embedding's score alone, holds most likely."""
    _, task, prover = opened(run)
    assert prover.belief is not None
    relation, tail = 3, int(task.graph.test[0][2])
    everyone = torch.arange(len(task.graph.entities))
    p = prover.belief(
        torch.full_like(everyone, relation), everyone, torch.full_like(everyone, tail)
    )
    best = p.topk(20).indices
    triples = torch.full((len(everyone), 3), relation)
    triples[:, 0], triples[:, 2] = everyone, tail
    found = most_believed(prover, triples, 20)
    assert found[:, 0].tolist() == best.tolist()
    assert set(found[:, 1].tolist()) == {relation}
    assert set(found[:, 2].tolist()) == {tail}


def test_a_prior_of_several_embeddings(run: Path, tmp_path: Path) -> None:
    """The first member is the prior of a run with one; the second has a seed of its own."""
    two = {"prior_members": 2, "learner": "none"}
    small(tmp_path / "two", **two)
    small(tmp_path / "other", seed=SEEDS_APART, learner="none")
    priors = []
    for folder in (run, tmp_path / "other", tmp_path / "two"):
        belief = opened(folder)[2].belief
        assert belief is not None and isinstance(belief.kge, Kge)
        priors.append(belief.kge)
        assert not list(folder.glob("prior-training*"))
    assert priors[2].dimension == 2 * priors[0].dimension
    triple = torch.tensor(0), torch.tensor(0), torch.tensor(1)
    one, other, both = (float(kge.score(*triple)) for kge in priors)
    assert both == pytest.approx((one + other) / 2, abs=1e-5)
    with pytest.raises(DataError, match="a prior of kind complex, dimension"):
        small(tmp_path / "again", prior_from=str(tmp_path / "two"))
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data": "nowhere"}, "no knowledge graph"),
        ({"rules": "nowhere.pl"}, "nowhere.pl"),
        ({"learner": "guess"}, "learner is one of"),
        ({"nestin": 2}, "no option nestin"),
        ({"prior": "none", "learner": "none"}, "nothing to train"),
        ({"prior_from": "nowhere"}, "there is no prior"),
        ({"evidence": "rumours"}, "evidence is one of score, facts"),
    ],
)
def test_what_is_refused(given: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        small(tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_an_interrupted_run_goes_on(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it learns, also by a version that lacked an option: the same result at last."""
    looked = []

    def interrupted(*given: Any) -> Any:
        value = validation(*given)

        def look(prover: Any) -> float:
            looked.append(value(prover))
            if len(looked) == 3:
                raise KeyboardInterrupt
            return looked[-1]

        return look

    out = tmp_path / "run"
    monkeypatch.setattr("deepprooflog.learn.run.loop.SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr("deepprooflog.kg.learn.policy.validation", interrupted)
        with pytest.raises(KeyboardInterrupt):
            small(out)
    assert not (out / "result.json").exists()
    config = open_run(out).config()
    del config["options"]["exact"]["entropy"]
    open_run(out).write_json("config.json", config)
    again = train("kg", {}, out, resume=True, progress=False)
    whole = open_run(run).read_result()
    for result in (again, whole):
        result.pop("seconds")
        test = result["test"]
        for part in (test, test["prior"], test["belief"], test["late_fusion"]):
            part.pop("seconds")
    assert json.loads(json.dumps(again)) == whole
    with pytest.raises(DataError, match=r"the run has exact\.steps=6, not 7"):
        train("kg", {"steps": 7}, out, resume=True, progress=False)


def test_a_damaged_checkpoint(run: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(run, tmp_path / "copy")
    (tmp_path / "copy" / "prior.safetensors").write_bytes(b"PK\x03\x04 not a checkpoint")
    with pytest.raises(DataError, match="damaged"):
        opened(tmp_path / "copy")
