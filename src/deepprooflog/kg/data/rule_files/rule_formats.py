"""The ways of writing rules: Prolog clauses, `id:weight:body -> head`, AnyBURL's and AMIE's tables.

Miners' formats are read atom by atom; a name holds no blank, comma or parenthesis unless quoted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NoReturn

from deepprooflog.errors import ProgramError
from deepprooflog.kg.data.reading import name_term
from deepprooflog.kg.data.rule_files.rule_counts import RuleCounts
from deepprooflog.kg.data.rules import Rule
from deepprooflog.logic.clause import Clause, Constant, Place, abstract
from deepprooflog.logic.directives import IGNORED, announce
from deepprooflog.logic.load import DIRECTIVE, DYNAMIC, QUERY, make_clause
from deepprooflog.syntax.lexer import problem
from deepprooflog.syntax.reader import Fact, read_program
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, deref, functor_of
from deepprooflog.syntax.writer import write_term

ReadArgument = Callable[[str, dict[str, Var]], Term]

_NAME = re.compile(r"\s*(?:'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|([^\s(),'\"]+))\s*")
_NUMERAL = re.compile(r"-?[0-9]{1,4000}")
_ARROW_HINT = "id:weight:body, body -> head"
_TABLE_HINT = "predictions<TAB>support<TAB>confidence<TAB>head <= body, body"
_AMIE_HINT = "?a  r  ?c  ?c  s  ?b   => ?a  head  ?b<TAB>head coverage<TAB>confidence<TAB>…"
_AMIE_FIELDS = ("head coverage", "confidence", "PCA confidence", "support", "body size", "PCA size")


def is_amie(lines: Sequence[str], file: str) -> bool:
    """Whether some line is `body => head` with variables `?a`."""
    return not _is_program(file) and any("=>" in line and "?" in line for line in lines)


def is_table(lines: Sequence[str], file: str) -> bool:
    """Whether the first line is `head <= body`."""
    return not _is_program(file) and "<=" in lines[0]


def is_arrow(lines: Sequence[str], file: str) -> bool:
    """Whether the first line is `body -> head`."""
    return not _is_program(file) and "->" in lines[0] and ":-" not in lines[0]


def amie_rules(text: str, file: str) -> Iterator[Rule]:
    """The rules of AMIE's output."""
    return _by_line(text, file, _amie_rule)


def table_rules(text: str, file: str) -> Iterator[Rule]:
    """The rules of AnyBURL's or PyClause's table."""
    return _by_line(text, file, _table_rule)


def arrow_rules(text: str, file: str) -> Iterator[Rule]:
    """The rules `id:weight:body -> head`."""
    return _by_line(text, file, _arrow_rule)


def _is_program(file: str) -> bool:
    return file.removesuffix(".gz").endswith(".pl")


def program_rules(text: str, file: str) -> Iterator[Rule]:
    """Clauses; a label that is a number becomes the weight."""
    count = 0
    for item in read_program(text, file):
        if type(item) is Fact:
            head = Struct(item.functor, item.args, True)
            clause = Clause(head, (), 0, None, Place(file, item.line))
        else:
            assert not isinstance(item, Fact)
            term = deref(item.term)
            functor = functor_of(term)
            place = Place(file, item.line, item.column)
            directive = term.args[0] if type(term) is Struct and functor is DIRECTIVE else None
            if directive is not None and _is_ignored(directive, place, text):
                continue
            if functor is DIRECTIVE or functor is QUERY:
                _refuse(f"{write_term(term)} is no rule", place, text)
            try:
                clause = make_clause(term, place, item.variables)
            except ProgramError as e:
                _refuse(e.message, place, text, e.hint)
        weight = 1.0
        if clause.label is not None:
            if not isinstance(clause.label, Constant):
                assert clause.place is not None
                _refuse("a rule's label is its weight, a number", clause.place, text)
            weight = clause.label.number
            clause = Clause(clause.head, clause.body, clause.size, None, clause.place, clause.names)
        yield Rule(clause, f"r{count}", weight)
        count += 1


def _is_ignored(directive: Term, place: Place, text: str) -> bool:
    """True for a directive that rules can do without; one that means something is refused."""
    functor = functor_of(deref(directive))
    if functor is None or (functor is not DYNAMIC and functor.name not in IGNORED):
        return False
    if functor is not DYNAMIC:
        try:
            announce(directive, place)
        except ProgramError as e:
            _refuse(e.message, place, text, e.hint)
    return True


