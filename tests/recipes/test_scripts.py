"""Scripts that make tables of the docs: they can be imported, and count and write as they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.ground.backward import Grounder
from deepprooflog.logic.program import Program
from deepprooflog.syntax.reader import read_term

SCRIPTS = Path(__file__).parents[2] / "scripts"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_a_row_of_figure_1(tmp_path: Path) -> None:
    figure = script("figure1")
    values = dict(zip(figure.FIGURES, (0.5, 0.25, 0.75, 1.0, 0.125), strict=True))
    assert (
        figure.row("goal", values, "7") == "| goal | .5000 | .2500 | .7500 | 1.0000 | .1250 | 7 |"
    )
    (tmp_path / "result.json").write_text('{"prior": "none"}')
    assert figure.trained("kg", {}, tmp_path) == {"prior": "none"}


def test_groundings_are_counted_once() -> None:
    """Two queries need r(a, b), one of them in the second round as well."""
    graph = graph_of([("a", "s", "b"), ("b", "s", "c"), ("c", "q", "c"), ("c", "r", "c")])
    rules = parse_rules("r(X, Y) :- s(X, Y). q(X, Y) :- r(X, Z), s(Z, Y).")
    rounds = Grounder.of(graph, rules, width=1, depth=2).rounds(
        torch.tensor([[0, 2, 1], [0, 1, 2]])
    )
    assert sum(map(len, rounds)) == 3
    assert script("groundings").count_distinct(rounds) == 2


def test_a_walk_is_files_in_the_order_of_their_first_call() -> None:
    """Reading a term stays within syntax; reading a program goes to logic and back."""
    walk = script("query_walk")
    term = walk.traced(lambda: read_term("p(a)", end_optional=True))
    assert next(iter(term.files)) == "syntax/reader.py"
    assert term.crossings == 0
    assert "read_term" in term.files["syntax/reader.py"]
    program = walk.traced(lambda: Program("p(a)."))
    assert [walk.package_of(file) for file in program.files][:2] == ["logic", "logic"]
    assert program.crossings == str(program).count("│") >= 2


@pytest.mark.parametrize("name", ["figure1", "groundings", "query_walk"])
def test_a_script_says_what_it_does(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = script(name)
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    assert (module.__doc__ or "").splitlines()[0] in " ".join(capsys.readouterr().out.split())
