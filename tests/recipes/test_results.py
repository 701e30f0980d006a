"""Results in the recipes: every recipe has them, and the docs' tables say the same."""

from __future__ import annotations

import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.errors import DataError
from deepprooflog.recipes.recipe import PARTS, Recipe, read_recipe, shipped

ROOT = Path(__file__).parents[2]
NS = (4, 15, 100, 200, 500)
RANKING = ("mrr", "hits@1", "hits@3", "hits@10")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def cells(text: str, row: str) -> list[str]:
    """The cells of the first table row that begins so."""
    found = re.search(rf"^\| {re.escape(row)} \|(.*)\|$", text, re.MULTILINE)
    assert found, f"there is no row {row}"
    return [cell.strip() for cell in found[1].split("|")]


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def percent(figure: Mapping[str, float]) -> str:
    return f"{figure['mean']:.2f} ± {figure['spread']:.2f}"


def share(figure: Mapping[str, float] | float, digits: int = 4) -> str:
    """As the tables write shares: .9939 ± .0002, or without a spread where there is one run."""
    mean = figure if isinstance(figure, float) else figure["mean"]
    text = f"{mean:.{digits}f}".removeprefix("0")
    spread = 0.0 if isinstance(figure, float) else figure.get("spread", 0.0)
    return f"{text} ± {f'{spread:.{digits}f}'.removeprefix('0')}" if spread else text


def measured(recipe: Recipe, method: str, n: int) -> Any:
    return recipe.case(method, n)["measured"]


@pytest.mark.parametrize("name", shipped())
def test_every_recipe_has_results(name: str) -> None:
    """What the paper reports or why it does not; what was measured, how often, where, by what."""
    recipe = read_recipe(name)
    assert recipe.reported, "no [reported]"
    assert isinstance(recipe.reported.get("none"), str) or recipe.reported["source"]
    found = recipe.measured
    if isinstance(found.get("none"), str):
        return
    assert found["command"].startswith((f"dprl train {name}", "python scripts/"))
    assert found["seeds"] == list(range(len(found["seeds"]))) and found["device"]
    blocks = [found] if not recipe.cases else [
        case["measured"] for case in recipe.cases
    ]  # fmt: skip
    for block in blocks:
        figures = [v for k, v in block.items() if isinstance(v, dict) and k not in PARTS]
        assert figures
        assert all(("spread" in figure) == (len(found["seeds"]) > 1) for figure in figures)
        assert block.get("seconds") or found["seconds"]


@pytest.mark.parametrize(
    ("row", "method", "figure"),
    [
        ("DP, file order", "dp", "sums"),
        ("DP, mean over 200 regroupings", "dp", "regrouped"),
        ("DP, digits", "dp", "digits"),
        ("PG, file order", "pg", "sums"),
        ("PG, regrouped", "pg", "regrouped"),
        ("PG, digits", "pg", "digits"),
    ],
)
def test_the_table_of_sums(row: str, method: str, figure: str) -> None:
    recipe = read_recipe("mnist-addition")
    found = [percent(measured(recipe, method, n)[figure]) for n in NS]
    assert cells(page("docs/mnist-addition.md"), row) == found
    assert [measured(recipe, method, n)["n"] for n in NS] == list(NS)


@pytest.mark.parametrize(
    ("row", "figure"),
    [
        ("DP without distortion, file order", "sums"),
        ("the same, regrouped", "regrouped"),
        ("the same, digits", "digits"),
    ],
)
def test_the_table_of_sums_without_distortion(row: str, figure: str) -> None:
    recipe = read_recipe("mnist-addition-plain")
    found = [percent(measured(recipe, "dp", n)[figure]) for n in NS[:3]]
    assert cells(page("docs/mnist-addition.md"), row) == [*found, "", ""]


