"""The formats of rule files: a new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from deepprooflog.errors import DataError
from deepprooflog.kg.data.rule_files.rule_formats import (
    amie_rules,
    arrow_rules,
    is_amie,
    is_arrow,
    is_table,
    program_rules,
    table_rules,
)
from deepprooflog.kg.data.rules import Rule


class RuleFormat(NamedTuple):
    """A way to write rules: how a text is known to be written so, and how it is read."""

    recognise: Callable[[Sequence[str], str], bool]
    """From the lines that are no comments and the name of the file."""
    read: Callable[[str, str], Iterator[Rule]]
    """From the whole text and the name of the file."""


FORMATS: dict[str, RuleFormat] = {
    "amie": RuleFormat(is_amie, amie_rules),
    "anyburl": RuleFormat(is_table, table_rules),
    "arrow": RuleFormat(is_arrow, arrow_rules),
    "program": RuleFormat(lambda lines, file: True, program_rules),
}
"""In the order in which they are tried."""


def parse(text: str, file: str) -> Iterator[Rule]:
    """The rules of a text, in the first format that recognises it.

    >>> [str(rule) for rule in parse("brother(A,B), father(B,C) -> uncle(A,C)", "rules.txt")]
    ['uncle(A,B) :- brother(A,C), father(C,B).']
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and line[0] not in "%#"]
    if not lines:
        raise DataError("no rules in the file", file=file)
    return next(form.read(text, file) for form in FORMATS.values() if form.recognise(lines, file))
