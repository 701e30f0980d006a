"""Walks as users meet them: trained, asked, explained, ranked, kept, moved to another graph."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.learn.walks import learn_walks
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.walk.model import walk_graph
from deepprooflog.kg.walk.prover import WalkProver
from deepprooflog.kg.walk.rank import rank_open
from deepprooflog.kg.walk.saved import load_walks

WALK: dict[str, Any] = {
    "hops": 2, "states": 2, "width": 8, "hidden": 16, "epochs": 10, "batch": 32, "lr": 0.05,
    "validations": 1, "seconds": 0,
}  # fmt: skip
OPTIONS: dict[str, Any] = {"learner": "walks", "walk": WALK, "threads": 1}


def family(name: str = "") -> Graph:
    """Families in which gran is the mother of a father."""
    train: list[tuple[str, str, str]] = []
    rest: list[tuple[str, str, str]] = []
    for i in range(12):
        g, p, c = (f"{kind}{i}{name}" for kind in "gpc")
        train += [(g, "mother", p), (p, "father", c)]
        (train if i < 8 else rest).append((g, "gran", c))
    return graph_of(train, valid=rest[:2], test=rest[2:], name=f"family{name}")


def write(graph: Graph, folder: Path) -> Path:
    """A graph's folder."""
    folder.mkdir()
    for split in ("train", "valid", "test"):
        rows = [graph.text(row) for row in graph.split(split)]
        (folder / f"{split}.pl").write_text("".join(f"{row}.\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the command line, interrupted when its walks were trained, and gone on with."""
    folder = tmp_path_factory.mktemp("walks")
    data = write(family(), folder / "one")
    given = [f"walk.{key}={value}" for key, value in WALK.items()]
    asked = [text for one in (f"data={data}", "threads=1", *given) for text in ("--set", one)]
    train = ["train", "walks", *asked, "--out", str(folder / "run"), "--json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WalkProver, "weigh", _interrupted)
        assert main(train) == 130
    assert (folder / "run" / "checkpoint.pt").exists()
    assert main([*train, "--resume"]) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def model(run: Path) -> GraphModel:
    return dpl.kg.open(run)


def test_answers_come_with_walks(model: GraphModel) -> None:
    """Two facts lead from gran to grandchild; the proof replays."""
    found = model.query("gran(g11, X)", top=3)
    assert found[0].bindings == {"X": "c11"}
    assert found[0].proof is not None and found[0].proof.check()
    assert [n.atom for n in found[0].proof.nodes if n.atom.startswith("fact")] == [
        "fact(mother,g11,p11)", "fact(father,p11,c11)"
    ]  # fmt: skip
    assert [one.probability for one in found] == sorted(a.probability for a in found)[::-1]
    why = model.explain("gran(g11, c11)", proofs=2)
    assert why.probability == pytest.approx(found[0].probability)
    assert 0 < why.by_proof <= why.probability < 1
    assert not why.known and why.prior is None
    assert model.query("gran(X, c11)", top=1)[0].bindings == {"X": "g11"}
    assert model.query("gran(g1, X)", top=1)[0].known
    assert model.query("gran(g1, X)", top=1, new=True)[0].bindings != {"X": "c1"}
    with pytest.raises(DataError, match="a walk begins somewhere"):
        model.query("gran(X, Y)")
    with pytest.raises(DataError, match="is open"):
        model.explain("gran(g1, X)")


def test_figures_are_those_of_open_ranking(model: GraphModel) -> None:
    """Walks alone rank as `rank_open` does, which is tested against single candidates."""
    assert model.walks is not None
    found = model.evaluate(protocol="full")
    own = model.walks
    wanted = rank_open(own.model, walk_graph(own.graph, own.model.relations), own.graph).means()
    assert found.walks is not None
    assert found.walks.mrr == pytest.approx(wanted["mrr"])
    assert found.record["score"]["weighed"] in ("walks", "walks + facts")
    assert found.record["score"]["lists"] == 4
    assert set(found.strata) <= {"both", "head", "tail", "none"}
    assert "walks alone" in str(found) and "known in train" in str(found)
    assert model.evaluate(negatives=3).record["protocol"] == "sampled"


def test_what_is_saved_is_what_is_opened(model: GraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    again = dpl.kg.open(tmp_path / "run")
    assert repr(again) == repr(model)
    assert again.query("gran(g11, X)").answers == model.query("gran(g11, X)").answers
    assert again.evaluate(protocol="full").mrr == model.evaluate(protocol="full").mrr
    with pytest.raises(DataError, match="holds a run already"):
        model.save(tmp_path / "run")
    raw = (tmp_path / "run" / "model.safetensors").read_bytes()
    (tmp_path / "run" / "model.safetensors").write_bytes(raw[:-1])
    with pytest.raises(DataError, match="damaged"):
        dpl.kg.open(tmp_path / "run")


def test_other_facts_are_a_view(model: GraphModel) -> None:
    """Without a fact on the way there is no walk, and a new entity can be walked to."""
    view = model.with_facts(removed=["father(p11, c11)"])
    assert view.explain("gran(g11, c11)").by_proof < model.explain("gran(g11, c11)").by_proof / 2
    more = model.with_facts(added=["mother(g1, newborn)", "father(newborn, baby)"])
    names = [one.bindings["X"] for one in more.query("gran(g1, X)", top=3, new=True)]
    assert "baby" in names


def test_by_the_command_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked, and asked about another graph with other people."""
    out, other = str(run), write(family("x"), tmp_path / "two")
    result = json.loads((run / "result.json").read_text())
    assert result["learner"] == "walks"
    assert result["test"]["walks"]["mrr"] == 1.0
    assert result["test"]["strata"]
    assert main(["explain", out, "gran(g11, c11)"]) == 0
    assert "fact(mother,g11,p11)" in capsys.readouterr().out
    assert main(["evaluate", out, "--protocol", "full", "--data", str(other), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["walks"]["mrr"] == 1.0
    assert main(["query", out, "gran(g11x, X)", "--top", "1", "--data", str(other)]) == 0
    assert "c11x" in capsys.readouterr().out
    strange = write(graph_of([("a", "likes", "b")], [], [("b", "likes", "a")]), tmp_path / "three")
    assert main(["evaluate", out, "--data", str(strange)]) == 2
    assert "relation" in capsys.readouterr().err


def _interrupted(*_: object, **__: object) -> WalkProver:
    raise KeyboardInterrupt


def test_an_embedding_beside_walks(tmp_path: Path) -> None:
    """Figures of each alone stand beside both; where entities are new, walks go without it."""
    prior = {"kind": "complex", "dimension": 4, "steps": 5, "batch": 16}
    model = dpl.kg.train(family(), prior=prior, out=tmp_path / "run", **OPTIONS)
    found = model.evaluate(protocol="full")
    assert found.prior is not None and found.walks is not None
    assert found.walks.mrr > found.prior.mrr
    tried = found.record["score"]["validation"]
    assert set(tried) == {
        "walks", "walks + facts", "prior", "prior + facts", "walks + prior", "walks + prior + facts"
    }  # fmt: skip
    best = max(tried.values())
    assert tried[found.record["score"]["weighed"]] == best
    why = model.explain("gran(g11, c11)")
    assert why.prior is not None
    with pytest.warns(Notice, match="does not know 1 entity of family: walks and facts"):
        view = model.with_facts(added=["mother(g1, newborn)"])
    assert view.walks is not None and view.walks.belief is None
    assert view.query("gran(g11, X)", top=1)[0].bindings == {"X": "c11"}
    other = write(family("x"), tmp_path / "other")
    with pytest.warns(Notice, match="no entity that the embedding knows"):
        moved = dpl.kg.open(tmp_path / "run", data=str(other))
    assert moved.query("gran(g11x, X)", top=1)[0].bindings == {"X": "c11x"}


def test_what_walks_cannot_be_given(model: GraphModel) -> None:
    with pytest.raises(DataError, match=r"nowhere\.pl: error: cannot read"):
        dpl.kg.train(family(), Path("nowhere.pl"), "none", **OPTIONS)
    assert model.walks is not None
    bare = graph_of([("a", "mother", "b"), ("a", "gran", "b"), ("a", "father", "b")])
    with pytest.raises(DataError, match="no validation triples"):
        WalkProver(model.walks.model, bare).weigh(base_rate=0.1)
    with pytest.raises(DataError, match="no validation triples"):
        learn_walks(model.options, bare, Rules(()), None, None, progress=False)


def test_weights_that_do_not_fit_are_refused(model: GraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    other = graph_of([("a", "r", "b")])
    with pytest.raises(DataError):
        load_walks(tmp_path / "run" / "model.safetensors", other, model.options.walk, None)


def test_probabilities_are_calibrated_shares(model: GraphModel) -> None:
    """Log odds are a rising line of the log-share among those who make no known truth."""
    walks = model.walks
    assert walks is not None and walks.weighed is not None
    row = model.graph.test[:1]
    with torch.no_grad():
        logits = walks.logits(row, "tail")[0, 0]
    order = logits.argsort(descending=True)
    lines = walks.weighed.lines
    q = int(row[0, 1])
    share = (logits - lines.offset[q]) / lines.slope[q]
    known = model.graph.known("tail", ("train", "valid"))
    h = np.array([q * len(model.graph.entities) + row[0, 0]])
    free = [e for e in range(len(logits)) if not known.has(h, np.array([e]))[0]]
    assert float(share[free].exp().sum()) == pytest.approx(1.0, abs=1e-4)
    assert int(order[0]) == row[0, 2]


def test_a_walk_of_six_hops_is_a_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only six facts in a row lead from begin to end; the command line finds and replays them."""
    rows: dict[str, list[tuple[str, str, str]]] = {"train": [], "valid": [], "test": []}
    for i in range(12):
        nodes = [f"n{i}_{k}" for k in range(7)]
        rows["train"] += [(a, "next", b) for a, b in pairwise(nodes)]
        split = "train" if i < 8 else "valid" if i < 11 else "test"
        rows[split].append((nodes[0], "far", nodes[6]))
    graph = graph_of(rows["train"], valid=rows["valid"], test=rows["test"])
    data = write(graph, tmp_path / "chains")
    walk = {**WALK, "hops": 6, "epochs": 20, "hide": 0.0, "suits": "false"}
    given = [f"data={data}", "threads=1", *(f"walk.{key}={value}" for key, value in walk.items())]
    asked = [text for one in given for text in ("--set", one)]
    assert main(["train", "walks", *asked, "--out", str(tmp_path / "run"), "--json"]) == 0
    capsys.readouterr()
    query = ["query", str(tmp_path / "run"), "far(n11_0, X)", "--top", "1", "--json"]
    assert main(query) == 0
    assert json.loads(capsys.readouterr().out)["answers"][0]["bindings"] == {"X": "n11_6"}
    proof = dpl.kg.open(tmp_path / "run").explain("far(n11_0, n11_6)", 1).proof
    assert proof is not None and proof.check()  # step by step through `successors`
    assert [n.atom for n in proof.nodes if n.atom.startswith("fact")] == [
        f"fact(next,n11_{k},n11_{k + 1})" for k in range(6)
    ]
    asked[asked.index("walk.hops=6")] = "walk.hops=7"
    assert main(["train", "walks", *asked, "--out", str(tmp_path / "far")]) == 2
    assert "at most 6" in capsys.readouterr().err and not (tmp_path / "far").exists()


def test_walks_of_another_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run's walks are the first's to the bit; only how they are weighed is fitted."""
    data, out = write(family(), tmp_path / "data"), tmp_path / "second"
    shape = [f"walk.{name}={WALK[name]}" for name in ("hops", "states", "width", "hidden")]
    given = [f"data={data}", f"walk.from_run={run}", "threads=1", "prior.kind=complex",
             "prior.dimension=4", "prior.steps=5"]  # fmt: skip
    told = [word for one in (*shape, *given) for word in ("--set", one)]
    assert main(["train", "walks", *told, "--out", str(out)]) == 0
    assert f"walks: those of {run}" in capsys.readouterr().err
    first, second = (dpl.kg.open(folder).walks for folder in (run, out))
    assert first is not None and second is not None
    assert second.names == ("walks", "prior")
    theirs = first.model.state_dict()
    assert all(torch.equal(v, theirs[name]) for name, v in second.model.state_dict().items())
    result = json.loads((out / "result.json").read_text())
    assert result["test"]["walks"]["mrr"] == 1.0
    assert main(["train", "walks", *told[2:], "--out", str(tmp_path / "third")]) == 2
    assert "try: --set walk.hops=2" in capsys.readouterr().err
    none = [f"walk.from_run={data}" if word.startswith("walk.from_run") else word for word in told]
    assert main(["train", "walks", *none, "--out", str(tmp_path / "third")]) == 2
    assert "not the folder of a run" in capsys.readouterr().err
    assert not (tmp_path / "third").exists()