@pytest.mark.parametrize(
    ("row", "method"),
    [("DP, one run alone, seconds", "dp"), ("PG, 13 runs side by side, seconds each", "pg")],
)
def test_the_seconds_of_sums(row: str, method: str) -> None:
    recipe = read_recipe("mnist-addition")
    found = [str(measured(recipe, method, n)["seconds"]) for n in NS]
    assert cells(page("docs/mnist-addition.md"), row) == found


@pytest.mark.parametrize("method", ["dp", "pg"])
def test_the_paper_s_table_of_sums(method: str) -> None:
    """Rows of the same page; an accuracy of 0 has no spread there."""
    reported = [read_recipe("mnist-addition").case(method, n)["reported"] for n in NS]
    text = page("docs/mnist-addition.md")
    shown = [
        f"{r['accuracy']} ± {r['spread']}" if r["spread"] else str(r["accuracy"]) for r in reported
    ]
    assert cells(text, method.upper()) == shown
    assert cells(text, f"{method.upper()}, minutes") == [str(r["minutes"]) for r in reported]


@pytest.mark.parametrize(
    ("name", "row"),
    [("walks", "`walks`, no rules, no embedding"), ("kg", "`kg`, 20 rules and an embedding")],
)
def test_the_table_of_the_village(name: str, row: str) -> None:
    found = [share(read_recipe(name).measured[figure]) for figure in RANKING]
    assert cells(page("docs/walks.md"), row) == found


@pytest.mark.parametrize(
    ("name", "title", "row"),
    [
        ("family-dprl", "Results on Family", "p_success, exact learner"),
        (
            "family-rotate",
            "Results on Family",
            "`family-rotate`: p_success, exact learner, seed 0",
        ),
        ("wn18rr-dprl", "Results on WN18RR", "p_success, exact learner"),
    ],
)
def test_the_tables_of_graphs(name: str, title: str, row: str) -> None:
    recipe = read_recipe(name)
    text = section(page("docs/knowledge-graphs.md"), title)
    assert cells(text, row) == [share(recipe.measured[figure]) for figure in RANKING]
    paper = [share(recipe.reported[figure], 3) for figure in RANKING]
    assert cells(text, "the paper: DPrL") == paper


TABLE_2 = {
    "family-complex": ("ComplEx", (0.964, 0.938, 0.991, 0.994)),
    "family-transe": ("TransE", None),
    "family-distmult": ("DistMult", None),
    "family-sbr": ("SBR", (0.981, 0.966, 0.995, 0.995)),
    "family-dcr": ("DCR", (0.975, 0.956, 0.994, 0.995)),
    "family-r2n": ("R2N", (0.985, 0.981, 0.989, 0.989)),
    "family-rotate": ("DPrL", (0.986, 0.979, 0.994, 0.995)),
    "family-dprl": ("DPrL", (0.986, 0.979, 0.994, 0.995)),
}
"""The systems of the paper's Table 2 on Family, by recipe: what the paper reports."""


@pytest.mark.parametrize("name", TABLE_2)
def test_the_table_of_systems(name: str) -> None:
    """The page has the recipe's figures, and the recipe the paper's."""
    recipe, text = read_recipe(name), section(page("docs/systems.md"), "Family")
    system, reported = TABLE_2[name]
    if reported is None:
        assert isinstance(recipe.reported.get("none"), str)
    else:
        assert tuple(recipe.reported[figure] for figure in RANKING) == reported
        shown = cells(text, f"the paper: {system}")
        assert shown == [*(share(figure, 3) for figure in reported), ""]
    found, where = recipe.measured, cells(text, f"`{name}`")
    if isinstance(found.get("none"), str):
        assert where == ["", "", "", "", found["none"]]
        return
    assert where[:4] == [share(found[figure]) for figure in RANKING]
    assert where[4] in found["device"]


def test_the_table_of_countries() -> None:
    text = section(page("docs/knowledge-graphs.md"), "Countries")
    found = read_recipe("countries-s3").measured
    assert cells(text, "AUC-PR")[-1] == share(found["auc_pr"])
    assert cells(text, "Hits@1")[-1] == share(found["hits@1"])


