"""The list of builtins in docs/syntax.md: every predicate there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from deepprooflog.logic.builtins import known_functors
from deepprooflog.syntax.terms import Functor

PAGE = Path(__file__).parents[2] / "docs" / "syntax.md"
_SPEC = r"`(\S+)/(\d)`"


def _listed() -> set[Functor]:
    text = PAGE.read_text(encoding="utf-8").split("## Builtin predicates")[1].split("\n\n")[1]
    found = {Functor(name, int(arity)) for name, arity in re.findall(_SPEC, text)}
    for name, first, same, last in re.findall(f"{_SPEC} … {_SPEC}", text):
        assert name == same
        found |= {Functor(name, n) for n in range(int(first), int(last) + 1)}
    return found


def test_the_list_is_complete() -> None:
    """Helpers, whose names begin with a dollar sign, are nobody's business."""
    assert _listed() == {f for f in known_functors() if not f.name.startswith("$")}
