"""Writing rules: as a program, or in a miner's format, so that reading gives the same rules.

    0.687943 :: uncle(A,B) :- brother(A,C), father(C,B).               program
    141<TAB>97<TAB>0.687943<TAB>uncle(X,Y) <= brother(X,A), father(A,Y)    anyburl, pyclause
    ?a  brother  ?c  ?c  father  ?b   => ?a  uncle  ?b<TAB>0.1<TAB>…    amie
    r0:0.687943:brother(A,C), father(C,B) -> uncle(A,B)                arrow

A program has a comment with each rule's counts. Where a table has room for counts and a rule has
none, they are 0; what a format cannot say (a guard, a list, a blank in a name) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from deepprooflog.data.whole import write_whole
from deepprooflog.errors import DataError
from deepprooflog.kg.data.reading import name_term
from deepprooflog.kg.data.rules import Rule, clause_text, letters
from deepprooflog.logic.builtins import is_builtin
from deepprooflog.logic.clause import instantiate
from deepprooflog.syntax.terms import Atom, Float, Struct, Term, Var, functor_of
from deepprooflog.syntax.writer import write_term

FORMS = ("program", "anyburl", "pyclause", "amie", "arrow")
OTHERS = "ABCDEFGHIJKLMNOPQRSTUVW"
CONTROL = (",", ";", "->", "|")
BARE = "(),'\" \t"
HINT = "form='program', which can say everything"


def write_rules(rules: Iterable[Rule], path: str | Path, form: str = "program") -> None:
    """Write rules to a file, whole or not at all."""
    write_whole(Path(path), rules_text(rules, form).encode())


def rules_text(rules: Iterable[Rule], form: str = "program", title: str = "") -> str:
    """Rules as text in one of FORMS.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> rules = parse_rules("0.5 :: uncle(X, Y) :- brother(X, Z), father(Z, Y).")
    >>> print(rules_text(rules, "arrow"), end="")
    r0:0.5:brother(A,C), father(C,B) -> uncle(A,B)
    """
    if form not in FORMS:
        raise DataError(f"no form {form!r}", hint=f"one of {', '.join(FORMS)}")
    rules = list(rules)
    if form == "program":
        labelled = any(rule.weight != 1.0 or rule.counts for rule in rules)
        lines = [f"% {line}" for line in title.splitlines()]
        for rule in rules:
            lines += _program_lines(rule, labelled)
    else:
        write: Callable[[Rule], str] = {"amie": _amie, "arrow": _arrow}.get(form, _anyburl)
        lines = [write(rule) for rule in rules]
        if form == "pyclause":
            for rule in rules:
                _check_names(rule)
    return "".join(f"{line}\n" for line in lines)


def _program_lines(rule: Rule, labelled: bool) -> list[str]:
    for term in rule.clause.body:
        if type(term) is Struct and term.functor.name in CONTROL:
            hint = "another name for the relation"
            raise DataError(f"{rule}: {term.functor.name} is no relation in a program", hint=hint)
    if not 0 <= rule.weight <= 1:
        hint = "form='arrow', or weights from 0 to 1"
        raise DataError(f"the weight {rule.weight} of {rule} is no label", hint=hint)
    label = f"{write_term(Float(float(rule.weight)))} :: " if labelled else ""
    comment = [] if rule.counts is None else [f"% {rule.counts}"]
    return [*comment, label + clause_text(rule.clause)]


def _anyburl(rule: Rule) -> str:
    names = _letters(rule, "XY", OTHERS)
    head, *body = (_atom(rule, term, names, _table_name) for term in _terms(rule, "<="))
    counts = rule.counts
    predictions, support = (counts.predictions, counts.support) if counts else (0, 0)
    text = f"{head} <= {', '.join(body)}"
    return f"{predictions}\t{support}\t{float(rule.weight)!r}\t{text}"


def _arrow(rule: Rule) -> str:
    if not rule.clause.body or not _plain(rule.id, ":()%#"):
        _refuse(rule, "a rule without a body" if _plain(rule.id, ":()%#") else f"the id {rule.id}")
    names = _letters(rule, "", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    head, *body = (_atom(rule, term, names, _arrow_name) for term in _terms(rule, "->"))
    return f"{rule.id}:{float(rule.weight)!r}:{', '.join(body)} -> {head}"


def _amie(rule: Rule) -> str:
    names = {
        v: f"?{n.lower()}" for v, n in _letters(rule, "AB", "CDEFGHIJKLMNOPQRSTUVWXYZ").items()
    }
    head, *body = (_amie_atom(rule, term, names) for term in _terms(rule, "=>"))
    if not body:
        _refuse(rule, "a rule without a body")
    if body[0][0] in "%#":
        _refuse(rule, "a name that looks like a comment")
    counts = rule.counts
    numbers: list[object] = [0.0, float(rule.weight), 0.0, 0, 0, 0]
    if counts is not None:
        coverage, pca = counts.head_coverage or 0.0, counts.pca_confidence or 0.0
        sizes = (counts.support, counts.predictions, counts.pca_predictions or 0)
        numbers = [coverage, float(rule.weight), pca, *sizes]
    return "\t".join([f"{'  '.join(body)}   => {head}", *map(repr, numbers), "?a"])


def _terms(rule: Rule, arrow: str) -> list[Struct]:
    """Head and body, all of them atoms that a miner's format can say."""
    terms: list[Struct] = []
    for term in (rule.clause.head, *rule.clause.body):
        functor = functor_of(term)
        if type(term) is not Struct or functor is None or is_builtin(functor):
            _refuse(rule, _shown(rule, term))
        if not functor.name.isprintable() or arrow in functor.name or not functor.name:
            _refuse(rule, f"the relation {write_term(Atom(functor.name))}")
        terms.append(term)
    return terms


