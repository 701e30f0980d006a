"""How a line at the top level may go on: commands, settings, predicates, names of a graph."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OFFERED = 200  # more than that are no help: a menu shows the first

_COMMAND = re.compile(r"\s*(:\w*)$")
_SETTING = re.compile(r"\s*:set\s+(\w*)$")
_WORD = re.compile(r"\w*$")


@dataclass(frozen=True)
class Words:
    """What can be completed, each kind sorted: `p(` for a predicate with arguments."""

    commands: Sequence[str] = ()
    settings: Sequence[str] = ()
    goals: Sequence[str] = ()
    names: Sequence[str] = ()


def completions(before: str, words: Words) -> tuple[str, list[str]]:
    """The unfinished word at the end of a text, and what may stand in its place.

    >>> words = Words((":prob", ":prove"), ("seconds",), ("p(", "person("), ("'Ann'", "pete"))
    >>> completions(":pro", words), completions(":set s", words)
    ((':pro', [':prob', ':prove']), ('s', ['seconds']))
    >>> completions("p(X), pe", words), completions("person(pe", words), completions("p('A", words)
    (('pe', ['person(']), ('pe', ['pete', 'person(']), ("'A", ["'Ann'"]))
    """
    for pattern, kind in ((_COMMAND, words.commands), (_SETTING, words.settings)):
        found = pattern.match(before)
        if found is not None:
            return found[1], _starting(kind, found[1])
    word = _unfinished(before)
    if not word and not before.rstrip().endswith("("):
        return "", []
    inside = before.count("(") > before.count(")")
    kinds = [words.names, words.goals] if inside else [words.goals]
    return word, [one for kind in kinds for one in _starting(kind, word)][:OFFERED]


def in_order(words: Iterable[str]) -> tuple[str, ...]:
    """Words as `completions` wants them: each once, sorted."""
    return tuple(sorted(set(words)))


def _unfinished(before: str) -> str:
    if before.count("'") % 2:
        return before[before.rindex("'") :]
    found = _WORD.search(before)
    return found[0] if found else ""


def _starting(words: Sequence[str], prefix: str) -> list[str]:
    at = bisect_left(words, prefix)
    some = words[at : at + OFFERED]
    return [word for word in some if word.startswith(prefix)]
