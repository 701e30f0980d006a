"""Recipes, options and configurations that are absurd: of other types, sizes and scripts."""

from __future__ import annotations

import json
import random
import tempfile
import warnings
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from deepprooflog.data.whole import sealed_json
from deepprooflog.errors import ProofLogError
from deepprooflog.learn.run.options import option_fields, sections
from deepprooflog.learn.run.settings import assignments
from deepprooflog.recipes.begin import begin
from deepprooflog.recipes.recipe import read_recipe, resolve_options, shipped
from deepprooflog.recipes.tasks import TASKS
from fuzz.damage import damaged
from fuzz.rounds import Rounds, Tally

PROMISE = "an absurd recipe, option or configuration is one message, or an ordinary run"
QUICK = 1500

TEXTS = [
    "", " ", "0", "-1", "1", "2.5", "nan", "inf", "-inf", "1e400", "1e-400", "9" * 30, "9" * 5000,
    "-" + "9" * 5000, "0x10", "1_000", "٣", "½", "−1", "true", "null", "[]", "{}", "\0", "\x1b[2J",
    "\u202e1", "\ud800", "a" * 5000, "../..", "/", "/dev/null", "~", "mnist", "village", "none",
    "cuda", "exact", "rotate", "complex", "a=b", "=", "\n", "CON", "100000", "99", "2147483648",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 3, 10**400, -(10**400), 0.5, float("nan"), float("inf"), -1e308,
    [], [1], {}, {"a": 1}, "", b"raw", *TEXTS,
]  # fmt: skip


def attack(rounds: Rounds) -> Tally:
    """Draw one absurdity after another, of four kinds."""
    tally = Tally()
    kinds = [_option, _text_option, _recipe_file, _configuration]
    with tempfile.TemporaryDirectory() as base, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw in rounds:
            kind = draw.choice(kinds)
            case = kind(draw, Path(base))
            try:
                case[1]()
                held = True
            except ProofLogError as error:
                held = bool(str(error)) and len(str(error)) < 20_000
            except Exception as error:
                held = False
                case = f"{case[0]}: {type(error).__name__}: {error}"[:300], case[1]
            tally.record(held, case[0])
    return tally


Absurd = tuple[str, Callable[[], object]]


def resolved(name: str, given: dict[str, Any]) -> object:
    """The options of a recipe under these settings."""
    from deepprooflog.recipes.addition import options as addition_options

    recipe = read_recipe(name)
    if recipe.task == "mnist-addition":
        return addition_options.resolve(recipe, given)
    return resolve_options(TASKS[recipe.task].options, recipe, given)


def _names(options: Any) -> list[str]:
    """Keys, sections and names that options had before."""
    return [*option_fields(options), *sections(options), *getattr(options, "OLD_NAMES", ())]


def _option(draw: random.Random, base: Path) -> Absurd:
    """Some options as values, as a recipe file or another program gives them."""
    name = draw.choice(shipped())
    options = TASKS[read_recipe(name).task].options
    keys = draw.sample(_names(options), draw.choice((1, 1, 2)))
    given = {key: draw.choice(VALUES) for key in keys}
    return f"{name} {str(given)[:200]}", lambda: resolved(name, given)


def _text_option(draw: random.Random, base: Path) -> Absurd:
    """Options as `--set` gives them, the key too."""
    name = draw.choice(shipped())
    options = TASKS[read_recipe(name).task].options
    key = draw.choice(_names(options))
    if draw.random() < 0.2:
        key = draw.choice(TEXTS)
    text = f"{key}={draw.choice(TEXTS)}"
    return f"{name} --set {text[:200]!r}", lambda: resolved(name, assignments([text]))


def _recipe_file(draw: random.Random, base: Path) -> Absurd:
    """A shipped recipe's text, damaged."""
    name = draw.choice(shipped())
    raw = (resources.files("deepprooflog.recipes") / f"{name}.toml").read_bytes()
    for _ in range(draw.randrange(1, 4)):
        raw = damaged(raw, draw) if draw.random() < 0.5 else _other_value(raw, draw)
    path = base / "recipe.toml"
    path.write_bytes(raw)

    def run() -> None:
        recipe = read_recipe(str(path))
        task = TASKS.get(recipe.task)
        if task is not None:
            resolved(str(path), {})

    return f"{name}.toml {raw[:60]!r}", run


def _other_value(raw: bytes, draw: random.Random) -> bytes:
    lines = raw.split(b"\n")
    at = draw.randrange(len(lines))
    key, sign, _ = lines[at].partition(b"=")
    if sign:
        others = ["[]", "{}", "1979-05-27", "-1", "nan", "'x'", "[[1]]", "9" * 5000, "0"]
        lines[at] = key + b"= " + draw.choice(others).encode()
    return b"\n".join(lines)


def _configuration(draw: random.Random, base: Path) -> Absurd:
    """A run's configuration whose checksum holds and whose entries are absurd; resumed."""
    config: dict[str, Any] = {
        "recipe": "digits-addition", "task": "mnist-addition",
        "options": {"n": 2, "epochs": 4, "data": "digits", "training": {"batch": 8}},
    }  # fmt: skip
    inner = config["options"] if draw.random() < 0.6 else config
    json_values = [v for v in VALUES if not isinstance(v, bytes)]
    inner[draw.choice([*inner, "other"])] = draw.choice(json_values)
    if draw.random() < 0.1:
        inner.pop(draw.choice(list(inner)))
    path = base / "run"
    path.mkdir(exist_ok=True)
    text = sealed_json(config)
    if draw.random() < 0.3:
        text = json.dumps(config)
    (path / "config.json").write_text(text, encoding="utf-8")

    def run() -> None:
        from deepprooflog.recipes.addition import options as addition_options

        with begin(
            "digits-addition", {}, path, True, task="mnist-addition",
            resolve=addition_options.resolve, check=str, places=("device", "data", "threads"),
        ):  # fmt: skip
            pass

    return f"config {str(config)[:200]}", run
