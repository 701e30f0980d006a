"""Shipped recipes resolve to the values they have had since before there were sections.

`values_before.json` was written by the flat options: their defaults, and for each recipe (and case
of an addition) what it has otherwise. Figures in docs and recipes were measured with these values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.learn.run.settings import settings, values_of
from deepprooflog.recipes import graph as kg_options
from deepprooflog.recipes.addition import options as addition_options
from deepprooflog.recipes.addition.options import AdditionOptions
from deepprooflog.recipes.recipe import read_recipe, shipped

BEFORE: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "values_before.json").read_text(encoding="utf-8")
)
TASKS: dict[str, tuple[type, Any]] = {
    "kg": (GraphOptions, kg_options.resolve),
    "mnist-addition": (AdditionOptions, addition_options.resolve),
}
TRACKED = {"track": "none"}
LATER = {
    **TRACKED,
    "evaluation.validation_negatives": 50, "prior.validate_every": 1000, "prior.patience": 0,
    "prior.decay": "linear", "prior.group": 128, "prior.subsampling": False, "prior.telling": 0.0,
    "prior.weight_decay": 0.0, "prior.capture": True, "ppo.steps": 32, "ppo.positives": 2048,
    "ppo.negatives": 1, "ppo.epochs": 4, "ppo.minibatch": 2048, "ppo.clip": 0.2, "ppo.gamma": 1.0,
    "ppo.lam": 0.95, "ppo.value_weight": 0.5, "ppo.max_grad_norm": 0.5, "ppo.target_kl": 0.03,
    "ppo.value_clip": None, "ppo.normalize": True, "ppo.bootstrap": False, "policy.kind": "goal",
    "prior.seconds": 60.0,
    "belief.shift": True, "hide_in_test": False,
    "mine.rules": 10, "mine.confidence": 0.01, "mine.seconds": 60.0, "mine.nesting": 1,
    "mine.support": 5, "mine.constants": True, "evaluation.protocol": "auto",
}  # fmt: skip
"""Options that no recipe could set before, with the values the learners had all the same."""
NEW = ("walk.",)
"""Sections that came later: what a recipe says nothing of is as it was without them."""

NOW = {"kg": {"prior_steps": 0}, "countries-s3": {"prior_steps": 0}}
"""Where no prior is stated, one is chosen on validation."""

LATER_NOW = {
    **{name: {"belief.shift": False} for name in ("family-dprl", "family-rotate", "wn18rr-dprl")},
    "countries-s3": {"hide_in_test": True},
}
"""Where a recipe sets an option that came later: those measured without the shift leave it out."""

FAMILY = ("complex", "transe", "distmult", "sbr", "dcr", "r2n", "everything")
GRAIL = (f"grail-{graph}-{size}" for graph in ("wn18rr", "fb237") for size in ("v1", "v2"))
STANDARD = (f"{graph}-{by}" for graph in ("wn18rr", "fb15k237") for by in ("walks", "everything"))
NEWER = {
    "walks", "umls-walks", "family-mined",
    *(f"family-{kind}" for kind in FAMILY), *GRAIL, *STANDARD,
}  # fmt: skip
"""Recipes that came after the sections."""


def test_no_shipped_recipe_is_left_out() -> None:
    assert {name.split()[0] for name in BEFORE} == {"defaults", *shipped()} - NEWER


@pytest.mark.parametrize("name", [name for name in BEFORE if name != "defaults"])
def test_a_recipe_resolves_to_the_same_values(name: str) -> None:
    recipe = read_recipe(name.split()[0])
    options, resolve = TASKS[recipe.task]
    given = dict(zip(("method", "n"), name.split()[1:], strict=False))
    flat = {**BEFORE["defaults"][recipe.task], **BEFORE[name], **NOW.get(name, {})}
    expected = settings(options, flat, name, notice=False)
    found = values_of(resolve(recipe, given))
    assert {key: found[key] for key in expected} == expected
    later = {key for key in found.keys() - expected.keys() if not key.startswith(NEW)}
    own = {**LATER, **LATER_NOW.get(name, {})} if recipe.task == "kg" else TRACKED
    assert {key: found[key] for key in later} == own


def test_an_old_name_sets_what_it_set() -> None:
    """By hand, since the test above trusts the table of old names."""
    recipe = read_recipe("kg")
    with pytest.warns(UserWarning, match=r"look is now exact\.validate_every and"):
        options = kg_options.resolve(
            recipe,
            {
                "nesting": 1, "dimension": 8, "steps": 6, "look": 3, "patience": 2, "lr": 0.5,
                "ppo_lr": 0.25, "ppo_memory": 0, "ppo_entropy_end": -1, "prior_lr": 0.125,
                "prior_from": "runs/a", "prior_filtered": 1, "held_out": 0.5, "looked_at": 20,
                "test": 40, "evidence": "score", "base_rate": 0.75, "false_action": 1,
            },
        )  # fmt: skip
    assert (options.search.nesting, options.policy.dimension) == (1, 8)
    assert options.policy.false_action is True
    assert (options.exact.steps, options.exact.lr) == (6, 0.5)
    assert options.exact.validate_every == options.ppo.validate_every == 3
    assert options.exact.patience == options.ppo.patience == 2
    assert (options.ppo.lr, options.ppo.memory, options.ppo.entropy_end) == (0.25, False, None)
    assert (options.prior.lr, options.prior.from_run) == (0.125, "runs/a")
    assert options.prior.filtered is True
    assert (options.belief.evidence, options.belief.base_rate) == ("score", 0.75)
    evaluation = options.evaluation
    assert (evaluation.validation_share, evaluation.validation_size, evaluation.test_size) == (
        0.5, 20, 40,
    )  # fmt: skip