def _letters(rule: Rule, heads: str, others: str) -> dict[Term, str]:
    """A letter for each variable: those of the head first, where they have letters of their own."""
    head = rule.clause.args
    names: dict[Term, str] = {}
    for letter, term in zip(heads, head, strict=False):
        if type(term) is Var:
            names.setdefault(term, letter)
    free = iter(others)
    for term in (
        *head,
        *(t for atom in rule.clause.body if type(atom) is Struct for t in atom.args),
    ):
        if type(term) is Var and term not in names:
            names[term] = next(free, "")
            if not names[term]:
                _refuse(rule, f"the {len(names)}th variable")
    return names


def _atom(
    rule: Rule, atom: Struct, names: dict[Term, str], name: Callable[[Term], str | None]
) -> str:
    arguments = [names.get(term) or name(term) for term in atom.args]
    for term, text in zip(atom.args, arguments, strict=True):
        if text is None:
            _refuse(rule, _shown(rule, term))
    return f"{_quoted(atom.functor.name, BARE)}({','.join(map(str, arguments))})"


def _amie_atom(rule: Rule, atom: Struct, names: dict[Term, str]) -> str:
    if len(atom.args) != 2:
        _refuse(rule, f"{atom.functor}")
    parts = [names.get(term) or _amie_name(term) for term in atom.args]
    relation = atom.functor.name if _plain(atom.functor.name, "") else None
    for term, text in ((atom, relation), *zip(atom.args, parts, strict=True)):
        if text is None:
            _refuse(rule, _shown(rule, term))
    return f"{parts[0]}  {relation}  {parts[1]}"


def _table_name(term: Term) -> str | None:
    """A constant as it stands in the triples, quoted where it would be read as something else."""
    if type(term) is int:
        return str(term)
    if type(term) is not Atom or not term.name.isprintable() or "<=" in term.name:
        return None
    variable = len(term.name) == 1 and "A" <= term.name <= "Z"
    numeral = name_term(term.name) != term
    return _quoted(term.name, BARE, variable or numeral)


def _arrow_name(term: Term) -> str | None:
    if type(term) is int:
        return str(term)
    if type(term) is not Atom or not term.name.isprintable() or "->" in term.name:
        return None
    return _quoted(term.name, "", True)


def _amie_name(term: Term) -> str | None:
    text = str(term) if type(term) is int else term.name if type(term) is Atom else ""
    usual = _plain(text, "") and text[0] != "?" and "=>" not in text and name_term(text) == term
    return text if usual else None


def _quoted(name: str, marks: str, always: bool = False) -> str:
    if not always and _plain(name, marks):
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _plain(name: str, marks: str) -> bool:
    """Whether a name stands by itself: printable, without blanks and some marks."""
    blank = any(char.isspace() or char in marks for char in name)
    return bool(name) and name.isprintable() and not blank


def _check_names(rule: Rule) -> None:
    for atom in (rule.clause.head, *rule.clause.body):
        for term in atom.args if type(atom) is Struct else ():
            if type(term) is not Var and len(write_term(term)) < 2:
                _refuse(rule, f"the one letter of {write_term(term)}", "PyClause reads two or more")


def _shown(rule: Rule, term: Term) -> str:
    """A part of a rule with the letters that the rule is shown with."""
    frame: list[Term | None] = [Var(letter) for letter in letters(rule.clause.size)]
    return write_term(instantiate(term, frame))


def _refuse(rule: Rule, what: str, hint: str = HINT) -> NoReturn:
    place = rule.clause.place
    raise DataError(
        f"{what} in the rule {rule} cannot be written so",
        file=place.file if place else None,
        line=place.line if place else None,
        hint=hint,
    )
