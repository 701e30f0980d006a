"""`dprl train|evaluate|query|explain` on a knowledge graph, from the outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.cli import main

SMALL = [
    "data=village", "prior.dimension=8", "prior.steps=30", "prior.batch=128", "exact.steps=4",
    "exact.validate_every=2", "exact.batch=16", "exact.negatives=4", "search.nesting=1",
    "evaluation.validation_size=10", "evaluation.test_size=20", "policy.dimension=8", "threads=1",
]  # fmt: skip


def settings(*more: str) -> list[str]:
    return [part for text in (*SMALL, *more) for part in ("--set", text)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("cli") / "village"
    assert main(["train", "kg", *settings(), "--out", str(out), "--json"]) == 0
    return str(out)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def test_evaluate_has_the_keys_that_scripts_rely_on(
    run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(capsys, "evaluate", run, "--negatives", "20")
    keys = {
        "protocol", "negatives", "ties", "queries", "mrr", "hits@1", "hits@3", "hits@10", "auc_pr",
        "seconds",
    }  # fmt: skip
    assert keys <= found.keys()
    assert (found["protocol"], found["negatives"], found["queries"]) == ("sampled", 20, 20)
    full = asked(capsys, "evaluate", run, "--protocol", "full")
    assert (full["protocol"], full["negatives"]) == ("full", None)
    # More candidates cannot make a rank better.
    assert full["optimistic"]["mrr"] <= found["optimistic"]["mrr"] + 1e-12
    assert full["prior"]["mrr"] <= 1


def test_figures_for_people(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", run]) == 0
    out = capsys.readouterr().out
    assert "20 test triples, both sides, 100 negatives a side, average ties" in out
    found = asked(capsys, "evaluate", run)
    for name, figures in (
        ("p_success", found), ("belief alone", found["belief"]), ("prior alone", found["prior"]),
    ):  # fmt: skip
        (line,) = [text for text in out.splitlines() if text.startswith(name)]
        assert line.removeprefix(name).split()[0] == f"{figures['mrr']:.4f}"
    assert "goals evaluated" in out


def test_the_proofs_behind_each_score(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "evaluate", run, "--negatives", "2", "--proofs", "2")
    assert len(found["proofs"]) == found["queries"] == 20
    for one in found["proofs"]:
        assert len(one["proofs"]) <= 2
        told = sum(proof["probability"] for proof in one["proofs"])
        assert told <= one["probability"] + 1e-9
    some = found["proofs"][0]
    again = asked(capsys, "explain", run, some["triple"], "--proofs", "2")
    assert again["probability"] == pytest.approx(some["probability"])
    assert main(["evaluate", run, "--negatives", "2", "--proofs", "1"]) == 0
    assert capsys.readouterr().out.count("by clauses alone") == 20


def test_query_and_explain_agree(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "query", run, "mother(X, max_ashgrove)", "--top", "5")
    assert found["query"] == "mother(X, max_ashgrove)"
    assert 1 <= len(found["answers"]) <= 5
    for answer in found["answers"]:
        assert {"bindings", "probability", "proof"} <= answer.keys()
    best = found["answers"][0]
    told = asked(capsys, "explain", run, best["triple"], "--proofs", "2")
    assert told["probability"] == pytest.approx(best["probability"])
    assert 1 <= len(told["proofs"]) <= 2
    assert main(["explain", run, best["triple"]]) == 0
    out = capsys.readouterr().out
    assert "by clauses alone" in out
    assert "belief alone" in out
    for row in told["evidence"]:
        facts = "other fact" if row["count"] == 1 else "other facts"
        line = f"    {row['log_odds']:+.2f}  {row['count']} {facts} {row['facts']}\n"
        assert line in out
    assert "mother(·,max_ashgrove)" in out
    assert "proof 1" in out
    assert main(["query", run, "mother(X, max_ashgrove)", "--top", "2", "--proof"]) == 0
    assert "└─ mother(" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [("evaluate",), ("query", "uncle(X, Y)"), ("explain", "uncle(ada, ben)")],
    ids=lambda arguments: arguments[0],
)
def test_runs_have_budgets(
    run: str, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The watchdog ends what takes longer, with one message; what is quicker is answered."""
    monkeypatch.setattr("deepprooflog.logic.limits.watch.GRACE", -1.0)
    command, *query = arguments
    status = main([command, run, *query, "--max-seconds", "0.001", "--max-memory", "2GB"])
    err = capsys.readouterr().err
    assert "Traceback" not in err
    if command == "evaluate":
        assert status == 3
        assert "did not end within 0.001 s" in err


