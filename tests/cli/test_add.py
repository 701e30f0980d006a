"""`dprl add`: facts told to a run after training, from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import Notice
from deepprooflog.kg.kept import sources_of_run, with_told
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.told import tell_run
from deepprooflog.learn.run.folder import RunFolder

RULES = "gran(X, Z) :- parent(X, Y), parent(Y, Z)."
PARENTS = [(f"p{i}", "parent", f"p{2 * i + k}") for i in range(1, 8) for k in (0, 1)]
GRANS = [(f"p{i}", "gran", f"p{4 * i + k}") for i in range(1, 4) for k in range(4)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph = dpl.kg.load([*PARENTS, *GRANS[:6]], valid=GRANS[6:9], test=GRANS[9:])
    model = dpl.kg.train(
        graph, RULES, {"kind": "complex", "dimension": 4, "steps": 5, "batch": 16}, seed=0,
        exact={"steps": 1, "batch": 4, "negatives": 2}, policy={"dimension": 4}, threads=1,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("told") / "run"
    model.save(folder)
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> str:
    folder = tmp_path / "run"
    folder.mkdir()
    for file in trained.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return str(folder)


def asked(run: str, query: str, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """The answers' X, and what stands beside them."""
    assert main(["query", run, query, "--json", "--top", "50"]) == 0
    out, notes = capsys.readouterr()
    return [one["bindings"]["X"] for one in json.loads(out)["answers"]], notes


def test_facts_are_added_and_taken_back(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A new entity is proved things of, belief abstains, and the query says what was added."""
    assert main(["add", run, "parent(p15, newborn)", "parent(p1, p2)", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "run": run, "added": 1, "removed": 0, "known": 1, "new_entities": ["newborn"],
        "changes": {"added": 1, "removed": 0},
    }  # fmt: skip
    found, notes = asked(run, "gran(X, newborn)", capsys)
    assert found == ["p7"]
    assert f"note: {run}: 1 fact added since training" in notes
    assert main(["explain", run, "gran(p7, newborn)"]) == 0
    assert "belief abstains: training never saw newborn" in capsys.readouterr().out
    assert main(["add", run, "--remove", "parent(p7, p15)"]) == 0
    shown = capsys.readouterr().out
    assert shown == (
        "1 fact removed\nthe run's graph: 1 fact added and 1 fact removed since training\n"
    )
    assert asked(run, "gran(X, newborn)", capsys)[0] == []
    assert main(["add", run, "parent(p7, p15)"]) == 0
    assert main(["add", run, "--remove", "parent(p15,newborn)"]) == 0
    assert capsys.readouterr().out.endswith("the run's graph: as it was trained\n")
    assert "since training" not in asked(run, "gran(p3, X)", capsys)[1]


def test_python_opens_the_run_as_the_view_that_it_is(run: str) -> None:
    """What `add` keeps is what `with_facts` shows of the model that was trained."""
    view = dpl.kg.open(run).with_facts(["parent(p15, newborn)"], ["parent(p1, p2)"])
    told = tell_run(run, added=[("p15", "parent", "newborn")], removed=["parent(p1, p2)"])
    assert (told.added, told.removed, told.known) == (1, 1, 0)
    with pytest.warns(Notice, match="1 fact added and 1 fact removed since training"):
        opened = dpl.kg.open(run)
    for query in ("gran(p7, X)", "gran(X, p4)", "parent(X, newborn)"):
        assert list(opened.query(query, 50)) == list(view.query(query, 50))


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (["parent(p1)"], "is no triple"),
        (["parnt(p1, p2)"], "knows no relation parnt"),
        (["parent(X, p2)"], "facts are ground"),
        (["parent(p1, f(p2))"], "no name of an entity"),
        (["parent(p1, p2"], "1:"),
        (["parent(p15, p99)", "parent(a, b) :- parent(b, a)"], "is no triple"),
        (["--remove", "parent(p1, p9)"], "nothing to remove"),
    ],
)
def test_nonsense_changes_nothing(
    run: str, facts: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["add", run, *facts]) == 2
    assert said in capsys.readouterr().err
    assert not (Path(run) / "facts.json").exists()


def test_a_record_that_was_edited_is_refused(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add", run, "parent(p15, p16)"]) == 0
    path = Path(run) / "facts.json"
    path.write_text(path.read_text().replace("p16", "p17"))
    capsys.readouterr()
    assert main(["query", run, "gran(X, p16)"]) == 2
    assert "the file is damaged or was edited" in capsys.readouterr().err
    assert main(["add", str(Path(run).parent), "parent(p15, p16)"]) == 2


def test_what_was_trained_on_is_told_apart_from_what_is_known_now(run: str) -> None:
    folder = RunFolder(Path(run))
    own = sources_of_run(folder, GraphOptions(), told=True)
    assert len(own.graph.train) == len(PARENTS) + 6
    assert with_told(folder, own) is own
    tell_run(run, ["parent(p15, newborn)"])
    with pytest.warns(Notice, match="1 fact added since training"):
        now = with_told(folder, sources_of_run(folder, GraphOptions(), told=True))
    assert len(now.graph.train) == len(PARENTS) + 7
