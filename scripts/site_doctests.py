"""Doctests of docstrings as code blocks, which Markdown would read as quotations.

An extension of griffe, by which mkdocstrings reads the package: the lines from `>>>` to the next
empty one are fenced.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

DOCTEST = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class DoctestBlocks(Extension):
    """Fences the doctests of every object that has a docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """The docstring with a fence round each doctest."""
    return DOCTEST.sub(lambda match: f"```pycon\n{match[0]}\n```", docstring)
