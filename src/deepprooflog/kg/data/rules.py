"""Rules over a knowledge graph: clauses with a name, a weight and the place they were read.

Four ways of writing them are read, told apart by the first line:

    uncle(X, Y) :- brother(X, Z), father(Z, Y).                    a Prolog program
    r13:0.7089:brother(a,h), father(h,b) -> uncle(a,b)             id:weight:body -> head
    141<TAB>97<TAB>0.68<TAB>uncle(X,Y) <= brother(X,A), father(A,Y)    AnyBURL's, PyClause's table
    ?a  brother  ?c  ?c  father  ?b   => ?a  uncle  ?b<TAB>0.1<TAB>…   AMIE's table

In a program a label `0.7 ::` is the rule's weight, not a stochastic label. In the arrow format
every bare name in an argument is a variable, whatever its case; constants are quoted or numerals.
In AnyBURL's, one capital letter is a variable and anything else a constant, as it stands in the
triples; in AMIE's, what begins with a question mark. `kg.data.rule_files.rule_writing` writes them.

Weights and confidences are kept with their rules, for those who want to choose among them; how much
a rule counts in a proof is learned, and does not begin at its weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from deepprooflog.errors import ProgramError
from deepprooflog.kg.data.notice import DataNotice
from deepprooflog.kg.data.reading import named, read_text
from deepprooflog.kg.data.rule_files.rule_counts import RuleCounts
from deepprooflog.logic.body import CUT, has_nested_cut
from deepprooflog.logic.builtins import PROTECTED
from deepprooflog.logic.clause import Clause, instantiate
from deepprooflog.syntax.terms import Term, Var
from deepprooflog.syntax.writer import write_term

MINED = "mined"
"""In place of the file of rules: a run mined them for itself."""


@dataclass(frozen=True)
class Rule:
    """One rule: its clause (with its place), a name, the weight and the counts of its source."""

    clause: Clause
    id: str
    weight: float
    counts: RuleCounts | None = None

    @property
    def place(self) -> str:
        """Where the rule was read, `file:line`."""
        place = self.clause.place
        return "" if place is None else f"{place.file}:{place.line}"

    def __str__(self) -> str:
        return clause_text(self.clause)


@dataclass(frozen=True)
class Rules:
    """The rules of a file, in order.

    >>> rules = parse_rules("r0:0.7:brother(a,h), father(h,b) -> uncle(a,b)")
    >>> print(rules[0], rules[0].weight)
    uncle(A,B) :- brother(A,C), father(C,B). 0.7
    """

    rules: tuple[Rule, ...]
    told: tuple[DataNotice, ...] | None = ()  # None: what a look at each of them says
    source: str = field(default="", repr=False)  # the text they were read from
    file: str = "<text>"

    @cached_property
    def notices(self) -> tuple[DataNotice, ...]:
        """What is odd about them."""
        from deepprooflog.kg.data.rule_remarks import remarks

        if self.told is not None:
            return self.told
        return tuple(notice for rule in self.rules for notice in remarks(rule))

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __getitem__(self, number: int) -> Rule:
        return self.rules[number]

    def text(self) -> str:
        """The rules as a Prolog program."""
        return "".join(f"{rule}\n" for rule in self.rules)


def read_rules(path: str | Path) -> Rules:
    """The rules of a file, whichever way it writes them."""
    return parse_rules(read_text(Path(path)), named(Path(path)))


def parse_rules(text: str, file: str = "<text>") -> Rules:
    """The rules of a text; notices say what is odd about them."""
    from deepprooflog.kg.data.rule_files.rule_table import parse

    rules = tuple(parse(text, file))
    for rule in rules:
        _check(rule)
    return Rules(rules, None, text, file)


def clause_text(clause: Clause) -> str:
    """A clause as a program writes it, its variables A, B, … by first occurrence."""
    frame: list[Term | None] = [Var(letter) for letter in letters(clause.size)]
    head, *body = (write_term(instantiate(term, frame)) for term in (clause.head, *clause.body))
    return f"{head} :- {', '.join(body)}." if body else f"{head}."


def letters(count: int) -> list[str]:
    """Names for so many variables: A, B, …, Z, A1, …"""
    return [chr(65 + n % 26) + (str(n // 26) if n >= 26 else "") for n in range(count)]


def _check(rule: Rule) -> None:
    clause = rule.clause
    place = clause.place
    wrong: str | None = None
    if any(atom is CUT or has_nested_cut(atom) for atom in clause.body):
        wrong = "a cut in a rule: rules are alternatives, each a step of its own"
    elif clause.functor in PROTECTED:
        wrong = f"{clause.functor} is built in and cannot be a rule's head"
    elif clause.functor.name == "-":
        wrong = "a difference is no atom: a name with a hyphen is quoted in a program"
    if wrong is not None:
        file, line = (place.file, place.line) if place else (None, None)
        hint = "a rule is  head :- body.  with nothing between ':' and '-'"
        raise ProgramError(
            wrong, file=file, line=line, hint=hint if clause.functor.name == "," else None
        )
