"""Every option has limits, says them, and refuses what is beyond them with one message."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.cli import main
from deepprooflog.errors import DataError
from deepprooflog.kg.ground.options import GroundedOptions
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.ppo_options import PpoOptions
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.learn.ppo import Ppo
from deepprooflog.learn.run.options import limits, option_fields
from deepprooflog.learn.run.settings import described, values_of
from deepprooflog.recipes import graph as kg_options
from deepprooflog.recipes.addition import options as addition_options
from deepprooflog.recipes.addition.options import AdditionOptions, TrainingOptions
from deepprooflog.recipes.recipe import read_recipe

CLASSES = [
    AdditionOptions,
    GraphOptions,
    GroundedOptions,
    Ppo,
    PpoOptions,
    KgeOptions,
    ExactOptions,
    TrainingOptions,
    WalkOptions,
]
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
    for key, f in option_fields(options).items():
        if f.type not in ("str", "bool"):
            data = f.metadata
            assert math.isfinite(max(data["at_least"], data["above"])), key
            assert math.isfinite(min(data["at_most"], data["below"])), key


@pytest.mark.parametrize("name", ["kg", "mnist-addition"])
def test_absurd_values_resolve_or_are_one_message(name: str) -> None:
    recipe = read_recipe(name)
    for key, f in option_fields(OPTIONS[recipe.task]).items():
        for value in ABSURD:
            try:
                options = RESOLVE[recipe.task](recipe, {key: value})
            except DataError:
                continue
            got = values_of(options)[key]
            assert type(got).__name__.removesuffix("Type") in str(f.type)
            if isinstance(got, float):
                assert math.isfinite(got)


@pytest.mark.parametrize("recipe", ["digits-addition", "kg"])
def test_the_command_line_refuses_them_with_status_2(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for key, f in option_fields(OPTIONS[read_recipe(recipe).task]).items():
        if f.type in ("str", "bool"):
            continue
        for value in ("9" * 20 if f.type == "int" else "1e30", "nan"):
            out = tmp_path / "run"
            arguments = ["train", recipe, "--set", f"{key}={value}", "--out", str(out)]
            assert main(arguments) == 2
            message = capsys.readouterr().err
            assert message.startswith(f"error: --set: {key} is ")
            if f.type != "int":
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
    assert main(["train", "kg", "--set", "search.nesting=1000000", "--out", out]) == 2
    assert "nesting is at least 0 and at most 100" in capsys.readouterr().err


def test_rules_nested_beyond_any_batch_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("deepprooflog.kg.learn.policy.MOST_GOALS", 20_000)
    assert main(["train", "kg", "--set", "search.nesting=99", "--out", str(tmp_path / "run")]) == 2
    message = capsys.readouterr().err
    assert "queries have more than 20,000 goals" in message
    assert "try: a smaller nesting" in message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("options", [AdditionOptions, GraphOptions])
def test_help_shows_the_limits(options: type) -> None:
    lines = described(options).splitlines()
    assert max(map(len, lines)) < 80
    known = option_fields(options)
    keys = "|".join(map(re.escape, known))
    _, *parts = re.split(f" (?:{keys})=", " ".join(["", *" ".join(lines).split()]))
    for f, part in zip(known.values(), parts, strict=True):
        assert f.metadata["about"] in part
        assert limits(f.metadata) in part