def _refuse(message: str, place: Place, text: str, hint: str | None = None) -> NoReturn:
    line = text.split("\n")[place.line - 1].rstrip("\r")
    raise ProgramError(
        message, file=place.file, line=place.line, column=place.column, text=line, hint=hint
    )


@dataclass(frozen=True)
class _Line:
    """One line of a text, from offset `start` to `end`, and the number of the rule on it."""

    text: str
    file: str
    start: int
    end: int
    line: int
    number: int

    def wrong(self, offset: int, message: str, hint: str) -> NoReturn:
        raise problem(self.text, min(offset, self.end), message, self.file, hint)

    def begins(self, fields: list[str]) -> list[int]:
        """The offset of each field, which tabs stand between."""
        ends = list(accumulate(len(field) + 1 for field in fields))
        return [self.start, *(self.start + end for end in ends[:-1])]

    def number_in(self, begin: int, end: int, what: str, hint: str) -> float:
        try:
            value = float(self.text[begin:end])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            shown = self.text[begin:end].strip()
            self.wrong(begin, f"the {what} {shown!r} is no finite number", hint)
        return value


def _by_line(text: str, file: str, read: Callable[[_Line], Rule | None]) -> Iterator[Rule]:
    start = number = 0
    for at, whole in enumerate(text.split("\n"), 1):
        shown = whole.strip()
        if shown and shown[0] not in "%#":
            rule = read(_Line(text, file, start, start + len(whole.rstrip()), at, number))
            if rule is not None:
                yield rule
                number += 1
        start += len(whole) + 1


def _arrow_rule(line: _Line) -> Rule:
    arrow = line.text.rfind("->", line.start, line.end)
    if arrow < 0:
        line.wrong(line.end, "a rule without '->'", _ARROW_HINT)
    prefix = re.compile(r"\s*(?:([^:()]*):([^:()]*):)?").match(line.text, line.start, arrow)
    assert prefix is not None
    name, weight = f"r{line.number}", 1.0
    if prefix[1] is not None:
        name = prefix[1].strip() or name
        weight = line.number_in(*prefix.span(2), "weight", _ARROW_HINT)
    body = list(_atoms(line, prefix.end(), arrow, _ARROW_HINT))
    if not body:
        line.wrong(prefix.end(), "a rule without a body", _ARROW_HINT)
    heads = list(_atoms(line, arrow + 2, line.end, _ARROW_HINT))
    if len(heads) != 1:
        line.wrong(arrow + 2, f"a rule has one head, not {len(heads)}", _ARROW_HINT)
    return Rule(_clause(line, heads[0], body, _arrow_argument), name, weight)


def _table_rule(line: _Line) -> Rule:
    """A line of AnyBURL's or PyClause's table; the three numbers may be left out."""
    fields = line.text[line.start : line.end].split("\t")
    if len(fields) not in (1, 4):
        line.wrong(line.start, f"{len(fields)} fields, not 4", _TABLE_HINT)
    begins = line.begins(fields)
    numbers = [
        line.number_in(begin, begin + len(field), what, _TABLE_HINT)
        for begin, field, what in zip(
            begins[:-1], fields, ("predictions", "support", "confidence"), strict=False
        )
    ]
    arrow = line.text.find("<=", begins[-1], line.end)
    if arrow < 0:
        line.wrong(line.end, "a rule without '<='", _TABLE_HINT)
    heads = list(_atoms(line, begins[-1], arrow, _TABLE_HINT))
    if len(heads) != 1:
        line.wrong(begins[-1], f"a rule has one head, not {len(heads)}", _TABLE_HINT)
    body = list(_atoms(line, arrow + 2, line.end, _TABLE_HINT))
    clause = _clause(line, heads[0], body, _table_argument)
    if not numbers:
        return Rule(clause, f"r{line.number}", 1.0)
    predictions, support, confidence = numbers
    if not 0 <= support <= predictions:
        line.wrong(begins[1], f"a support of {support:g} among {predictions:g} predictions",
                   "predictions come first: 141⇥97⇥0.688⇥head <= body")  # fmt: skip
    counts = RuleCounts(int(support), int(predictions)) if predictions >= 1 else None
    return Rule(clause, f"r{line.number}", confidence, counts)


