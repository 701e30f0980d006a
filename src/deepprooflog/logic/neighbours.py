"""What programs of ProbLog, DeepProbLog, DeepStochLog and Scallop say that is said otherwise here.

Some of it reads as Prolog and would mean something else without a word: a fact `query(a).` asks
nothing, a lone `t(_) ::` is 1 for ever. That is a notice. The rest is an error whose hint shows how
to write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from deepprooflog.errors import ProgramError
from deepprooflog.logic.analysis.exclusive import mentioned
from deepprooflog.logic.body import DISJUNCTION
from deepprooflog.logic.clause import Trainable, clause_text
from deepprooflog.logic.program import Predicate, PredicateKind
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, deref, functor_of
from deepprooflog.syntax.writer import write_term

QUERY = Functor("query", 1)
EVIDENCE = (Functor("evidence", 1), Functor("evidence", 2))
NOT = (Functor("\\+", 1), Functor("not", 1))
LABEL = Functor("::", 2)
NETWORK = Functor("nn", 2)
EMBEDDING = Functor("nn", 3)

_ASK = "ask on the command line, dprl prob FILE 'QUERY', or in Python, dpl.prob(program, 'QUERY')"
_CONDITION = (
    "p(q | e) is p(q and e) / p(e), of a program that draws what both need once and hands it on"
)
_SCALLOP = re.compile(r"\s*(rel|type|query|const|import)\s+[\w\"@]")


def notices(predicates: Mapping[Functor, Predicate]) -> Iterator[str]:
    """What to tell of a program that reads, but not as its writer may have meant."""
    for predicate in predicates.values():
        if predicate.kind is PredicateKind.TRAINABLE and len(predicate.entries) == 1:
            (clause,) = predicate.entries
            if isinstance(clause.label, Trainable) and clause.label.initial is None:
                yield (
                    f"{_place(predicate)}t(_) of the only clause of {predicate.functor} is 1, "
                    "whatever is learned: trainable clauses share one softmax; "
                    "t(0.5) leaves the rest to failing"
                )
    if not any(p.stochastic for p in predicates.values()):
        return
    for functor in (QUERY, *EVIDENCE):
        predicate_ = predicates.get(functor)
        if predicate_ is not None and _speaks_of_the_program(predicate_, predicates):
            first = clause_text(next(iter(predicate_.entries)))
            why = f"nothing asks it; {_ASK}" if functor is QUERY else (
                f"no probability is conditioned on it; {_CONDITION}"
            )  # fmt: skip
            yield f"{_place(predicate_)}`{first}` is a plain clause here: {why}"


def _speaks_of_the_program(predicate: Predicate, predicates: Mapping[Functor, Predicate]) -> bool:
    """True when each argument names a predicate of the program, and no clause calls this one."""
    for args in predicate.entries.argument_rows():
        atom = deref(args[0])
        if type(atom) is Struct and atom.functor in NOT:
            atom = deref(atom.args[0])
        if functor_of(atom) not in predicates:
            return False
        if len(args) == 2 and args[1] not in (Atom("true"), Atom("false")):
            return False
    bodies = (c.body for p in predicates.values() for c in p.entries.explicit())
    return not any(predicate.functor in mentioned(atom) for body in bodies for atom in body)


def _place(predicate: Predicate) -> str:
    place = next(iter(predicate.entries)).place
    return f"{place.file}:{place.line}: " if place else ""


def directive_hint(directive: Term) -> str | None:
    """The remedy where a directive asks or conditions."""
    functor = functor_of(directive)
    if functor is None:
        return None
    if functor in EVIDENCE:
        return _CONDITION
    return _ASK if functor.name in ("query", "problog_query") else None


def label_hint(label: Term) -> str | None:
    """The remedy for a label that another system would take."""
    label = deref(label)
    if type(label) is Var:
        return (
            "a label is a constant: write a labelled clause for each value, or "
            "nn(net, [X]) :: p(X). where a network gives the probability"
        )
    if type(label) is not Struct:
        return None
    if label.functor is EMBEDDING:
        return (
            "a network gives probabilities, not terms: compute the vector in Python and bring it "
            "as a tensor, dpl.goal('p(X)', X=net(x))"
        )
    if label.functor == Functor("t", 2):
        return "t(0.3) :: or t(_) ::; what has a parameter of its own is a clause of its own"
    return None


def syntax_hint(line: str | None) -> str | None:
    """The remedy where a line is no Prolog, but another system's.

    >>> print(syntax_hint("rel path(x, y) = edge(x, y)"))
    Scallop's "rel head = body" is  head :- body.  here; types and queries are not declared
    """
    if line is None or not _SCALLOP.match(line):
        return None
    return (
        'Scallop\'s "rel head = body" is  head :- body.  here; types and queries are not declared'
    )


def several_heads(head: Struct, body: Term | None) -> ProgramError:
    """The error of a clause with alternatives in its head, with the clauses to write instead."""
    parts: list[Term] = []
    todo: list[Term] = [head]
    while todo:
        part = deref(todo.pop())
        if type(part) is Struct and part.functor is DISJUNCTION:
            todo.extend(reversed(part.args))
        else:
            parts.append(part)
    labelled = [p.args for p in parts if type(p) is Struct and p.functor is LABEL]
    if len(labelled) == len(parts):
        heads = [(write_term(p, priority=989), deref(h)) for p, h in labelled]
        alike = len({functor_of(h) for _, h in heads}) == 1
        tail = "" if body is None else f" :- {write_term(body)}"
        one = " ".join(
            f"{p} :: {write_term(h) if alike else f'x({write_term(h)})'}{tail}." for p, h in heads
        )
        return ProgramError(
            "an annotated disjunction: alternatives in the head of a clause are not read",
            hint=f"the clauses of one labelled predicate exclude each other:  {one}",
        )
    if len(labelled) == 1 and (neural := _neural_alternatives(labelled[0], parts)):
        return ProgramError(
            "a network's alternatives in the head of a clause are not read", hint=neural
        )
    return ProgramError(
        "a clause has one head, not several alternatives", hint="a clause for each of them"
    )


def _neural_alternatives(first: tuple[Term, ...], parts: list[Term]) -> str | None:
    """DeepProbLog's `nn(m, [X]) :: p(X, 0); p(X, 1).` as one clause over a domain."""
    label = deref(first[0])
    if type(label) is not Struct or label.functor is not NETWORK:
        return None
    heads = [deref(first[1]), *parts[1:]]
    if len({functor_of(h) for h in heads}) != 1 or not all(type(h) is Struct for h in heads):
        return None
    net, inputs = (write_term(a) for a in label.args)
    rows = [[write_term(a) for a in h.args] for h in heads if type(h) is Struct]
    arguments = ", ".join([*rows[0][:-1], "Y"])
    values = ", ".join(row[-1] for row in rows)
    functor = functor_of(heads[0])
    assert functor is not None
    return f"nn({net}, {inputs}, Y, [{values}]) :: {functor.name}({arguments})."
