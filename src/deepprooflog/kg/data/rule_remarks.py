"""What is odd about rules, said with file and line: they are kept, and do what they say.

By itself a rule may leave a variable of its head open, compare a variable that nothing binds, ask
for what it concludes, or fall into parts that share no variable. Beside a graph it may name a
relation that is not there, or compare integers where there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deepprooflog.kg.data.notice import DataNotice, plural
from deepprooflog.kg.data.rules import MINED, Rule, Rules
from deepprooflog.kg.data.triples import Graph, did_you_mean
from deepprooflog.logic.builtins import is_builtin
from deepprooflog.relational.guards import GUARDS, INTEGERS
from deepprooflog.syntax.terms import Functor, Var, args_of, functor_of, variables


def remarks(rule: Rule) -> Iterator[DataNotice]:
    """What can be said of a rule without its graph."""
    yield from _open_head(rule)
    yield from _unbound_guards(rule)
    yield from _circular(rule)
    yield from _in_parts(rule)


def unknown_relations(rules: Iterable[Rule], graph: Graph) -> list[DataNotice]:
    """Body atoms that nothing can prove, and heads of which nothing asks."""
    rules = list(rules)
    heads = {rule.clause.functor for rule in rules}
    relations = {Functor(name, 2) for name in graph.relations}
    called = {functor_of(atom) for rule in rules for atom in rule.clause.body}
    notices: dict[Functor, DataNotice] = {}
    for rule in rules:
        head = rule.clause.functor
        if head not in relations | called | notices.keys():
            message = f"no triple is about {head} and no rule calls it"
            notices[head] = _unknown(rule, message, head, relations)
        for atom in rule.clause.body:
            functor = functor_of(atom)
            known = relations | heads | notices.keys()
            if functor is None or functor in known or is_builtin(functor):
                continue
            message = f"no triple and no rule is about {functor}, so this rule never succeeds"
            notices[functor] = _unknown(rule, message, functor, relations | heads)
    return list(notices.values())


def _unknown(rule: Rule, message: str, functor: Functor, known: Iterable[Functor]) -> DataNotice:
    hint = did_you_mean(functor.name, (f.name for f in known))
    return _of(rule, f"{message}; {hint}" if hint else message)


def without_integers(rules: Iterable[Rule], graph: Graph) -> list[DataNotice]:
    """Rules that compare integers where no entity is one."""
    comparing = (
        (rule, functor) for rule in rules for functor in map(functor_of, rule.clause.body)
        if functor in INTEGERS
    )  # fmt: skip
    for rule, functor in comparing:
        if any(type(entity) is int for entity in graph.entities):
            break
        told = f"{functor} compares integers, and no entity is one: asking it ends in an error"
        return [_of(rule, told)]
    return []


def unused_weights(rules: Rules, *, learned: bool = True) -> list[DataNotice]:
    """Word of weights that were read from a file.

    A policy learns its own. Beside walks nothing is `learned` of a rule: it weighs what its file
    counts of it or, where that does not tell, what is counted over the graph.
    """
    count = sum(rule.weight != 1.0 and (learned or rule.counts is None) for rule in rules)
    if not count or rules.file == MINED:
        return []
    how = (
        "how much a rule counts is learned" if learned
        else "a rule weighs support / (predictions + 5), counted over the training triples"
    )  # fmt: skip
    told = f"the weights of {plural(count, 'rule')} are not used: {how}"
    return [DataNotice(told, rules.file, count=count)]


def _open_head(rule: Rule) -> Iterator[DataNotice]:
    """A head variable that the body does not bind."""
    clause = rule.clause
    if not clause.body:
        return
    bound = set(variables(*clause.body))
    free = [v for v in variables(*args_of(clause.head)) if v not in bound]
    if free:
        names = ", ".join(clause.names[v.index] for v in free)
        yield _of(
            rule,
            f"the head variable {names} is not in the body: the rule proves its head for every "
            "value of it, and leaves it unbound in an open query",
        )


def _unbound_guards(rule: Rule) -> Iterator[DataNotice]:
    """Guards with a variable that neither the head nor an atom before them binds."""
    clause = rule.clause
    bound = set(variables(*args_of(clause.head)))
    for atom in clause.body:
        if functor_of(atom) not in GUARDS:
            bound |= set(variables(atom))
            continue
        free = [clause.names[v.index] for v in variables(atom) if v not in bound]
        if free:
            yield _of(
                rule,
                f"{free[0]} in a guard is bound by no atom before it: what it is compared with "
                "makes no difference",
            )


def _circular(rule: Rule) -> Iterator[DataNotice]:
    """A body that asks for the head itself."""
    if rule.clause.head in rule.clause.body:
        told = "the rule asks for what it concludes: it proves nothing that is not proved without"
        yield _of(rule, told)


def _in_parts(rule: Rule) -> Iterator[DataNotice]:
    """A body whose atoms share no variable, one way or another."""
    parts: list[set[Var]] = []
    for atom in rule.clause.body:
        own = set(variables(atom))
        if not own or functor_of(atom) in GUARDS:
            continue
        parts = [part for part in parts if not part & own] + [
            own.union(*(part for part in parts if part & own))
        ]
    if len(parts) > 1:
        told = "the body has parts that share no variable: any way of one goes with any of another"
        yield _of(rule, told)


def _of(rule: Rule, message: str) -> DataNotice:
    place = rule.clause.place
    return DataNotice(message, place.file if place else None, place.line if place else None)
