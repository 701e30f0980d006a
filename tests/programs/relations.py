"""Random relations, queried in every mode: variables may stay unbound from head to answer.

Predicates call only those written before them; recursion is in the textbook predicates below,
called with an argument that bounds it. Terms with repeated variables, negation of goals that are
not ground, aliased answers and cut all occur.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hypothesis import strategies as st

from programs.cases import Case, Dice, Draw, Query

TEXTBOOK = """\
app([], Ys, Ys).
app([X|Xs], Ys, [X|Zs]) :- app(Xs, Ys, Zs).
add(z, Y, Y).
add(s(X), Y, s(Z)) :- add(X, Y, Z).
sel(X, [X|Xs], Xs).
sel(X, [Y|Ys], [Y|Zs]) :- sel(X, Ys, Zs).
perm([], []).
perm(Xs, [Y|Ys]) :- sel(Y, Xs, Zs), perm(Zs, Ys).
last([X], X).
last([_|Xs], X) :- last(Xs, X).
rev(Xs, Ys) :- rev(Xs, [], Ys).
rev([], Ys, Ys).
rev([X|Xs], Ys, Zs) :- rev(Xs, [X|Ys], Zs).
"""
_BOUNDED = [
    "app([a,b], {0}, {1})",
    "app({0}, {1}, [a,b,c])",
    "app([{0}], {1}, {2})",
    "app({0}, [{1}], [c,b])",
    "add(s(s(z)), {0}, {1})",
    "add({0}, {1}, s(s(z)))",
    "sel({0}, [a,b,a], {1})",
    "perm([a,{0},b], {1})",
    "last([a,{0}], {1})",
    "rev([{0},b,c], {1})",
    "member({0}, [a,{1},c])",
    "append({0}, [{1}], [a,b])",
    "length({0}, 2)",
]
_PLAIN = [
    "{0} = {1}",
    "{0} = {2}",
    "{0} \\= {1}",
    "{0} == {1}",
    "{0} \\== {1}",
    "var({0})",
    "nonvar({0})",
    "atom({0})",
    "compound({0})",
    "[{0}|{1}] = [a,b]",
    "{0} = f({1},b)",
]
_CONSTANTS = ["a", "b", "c", "[]", "[a,b]", "f(a,b)", "1", "s(z)"]
_NAMES = ["X", "Y", "Z", "W"]


@dataclass(frozen=True)
class Relations(Dice):
    """Draws clauses over predicates of known arity."""

    arity: dict[str, int] = field(default_factory=dict)

    def term(self, depth: int = 1) -> str:
        choice = self.below(10)
        if choice < 7:
            return self.pick(_NAMES)
        if choice < 9 or depth == 0:
            return self.pick(_CONSTANTS)
        shape = self.pick(["f({0},{1})", "[{0}|{1}]", "[{0},{1}]"])
        return shape.format(self.term(depth - 1), self.term(depth - 1))

    def call(self) -> str:
        name = self.pick(list(self.arity))
        return f"{name}({', '.join(self.term() for _ in range(self.arity[name]))})"

    def goal(self, depth: int = 1) -> str:
        choice = self.below(10)
        names = [self.pick(_NAMES) for _ in range(2)]
        if choice < 5 and self.arity:
            return self.call()
        if choice < 7:
            return self.pick(_BOUNDED).format(*names, self.term(0))
        if choice == 7 or depth == 0:
            return self.pick(_PLAIN).format(*names, self.term())
        first, second = self.goal(depth - 1), self.goal(depth - 1)
        if choice == 8:
            return f"\\+ ({first})"
        shape = self.pick(["({0} ; {1})", "({0} -> {1} ; {2})", "({0} -> {1})", "once(({0}, {1}))"])
        return shape.format(first, second, self.goal(0))

    def clause(self, name: str, arity: int) -> str:
        head = f"{name}({', '.join(self.term() for _ in range(arity))})"
        body = [self.goal() for _ in range(self.below(4))]
        if body and self.below(5) == 2:
            body.insert(self.below(len(body) + 1), "!")
        return f"{head} :- {', '.join(body)}." if body else f"{head}."


@st.composite
def relational_cases(draw: Draw, queries: int = 5) -> Case:
    """Programs of relations with queries whose arguments are bound or not."""
    relations = Relations(draw)
    clauses: list[str] = []
    for i in range(2 + relations.below(3)):
        name, arity = f"q{i}", 1 + relations.below(3)
        clauses += [relations.clause(name, arity) for _ in range(1 + relations.below(3))]
        # Entered only after its clauses, so that no predicate calls itself.
        relations.arity[name] = arity
    asked = []
    for _ in range(queries):
        goal = relations.call()
        asked.append(Query(goal, tuple(dict.fromkeys(re.findall(r"\b[XYZW]\b", goal)))))
    return Case(TEXTBOOK + "\n".join(clauses) + "\n", tuple(asked))