@pytest.mark.parametrize(
    ("name", "where", "figures"),
    [("digits-addition", "docs/mnist-addition.md", ("sums", "regrouped", "digits")),
     ("kg", "docs/knowledge-graphs.md", ("mrr", "hits@1"))],
)  # fmt: skip
def test_the_small_ones_are_in_the_text(name: str, where: str, figures: tuple[str, ...]) -> None:
    text = " ".join(page(where).split())
    found = read_recipe(name).measured
    for figure in figures:
        shown = percent(found[figure]) if name == "digits-addition" else share(found[figure])
        assert shown in text, f"{where} does not say {figure} {shown}"


def test_the_front_page() -> None:
    """After a change in a recipe: python scripts/front_table.py --write."""
    script = runpy.run_path(str(ROOT / "scripts" / "front_table.py"))
    text = page("README.md")
    assert text.count(script["table"]()) == 1
    family = read_recipe("family-dprl")
    shown = [share(family.measured["mrr"]), share(family.measured["prior"]["mrr"])]
    assert cells(text, "Family, MRR") == [*shown, share(family.reported["mrr"], 3)]
    assert len(text.splitlines()) < 150


def test_the_figures_of_the_comparison() -> None:
    """What the pages that compare say of Family, FB15k-237 and WN18RR stands in the recipes."""
    compared, limits = page("docs/comparison.md"), page("docs/limits.md")
    family, mined = read_recipe("family-dprl"), read_recipe("family-mined")
    full = next(row for row in family.rows if row["measured"]["protocol"] == "full")
    theirs, ours = full["published"][0]["hits@1"], full["measured"]["hits@1"]
    assert f"Hits@1 {share(theirs, 3)} against {share(ours)}" in compared
    readings = {row["name"].split(", ")[-1]: row["measured"] for row in mined.rows
                if row["measured"].get("protocol") == "full"}  # fmt: skip
    for reading in ("maximum", "clusters"):
        assert f"{share(readings[reading]['hits@1'])} by {reading}" in compared
    walks = read_recipe("family-everything").measured
    assert f"with walks beside them\n  {share(walks['hits@1'])}" in compared
    whole, words = read_recipe("fb15k237-everything").measured, read_recipe("wn18rr-dprl")
    assert f"reached {share(whole['mrr'], 3)}" in compared
    assert f"an MRR of {share(whole['mrr'], 3)}" in limits
    assert f"rules alone have {share(whole['rules']['mrr'], 3)}" in limits
    assert words.measured["mrr"]["mean"] == words.measured["belief"]["mrr"]["mean"]
    assert f"MRR {share(words.measured['mrr'])} with and without them" in limits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("measured = 3\n", r"\[measured\] is a table"),
        ("[measured]\nmrr = 0.9\n", "does not say its command"),
        ('[measured]\ncommand = "x"\nseeds = 3\ndevice = "y"\n', "does not say its seeds"),
        ('[reported]\nsource = "Table 2"\nmrr = "high"\n', r"mrr of \[reported\] is no figure"),
        ('[reported]\nsource = "Table 2"\nmrr = { median = 0.9 }\n', "is no figure"),
        ("row = 3\n", r"\[\[row\]\] is a list"),
        ("[[row]]\n", "has a name"),
        ("[[published]]\nmrr = 0.9\n", "has a source"),
        ('[[published]]\nsource = "x"\nmrr = "high"\n', "is no figure"),
        ('[[row]]\nname = "x"\nmeasured.mrr = 0.9\n', "does not say its command"),
        ('[[case]]\nmethod = "dp"\nn = 1\nmeasured.sums = 3.0\n', r"no \[measured\]"),
    ],
)
def test_results_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('task = "x"\n' + text if text.startswith("[") else text + 'task = "x"\n')
    with pytest.raises(DataError, match=message):
        read_recipe(str(path))
