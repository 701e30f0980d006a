"""Random function-free programs and queries to them: what the batched engines take.

Arities 0 to 3 are mixed; heads and bodies hold constants and repeated variables; some clauses are
facts with variables, some have head variables that their body lacks. Every constant and predicate
occurs, so that a query may name any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from deepprooflog.logic.program import BodyOrder, Program
from programs.parts import Texts, Vocabulary, atom, clause, clauses, several

MIXED = Vocabulary(
    {"z": 0, "u": 1, "p": 2, "q": 2, "t": 3}, ("a", "b", "c", "7", "'B c'"), ("X", "Y", "Z", "W")
)
ORDERS: st.SearchStrategy[BodyOrder] = st.sampled_from(["written", "bound_first"])


@dataclass(frozen=True)
class Asked:
    """The text of a program and queries to it."""

    text: str
    queries: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join([self.text, *(f"?- {query}." for query in self.queries)])

    def program(self, order: BodyOrder = "written") -> Program:
        """The program, its bodies in this order."""
        return Program(self.text, order=order)


def _bodies(atoms: Texts, most: int = 3) -> st.SearchStrategy[list[str]]:
    return st.lists(atoms, max_size=most)


def _program(clauses: Sequence[str]) -> str:
    return "\n".join([*MIXED.declarations, *dict.fromkeys(clauses)])


def _guards(*signs: str) -> Texts:
    """Guards over the variables, and now and then a constant."""
    terms = MIXED.terms(1, 4)
    return st.builds("{} {} {}".format, terms, st.sampled_from(signs), terms)


@st.composite
def function_free(
    draw: st.DrawFn, rules: int = 10, facts: int = 40, queries: int = 6, guarded: bool = False
) -> Asked:
    """Rules that may call any predicate, among facts; queries are conjunctions.

    Recursion is everywhere, so goals may grow without end: whoever explores sets a limit. With
    `guarded`, bodies have guards that compare terms.
    """
    in_head, in_body, in_query = (MIXED.atoms(MIXED.terms(*n)) for n in ((1, 5), (1, 7), (1, 3)))
    if guarded:
        in_body = st.one_of(in_body, in_body, _guards("\\=", "==", "\\=="))
    rule, fact = clauses(in_head, _bodies(in_body)), MIXED.ground().map(clause)
    mixed = draw(several(st.one_of(fact, rule, *[fact] * (facts // rules - 1)), rules + facts))
    query = st.lists(in_query, min_size=1, max_size=4).map(", ".join)
    asked = draw(st.lists(query, min_size=queries, max_size=queries))
    return Asked(_program(mixed), tuple(asked))


EPISODES = Vocabulary(
    {"e": 2, "f": 1, "p": 2, "q": 1, "r": 3, "s": 0}, ("a", "b", "c", "d", "7"), ("X", "Y", "Z")
)


@st.composite
def episodes(draw: st.DrawFn) -> Asked:
    """Facts e and f, rules p, q, r and s; queries ground, open, and conjunctions."""
    mixed = EPISODES.terms(1, 3)
    fact = EPISODES.ground("eeeeeffffppqqrrs").map(clause)
    rule = clauses(EPISODES.atoms(mixed, "ppqqrrs"), _bodies(EPISODES.atoms(mixed)))
    shuffled = draw(several(st.one_of(fact, rule, fact, fact), 40))
    known = [draw(EPISODES.ground(name)) for name in "epqrsf"]
    asked = [draw(EPISODES.atoms(mixed, name)) for name in "eppqrpq"]
    conjunction = f"{asked.pop()}, {asked.pop()}"
    text = "\n".join(dict.fromkeys([*shuffled, *EPISODES.declarations]))
    return Asked(text, (*known, *asked, conjunction))


CHAINED = ("a", "b", "c", "7")
HIGHEST = 3
_BODIES = [
    "{0}(X, Y)",
    "{0}(Y, X)",
    "{0}(X, Z), {1}(Z, Y)",
    "{0}(X, Z), {1}(Y, Z), u(Z)",
    "{0}(X, X), {1}(X, Y)",
    "u(X), {0}(X, Y), u(Y)",
    "{0}(X, b), {1}(c, Y)",
]


@st.composite
def stratified(draw: st.DrawFn, recursive: bool = False) -> Asked:
    """Relations r0 … r3 and u, whose goal graphs are small.

    The bodies of relation k call relations below k, or with `recursive` also relation k itself.
    """
    names = {"u": 1, **{f"r{k}": 2 for k in range(HIGHEST + 1)}}
    words = Vocabulary(names, CHAINED, ("V", "W"))
    lines = [*words.declarations, *draw(several(words.ground("u").map(clause), 3))]
    for k in range(HIGHEST + 1):
        lines += draw(several(words.ground([f"r{k}"]).map(clause), 9 - k))
        called = st.integers(0, k if recursive else k - 1).map("r{}".format)
        bodies = st.builds(str.format, st.sampled_from(_BODIES), called, called)
        if k:
            head = atom(f"r{k}", ["X", "Y"])
            lines += draw(several(bodies.map(lambda b: f"{head} :- {b}."), 3))  # noqa: B023
    terms = words.terms(2, 1)
    asked = words.atoms(terms, [f"r{k}" for k in range(1, HIGHEST + 1)])
    queries = draw(st.lists(asked, min_size=4, max_size=4))
    both = f"{queries[0]}, {draw(words.atoms(terms, 'u'))}"
    return Asked("\n".join(dict.fromkeys(lines)), (*queries, both))
