"""Completion: which predicates or entities may go on from what is typed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MOST = 50
# A word as typed so far: a plain name, or a quoted one whose end is not typed yet.
_WORD = re.compile(r"'(?:[^'\\]|\\.|'')*$|[^\s()\[\],.|'\"]*$")


@dataclass(frozen=True)
class KnownNames:
    """The names of a session, sorted by how they look without capitals and quotes."""

    predicates: Sequence[tuple[str, str]]
    constants: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, predicates: Iterable[str], constants: Iterable[str]) -> KnownNames:
        """KnownNames given as Prolog text."""
        return cls(_sorted(predicates), _sorted(constants))


def _sorted(names: Iterable[str]) -> list[tuple[str, str]]:
    return sorted({(_key(name), name) for name in names})


def _key(text: str) -> str:
    return text.strip("'").casefold()


def completions(names: KnownNames, text: str, at: int) -> dict[str, Any]:
    """What may replace the word that ends at a place of a query: `from` is where it begins.

    >>> names = KnownNames.of(["uncle", "aunt"], ["ann", "'Umberto Eco'"])
    >>> [one["text"] for one in completions(names, "uncle(u", 7)["items"]]
    ["'Umberto Eco'"]
    >>> completions(names, "un", 2)["items"]
    [{'text': 'uncle', 'kind': 'predicate'}]
    """
    before = text[: max(0, at)]
    word = _WORD.search(before)
    typed = word[0] if word else ""
    inside = _depth(before[: len(before) - len(typed)]) > 0
    kind, table = ("entity", names.constants) if inside else ("predicate", names.predicates)
    found = _beginning(table, _key(typed))
    items = [{"text": name, "kind": kind} for name in found[:MOST]]
    return {"items": items, "from": len(before) - len(typed), "more": len(found) > MOST}


def _beginning(table: Sequence[tuple[str, str]], key: str) -> list[str]:
    found: list[str] = []
    for place in range(bisect_left(table, (key, "")), len(table)):
        if not table[place][0].startswith(key) or len(found) > MOST:
            break
        found.append(table[place][1])
    return found


def _depth(text: str) -> int:
    """How many parentheses are open, those within quotes left out."""
    bare = re.sub(r"'(?:[^'\\]|\\.|'')*'", "", text)
    return bare.count("(") + bare.count("[") - bare.count(")") - bare.count("]")
