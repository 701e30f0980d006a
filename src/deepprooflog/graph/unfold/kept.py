"""What unfolding learned about a program's steps, kept for as long as the program.

Goals made anew for every minibatch meet the same steps with other contents: their templates are
found once. Nothing of a query is kept, a store that has grown too large is dropped, and so is one
that an error or an interruption left unfinished. A view of a program is another program.

A thread takes a store out while it works; another that comes meanwhile begins one of its own, and
both are put back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from weakref import WeakKeyDictionary

from deepprooflog.graph.unfold.template import TemplateStore
from deepprooflog.logic.program import Predicate, Program
from deepprooflog.syntax.terms import Functor

# Terms, steps and cases of a store that is kept: some tens of megabytes.
MOST_KEPT = 200_000
# Stores of one program, for threads that work at the same time.
MOST_STORES = 4


class Meaning(NamedTuple):
    """What the steps of a program depend on, besides what it leaves out."""

    order: str
    occurs_check: bool
    predicates: Mapping[Functor, Predicate]

    def holds(self, program: Program) -> bool:
        return (
            self.order == program.order
            and self.occurs_check == program.occurs_check
            and self.predicates is program.predicates
        )


_KEPT: WeakKeyDictionary[Program, list[tuple[Meaning, TemplateStore]]] = WeakKeyDictionary()


@contextmanager
def kept_templates(program: Program) -> Iterator[TemplateStore]:
    """The templates of a program that are known already; more may be added within the block.

    >>> program = Program("p(a).")
    >>> with kept_templates(program) as first, kept_templates(program) as other:
    ...     first is other
    False
    >>> with kept_templates(program) as again:
    ...     again is first
    True
    """
    stores = _KEPT.setdefault(program, [])
    store = TemplateStore()
    while stores:
        try:
            meaning, known = stores.pop()
        except IndexError:
            break
        if meaning.holds(program):
            store = known
            break
    yield store
    if store.size <= MOST_KEPT and len(stores) < MOST_STORES:
        stores.append((Meaning(program.order, program.occurs_check, program.predicates), store))