def _amie_rule(line: _Line) -> Rule | None:
    """A line of AMIE's output; None for its heading and for what it says of its progress."""
    fields = line.text[line.start : line.end].split("\t")
    begins = line.begins(fields)
    arrow = fields[0].find("=>")
    if arrow < 0:
        return None
    if len(fields) < 3:
        line.wrong(line.end, f"{len(fields)} fields, not 7 or more", _AMIE_HINT)
    numbers = [
        line.number_in(begin, begin + len(field), what, _AMIE_HINT)
        for begin, field, what in zip(begins[1:], fields[1:], _AMIE_FIELDS, strict=False)
    ]
    body = _amie_atoms(line, begins[0], begins[0] + arrow)
    heads = _amie_atoms(line, begins[0] + arrow + 2, begins[0] + len(fields[0]))
    if len(heads) != 1 or not body:
        wrong = "a rule without a body" if not body else f"a rule has one head, not {len(heads)}"
        line.wrong(begins[0] + arrow, wrong, _AMIE_HINT)
    counts = None
    if len(numbers) == len(_AMIE_FIELDS) and numbers[4] >= 1:
        coverage, _, _, support, size, pca = numbers
        facts = round(support / coverage) if coverage > 0 else None
        counts = RuleCounts(int(support), int(size), int(pca), facts)
    clause = _clause(line, heads[0], body, _amie_argument)
    return Rule(clause, f"r{line.number}", numbers[1], counts)


def _amie_atoms(line: _Line, begin: int, end: int) -> list[Written]:
    """The atoms `?a  r  ?b`, their parts two blanks apart, or one where no name holds a blank."""
    text = line.text[begin:end].strip()
    words = re.split(r" {2,}", text) if text else []
    if len(words) % 3:
        words = text.split()
    if len(words) % 3:
        line.wrong(begin, "an atom has three parts", _AMIE_HINT)
    return [
        (relation, [(source, False), (target, False)])
        for source, relation, target in zip(words[::3], words[1::3], words[2::3], strict=True)
    ]


Written = tuple[str, list[tuple[str, bool]]]
"""An atom's name and its arguments, each with whether it was quoted."""


def _atoms(line: _Line, begin: int, end: int, hint: str) -> Iterator[Written]:
    """The atoms `name(argument, …), …` between two offsets."""
    text, at = line.text, begin
    while text[at:end].strip():
        name, _, at = _name(line, at, end, "a relation", hint)
        if not text.startswith("(", at, end):
            line.wrong(at, f"expected '(' after {name}", hint)
        arguments: list[tuple[str, bool]] = []
        while True:
            argument, quoted, at = _name(line, at + 1, end, "an argument", hint)
            arguments.append((argument, quoted))
            if not text.startswith(",", at, end):
                break
        if not text.startswith(")", at, end):
            line.wrong(at, "expected ',' or ')' in an atom", hint)
        yield name, arguments
        at += 1
        rest = text[at:end]
        at += len(rest) - len(rest.lstrip())
        if at < end:
            if text[at] != ",":
                line.wrong(at, "expected ',' between atoms", hint)
            at += 1
            if not text[at:end].strip():
                line.wrong(at - 1, "expected an atom after ','", hint)


def _name(line: _Line, at: int, end: int, what: str, hint: str) -> tuple[str, bool, int]:
    found = _NAME.match(line.text, at, end)
    if found is None:
        rest = line.text[at:end]
        line.wrong(at + len(rest) - len(rest.lstrip()), f"expected {what}", hint)
    quoted = next((text for text in found.group(1, 2) if text is not None), None)
    if quoted is not None:
        return re.sub(r"\\(.)", r"\1", quoted), True, found.end()
    return found[3], False, found.end()


def _clause(line: _Line, head: Written, body: list[Written], argument: ReadArgument) -> Clause:
    named: dict[str, Var] = {}

    def term(atom: Written) -> Struct:
        name, arguments = atom
        terms = tuple(Atom(t) if quoted else argument(t, named) for t, quoted in arguments)
        return Struct(Functor(name, len(terms)), terms)

    numbers: dict[Var, int] = {}
    numbered = [abstract(term(atom), numbers) for atom in (head, *body)]
    assert type(numbered[0]) is Struct
    names = tuple(variable.name or "_" for variable in numbers)
    place = Place(line.file, line.line)
    return Clause(numbered[0], tuple(numbered[1:]), len(numbers), None, place, names)


def _arrow_argument(name: str, named: dict[str, Var]) -> Term:
    if _NUMERAL.fullmatch(name):
        return int(name)
    return named.setdefault(name, Var(name[0].upper() + name[1:]))


def _amie_argument(name: str, named: dict[str, Var]) -> Term:
    if name[0] == "?":
        return named.setdefault(name, Var(name[1:].capitalize() or "_"))
    return name_term(name)


def _table_argument(name: str, named: dict[str, Var]) -> Term:
    if len(name) == 1 and "A" <= name <= "Z":
        return named.setdefault(name, Var(name))
    return name_term(name)
