"""Completion: which predicates or entities may go on from what is typed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

MOST = 50
ENDS = frozenset(' \t\n,;.|"()[]{}')


@dataclass(frozen=True)
class KnownNames:
    """The names of a session, sorted by how they look without capitals and quotes."""

    predicates: Sequence[tuple[str, str]]
    constants: Sequence[tuple[str, str]]
    added: Sequence[tuple[str, str]] = ()  # constants that the session has added

    @classmethod
    def of(cls, predicates: Iterable[str], constants: Iterable[str]) -> KnownNames:
        """Names given as Prolog text."""
        return cls(_sorted(predicates), _sorted(constants))

    def adding(self, constants: Iterable[str]) -> KnownNames:
        """The names with these as the constants that were added; the others are not sorted anew."""
        return replace(self, added=_sorted(constants))


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
    start, depth = _last_word(before)
    kind, tables = "predicate", [names.predicates]
    if depth > 0:
        kind, tables = "entity", [names.added, names.constants]
    found = [name for table in tables for name in _beginning(table, _key(before[start:]))]
    items = [{"text": name, "kind": kind} for name in found[:MOST]]
    return {"items": items, "from": start, "more": len(found) > MOST}


def _beginning(table: Sequence[tuple[str, str]], key: str) -> list[str]:
    found: list[str] = []
    for place in range(bisect_left(table, (key, "")), len(table)):
        if not table[place][0].startswith(key) or len(found) > MOST:
            break
        found.append(table[place][1])
    return found


def _last_word(text: str) -> tuple[int, int]:
    """Where the word at the end of a text begins, and in how many brackets it stands.

    >>> _last_word("uncle(ann, b"), _last_word("p('a (b', 'it''s (")
    ((11, 1), (10, 1))
    """
    start = depth = 0
    places = iter(range(len(text)))
    quoted = False
    for place in places:
        letter = text[place]
        if quoted:
            if letter == "\\":
                next(places, None)
            quoted = letter != "'"
        elif letter == "'":
            # Two quotes in a row are one that is quoted: the name goes on.
            quoted = True
        elif letter in ENDS:
            start = place + 1
            depth += (letter in "([{") - (letter in ")]}")
    return start, depth
