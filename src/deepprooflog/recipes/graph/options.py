"""Where each option of a knowledge-graph run gets its value."""

from __future__ import annotations

from collections.abc import Mapping

from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.recipes.recipe import Recipe, resolve_options


def resolve(
    recipe: Recipe, given: Mapping[str, object], kept: Mapping[str, object] | None = None
) -> GraphOptions:
    """A recipe's options, then those that a run kept, then those given.

    >>> from deepprooflog.recipes.recipe import read_recipe
    >>> resolve(read_recipe("family-rotate"), {"prior.lr": "0.1"}).prior.kind
    'rotate'
    """
    return resolve_options(GraphOptions, recipe, given, kept)
