"""Where each option of a knowledge-graph run gets its value."""

from __future__ import annotations

from collections.abc import Mapping

from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.learn.run.settings import build, settings
from deepprooflog.recipes.recipe import Recipe


def resolve(
    recipe: Recipe, given: Mapping[str, object], kept: Mapping[str, object] | None = None
) -> GraphOptions:
    """A recipe's options, then those that a run kept, then those given.

    >>> from deepprooflog.recipes.recipe import read_recipe
    >>> resolve(read_recipe("family-rotate"), {"prior.lr": "0.1"}).prior.kind
    'rotate'
    """
    values = settings(GraphOptions, recipe.options, recipe.file)
    values |= settings(GraphOptions, kept or {}, "config.json", notice=False)
    values |= settings(GraphOptions, given, "--set")
    return build(GraphOptions, values)
