"""Every option has limits, says them, and refuses what is beyond them with one message."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.cli import main
from deepprooflog.errors import DataError
from deepprooflog.kg.exact_options import ExactOptions
from deepprooflog.kg.kge_options import KgeOptions
from deepprooflog.kg.ppo_options import PpoOptions
from deepprooflog.learn.options import limits
from deepprooflog.recipes import addition_options, kg_options
from deepprooflog.recipes.addition_options import AdditionOptions
from deepprooflog.recipes.kg_options import GraphOptions
from deepprooflog.recipes.options import described
from deepprooflog.recipes.recipe import read_recipe, shipped

CLASSES = [AdditionOptions, GraphOptions, PpoOptions, KgeOptions, ExactOptions]
RESOLVE = {"kg": kg_options.resolve, "mnist-addition": addition_options.resolve}
OPTIONS = {"kg": GraphOptions, "mnist-addition": AdditionOptions}
ABSURD: list[Any] = [
    "-1", "0", "1e30", "-1e30", "nan", "inf", "-inf", "1e400", "", "x", "½", "٣", "−1", "\0",
    "\x1b[2J", "9" * 30, "9" * 5000, "a" * 5000, None, True, [], {}, 10**400, -(10**400),
    float("nan"), float("inf"), -1, 0, 0.5, b"raw",
]  # fmt: skip


@pytest.mark.parametrize("options", CLASSES, ids=lambda c: c.__name__)
def test_every_number_has_limits_and_its_default_is_within(options: type) -> None:
    options()
    for f in fields(options):
        if f.type in ("int", "float"):
            data = f.metadata
            assert math.isfinite(max(data["at_least"], data["above"])), f.name
            assert math.isfinite(min(data["at_most"], data["below"])), f.name


@pytest.mark.parametrize("name", shipped())
def test_absurd_values_resolve_or_are_one_message(name: str) -> None:
    recipe = read_recipe(name)
    for f in fields(OPTIONS[recipe.task]):
        for value in ABSURD:
            try:
                options = RESOLVE[recipe.task](recipe, {f.name: value})
            except DataError:
                continue
            got = getattr(options, f.name)
            assert type(got).__name__ == f.type
            if isinstance(got, float):
                assert math.isfinite(got)


@pytest.mark.parametrize("recipe", ["digits-addition", "kg"])
def test_the_command_line_refuses_them_with_status_2(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for f in fields(OPTIONS[read_recipe(recipe).task]):
        if f.type not in ("int", "float"):
            continue
        for value in ("1e30" if f.type == "float" else "9" * 20, "nan"):
            out = tmp_path / "run"
            arguments = ["train", recipe, "--set", f"{f.name}={value}", "--out", str(out)]
            assert main(arguments) == 2
            message = capsys.readouterr().err
            assert message.startswith(f"error: --set: {f.name} is ")
            if f.type == "float":
                assert limits(f.metadata) in message
            assert not out.exists()


def test_what_crashed_or_never_ended_is_refused_with_what_to_try(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run")
    assert main(["train", "kg", "--set", "threads=100000", "--out", out]) == 2
    assert capsys.readouterr().err == (
        "error: --set: threads is at least 0 and at most 256, not 100000\ntry: threads=256\n"
    )
    assert main(["train", "kg", "--set", "nesting=1000000", "--out", out]) == 2
    assert "nesting is at least 0 and at most 100" in capsys.readouterr().err


def test_rules_nested_beyond_any_batch_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("deepprooflog.recipes.kg_run.MOST_GOALS", 20_000)
    assert main(["train", "kg", "--set", "nesting=99", "--out", str(tmp_path / "run")]) == 2
    message = capsys.readouterr().err
    assert "queries have more than 20,000 goals" in message
    assert "try: a smaller nesting" in message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("options", [AdditionOptions, GraphOptions])
def test_help_shows_the_limits(options: type) -> None:
    lines = described(options).splitlines()
    for f, line in zip(fields(options), lines, strict=True):
        assert f.name in line
        assert limits(f.metadata) in line