def test_questions_that_cannot_be_answered(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean mother" in refused(capsys, "query", run, "mothr(X, max_ashgrove)")
    assert "unknown entity nobody" in refused(capsys, "query", run, "mother(X, nobody)")
    assert "is no triple" in refused(capsys, "query", run, "mother(X)")
    assert "is open" in refused(capsys, "explain", run, "mother(X, max_ashgrove)")
    assert "error" in refused(capsys, "explain", run, "mother(a, ")
    assert "asked by a query" in refused(capsys, "query", run, "--test", "1")
    assert "all entities" in refused(
        capsys, "evaluate", run, "--protocol", "full", "--negatives", "5"
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train.txt": "r(a,b).\n", "valid.txt": "r(b,a).\n"}, "no file for the split test"),
        ({"train.txt": "r(a,b).\nr(a\n"}, "train.txt:2"),
        ({"train.tsv": "a\tr\tb\na\tr\n"}, "train.tsv:2"),
        ({"train.txt": ""}, "train.txt"),
    ],
)
def test_bad_folders(
    files: dict[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    for split in ("valid", "test"):
        if len(files) == 1:
            (folder / f"{split}.txt").write_text("r(b,a).\n")
    out = tmp_path / "run"
    arguments = ["train", "kg", "--set", f"data={folder}", "--set", "rules=none", "--out", str(out)]
    assert message in refused(capsys, *arguments)
    assert not out.exists(), "nothing half-written"


def test_what_is_odd_is_said_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    (folder / "train.txt").write_text("".join(f"r(e{i},e{i + 1}).\n" for i in range(12)) * 2)
    (folder / "valid.txt").write_text("s(e0,e2).\ns(e3,e5).\ns(e5,e7).\ns(e6,e8).\n")
    (folder / "test.txt").write_text("s(e1,e3).\nr(e0,e1).\n")
    (folder / "rules.pl").write_text("s(X, Z) :- r(X, Y), r(Y, Z).\ns(X, Q) :- r(X, _).\n")
    arguments = ["train", "kg", *settings(f"data={folder}")[2:], "--out", str(tmp_path / "run")]
    assert main(arguments) == 0
    err = capsys.readouterr().err
    assert "12 triples are duplicates" in err
    assert "also in train" in err
    assert "rules.pl:2" in err


def test_a_graph_without_rules_mines_them_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"{split}.txt").write_text("r(a,b).\nr(b,c).\n")
    quick = ["prior.steps=2", "prior.dimension=2", "exact.steps=1", f"data={folder}"]
    options = [part for text in quick for part in ("--set", text)]
    assert main(["train", "kg", *options, "--out", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().err
    assert "note: 0 rules of 0 mined in" in told
    assert "1 relation with fewer than 5 facts can have no rule" in told
    assert main(["rules", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out == "the run has no rules\n"
    message = refused(capsys, "evaluate", str(tmp_path / "run"), "--reading", "max")
    assert "there are no rules to read" in message


def test_conjunctions_are_asked_and_explained(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    query = "father(X, Y), mother(Z, Y), X \\= Z"
    assert main(["query", run, query, "--top", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["query"] == query
    assert len(found["answers"]) == 3
    best = found["answers"][0]
    assert set(best["bindings"]) == {"X", "Y", "Z"}
    assert [node["parent"] for node in best["proof"]["nodes"]].count(None) == 3
    assert main(["explain", run, best["triple"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["probability"] == pytest.approx(best["probability"])
    assert main(["explain", run, query]) == 2
    assert "is open" in capsys.readouterr().err
    assert main(["query", run, "father(X, Y), fathr(Y, Z)"]) == 2
    assert "did you mean father?" in capsys.readouterr().err
    assert main(["query", run, "father(X, Y), Y \\= Z"]) == 2
    assert "what no triple binds: Z" in capsys.readouterr().err


def test_a_budget_of_goals_gives_bounds(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    triple = "father(caspar_ashgrove, max_ashgrove)"
    exact = asked(capsys, "explain", run, triple)
    cut = asked(capsys, "explain", run, triple, "--max-goals", "5")
    assert cut["probability"] <= exact["probability"] + 1e-6
    assert exact["probability"] - 1e-6 <= cut["upper"] and cut["upper"] > cut["probability"]
    assert main(["query", run, triple, "--max-goals", "5"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("true  between ")
    assert "lower bounds" in err
    whole = asked(capsys, "query", run, triple, "--max-goals", "100000")["answers"][0]
    assert whole["probability"] == whole["upper"] == pytest.approx(exact["probability"], abs=1e-6)
