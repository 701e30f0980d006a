"""Recipe files: shipped ones hold together, and the options of a run come from the right place."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprooflog.errors import DataError
from deepprooflog.kg.ground.options import GroundedOptions
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.learn.run.options import option_fields
from deepprooflog.learn.run.settings import assignments, settings
from deepprooflog.recipes.addition.options import AdditionOptions, resolve
from deepprooflog.recipes.graph import resolve as resolve_graph
from deepprooflog.recipes.recipe import read_recipe, resolve_options, shipped

# Table 1 of the paper: accuracy, spread, minutes.
TABLE_1 = {
    ("dp", 4): (94.0, 0.3, 25.4),
    ("dp", 15): (80.8, 1.1, 41.8),
    ("dp", 100): (37.8, 2.9, 105.8),
    ("dp", 200): (23.2, 3.0, 128.0),
    ("dp", 500): (6.0, 4.9, 469.0),
    ("pg", 4): (93.5, 0.4, 25.7),
    ("pg", 15): (76.9, 1.9, 49.7),
    ("pg", 100): (0.0, 0.0, 282.6),
    ("pg", 200): (0.0, 0.0, 295.8),
    ("pg", 500): (0.0, 0.0, 865.0),
}


ADDITIONS = [name for name in shipped() if read_recipe(name).task == "mnist-addition"]
GRAPHS = [name for name in shipped() if read_recipe(name).task == "kg"]
GROUNDED = [name for name in shipped() if read_recipe(name).task == "groundings"]


def test_every_shipped_recipe_has_a_known_task() -> None:
    assert sorted(ADDITIONS + GRAPHS + GROUNDED) == shipped()


@pytest.mark.parametrize("name", GRAPHS)
def test_every_shipped_graph_recipe_resolves(name: str) -> None:
    options = resolve_graph(read_recipe(name), {"seed": 3})
    assert options.seed == options.exact.seed == options.ppo.seed == options.prior.seed == 3


@pytest.mark.parametrize("name", GROUNDED)
def test_every_shipped_recipe_over_groundings_resolves(name: str) -> None:
    options = resolve_options(GroundedOptions, read_recipe(name), {"seed": 3})
    assert options.seed == options.system.seed == options.prior.seed == 3
    assert name == f"family-{options.system.kind}"


@pytest.mark.parametrize("name", ADDITIONS)
@pytest.mark.parametrize("method", ["dp", "pg"])
@pytest.mark.parametrize("n", [1, 4, 15, 100, 200, 500, 2000])
def test_every_shipped_case_resolves(name: str, method: str, n: int) -> None:
    options = resolve(read_recipe(name), {"method": method, "n": n})
    assert (options.method, options.n) == (method, n)


@pytest.mark.parametrize(("cell", "reported"), TABLE_1.items())
def test_the_paper_is_quoted_right(
    cell: tuple[str, int], reported: tuple[float, float, float]
) -> None:
    case = read_recipe("mnist-addition").case(*cell)
    assert tuple(case["reported"].values()) == reported
    assert list(case["reported"]) == ["accuracy", "spread", "minutes"]


def test_given_beats_case_beats_recipe_beats_default(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'task = "mnist-addition"\n'
        "[options.training]\nbatch = 7\nlr = 0.5\nepochs = 9\n"
        '[[case]]\nmethod = "dp"\nn = 1\ntraining.lr = 0.25\ntraining.epochs = 8\n'
        '[[case]]\nmethod = "dp"\nn = 50\ntraining.lr = 0.125\n'
    )
    recipe = read_recipe(str(path))
    options = resolve(recipe, {"training.epochs": "3", "n": "20"})
    training = options.training
    assert (training.batch, training.lr, training.epochs) == (7, 0.25, 3)
    assert training.average == AdditionOptions().training.average
    assert resolve(recipe, {"n": "50"}).training.lr == 0.125


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": "four"}, "n is an integer, not 'four'"),
        ({"n": "0"}, "n is at least 1"),
        ({"training.lr": "0"}, "lr is above 0"),
        ({"training.lr": "nan"}, "lr is above 0"),
        ({"training.lr": "inf"}, "lr is above 0 and at most 100"),
        ({"training.average": "1"}, "below 1"),
        ({"method": "pd"}, "method is one of dp, pg, not 'pd'"),
        ({"training.schedule": "linear"}, "schedule is one of"),
        ({"sead": "1"}, "there is no option sead"),
        ({"training.epochs": "2.5"}, "epochs is an integer"),
    ],
)
def test_bad_options(given: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        resolve(read_recipe("mnist-addition"), given)


def test_near_misses_are_offered() -> None:
    with pytest.raises(DataError) as found:
        settings(AdditionOptions, {"augmnet": "none"}, "--set")
    assert found.value.hint == "augment"


@pytest.mark.parametrize("text", ["n", "=4", " =4"])
def test_not_an_assignment(text: str) -> None:
    with pytest.raises(DataError, match="key=value"):
        assignments([text])


def test_set_twice() -> None:
    with pytest.raises(DataError, match="twice"):
        assignments(["n=4", "n=5"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task = ", "not TOML"),
        ("[options]\nn = 4\n", "names no task"),
        ('task = "x"\n[[case]]\nlr = 1\n', "a method and an n"),
        ('task = "x"\noptions = 3\n', "a table"),
    ],
)
def test_bad_recipe_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as found:
        read_recipe(str(path))
    assert found.value.file == str(path)


def test_graph_options_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "knowledge-graphs.md").read_text(encoding="utf-8")
    for key in option_fields(GraphOptions):
        assert f"`{key}`" in page, f"the page is silent on {key}"


def test_options_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mnist-addition.md").read_text(encoding="utf-8")
    for key in option_fields(AdditionOptions):
        assert f"`{key}`" in page, f"docs/mnist-addition.md is silent on {key}"
