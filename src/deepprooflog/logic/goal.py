"""Goals as states: a conjunction and what it has answered so far, up to renaming.

    G = ← A₁, …, Aₙ        `atoms`; the empty goal is True
    answer                 the query's variables under the bindings made so far

A goal is *canonical*: variables are numbered by first occurrence over atoms, then answer, so that
two goals are variants of each other exactly when they are equal. An `Interner` makes equal terms
one object; goals it has made compare and hash by identity of their parts, in time independent of
the length of the lists inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from deepprooflog.errors import ProgramError
from deepprooflog.logic.clause import Frame, instantiate
from deepprooflog.logic.long_body import Pieces, is_note
from deepprooflog.syntax.terms import MANY, Functor, Struct, Term, Var, canonical_var


class Goal(NamedTuple):
    """A canonical goal; `Goal(())` is True. `size` counts its variables.

    A tuple, because goals are made, hashed and compared by the million.
    """

    atoms: tuple[Term, ...]
    answer: tuple[Term, ...] = ()
    size: int = 0

    @property
    def is_true(self) -> bool:
        return not self.atoms

    @property
    def leftmost(self) -> Term:
        """The atom that is resolved next."""
        return self.atoms[0]


class Interner:
    """Makes canonical terms, each once: equal terms of one interner are the same object.

    Where nobody reads whole goals, long bodies can be carried `in_pieces` (see `long_body`).
    """

    def __init__(self) -> None:
        self.in_pieces = False
        self.pieces = Pieces()
        self._terms: dict[tuple[Functor, tuple[Term, ...]], Struct] = {}
        self._adopted: dict[int, tuple[Struct, Struct]] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def goal(self, atoms: Iterable[Term], answer: Iterable[Term] = ()) -> Goal:
        """The canonical goal of run-time atoms, bindings followed."""
        numbers: dict[Var, int] = {}
        canonical = tuple([self.term(a, numbers) for a in atoms])
        return Goal(canonical, tuple([self.term(a, numbers) for a in answer]), len(numbers))

    def resolvent(self, body: Sequence[Term], goal: Goal, frame: Frame) -> Goal:
        """The canonical goal of `body` before what stands behind the leftmost atom of `goal`.

        `frame` holds what the goal's variables stand for (see `enter_goal`).
        """
        numbers: dict[Var, int] = {}
        rest = goal.atoms[1:]
        if self.in_pieces and not body and rest and is_note(rest[0]):
            note = instantiate(rest[0], frame)
            assert type(note) is Struct
            body, rest = self.pieces.open(note), rest[1:]
        atoms = [self.term(a, numbers) for a in body]
        for a in rest:
            atoms.append(self._carry(a, frame, numbers))
        answer = [self._carry(a, frame, numbers) for a in goal.answer]
        return Goal(tuple(atoms), tuple(answer), len(numbers))

    def whole(self, goal: Goal) -> Goal:
        """The goal with the rest of every body that it carries in pieces."""
        if not self.pieces.all or not any(map(is_note, goal.atoms)):
            return goal
        waiting, answer = rename(goal)
        waiting.reverse()
        atoms: list[Term] = []
        while waiting:
            atom = waiting.pop()
            if is_note(atom):
                waiting.extend(reversed(self.pieces.open(atom)))
            else:
                atoms.append(atom)
        return self.goal(atoms, answer)

    def _carry(self, term: Term, frame: Frame, numbers: dict[Var, int]) -> Term:
        """A canonical term with its variables replaced from the frame."""
        if type(term) is not Struct or term.ground or term.home is not self:
            return self.term(instantiate(term, frame), numbers)
        args: list[Term] = []
        for a in term.args:
            if type(a) is Var:
                value = frame[a.index]
                assert value is not None
                args.append(self.term(value, numbers))
            elif type(a) is Struct and not a.ground:
                return self.term(instantiate(term, frame), numbers)
            else:
                args.append(a)
        return self._make(term.functor, tuple(args))

    def term(self, term: Term, numbers: dict[Var, int]) -> Term:
        """The canonical, interned form of a run-time term; `numbers` is shared by one goal."""
        root = term
        while type(root) is Var:
            ref = root.ref
            if ref is None:
                return canonical_var(numbers.setdefault(root, len(numbers)))
            root = ref
        if type(root) is not Struct or (root.ground and root.home is self):
            return root
        if not root.ground:
            return self._flat(root, numbers) or self._copy(root, numbers)
        # A ground term of the program's text comes by again and again: walk it once. The entry
        # keeps the term alive, so that its id stays its own.
        known = self._adopted.get(id(root))
        if known is None:
            known = self._adopted[id(root)] = (root, self._copy(root, numbers))
        return known[1]

    def own(self, term: Term) -> Term:
        """The canonical form of a ground term, of which nothing is remembered but the form."""
        if type(term) is not Struct or term.home is self:
            return term
        return self._copy(term, {})

    def _flat(self, root: Struct, numbers: dict[Var, int]) -> Struct | None:
        """The form of a term whose arguments need no copying themselves; None for any other."""
        args: list[Term] = []
        for a in root.args:
            while type(a) is Var and a.ref is not None:
                a = a.ref
            if type(a) is Struct and not (a.ground and a.home is self):
                return None
            args.append(a)
        for i, a in enumerate(args):
            if type(a) is Var:
                args[i] = canonical_var(numbers.setdefault(a, len(numbers)))
        return self._make(root.functor, tuple(args))

    def _copy(self, root: Struct, numbers: dict[Var, int]) -> Struct:
        open_: list[tuple[Struct, list[Term]]] = [(root, [])]
        path = {id(root)} if not root.ground else set()
        visits = 0
        made: dict[int, Struct] = {}  # parts met after many others: a part may stand in many places
        while True:
            source, done = open_[-1]
            args = source.args
            n = len(args)
            descend: Struct | None = None
            while len(done) < n:
                a = args[len(done)]
                while type(a) is Var and a.ref is not None:
                    a = a.ref
                if type(a) is Var:
                    done.append(canonical_var(numbers.setdefault(a, len(numbers))))
                elif type(a) is Struct and not (a.ground and a.home is self):
                    known = made.get(id(a)) if made else None
                    if known is not None:
                        done.append(known)
                        continue
                    descend = a
                    break
                else:
                    done.append(a)
            if descend is not None:
                if not descend.ground:
                    if id(descend) in path:
                        raise ProgramError(
                            "a term contains itself (a variable was bound to a term it occurs in)",
                            hint="Program(..., occurs_check=True) makes such unifications fail",
                        )
                    path.add(id(descend))
                open_.append((descend, []))
                continue
            open_.pop()
            path.discard(id(source))
            result = self._make(source.functor, tuple(done))
            if not open_:
                return result
            visits += 1
            if visits > MANY:
                made[id(source)] = result
            open_[-1][1].append(result)

    def _make(self, functor: Functor, args: tuple[Term, ...]) -> Struct:
        key = (functor, args)
        found = self._terms.get(key)
        if found is None:
            ground = True
            for a in args:
                if type(a) is Var or (type(a) is Struct and not a.ground):
                    ground = False
                    break
            found = Struct(functor, args, ground)
            found.home = self
            found._hash = hash(key)
            self._terms[key] = found
        return found


def enter_goal(goal: Goal) -> tuple[Term, Frame]:
    """The leftmost atom over fresh run-time variables, and what each of the goal's variables is.

    Variables that the leftmost atom does not have cannot be bound by resolving it, and stand for
    themselves.
    """
    frame: Frame = [None] * goal.size
    atom = instantiate(goal.leftmost, frame)
    for i, value in enumerate(frame):
        if value is None:
            frame[i] = canonical_var(i)
    return atom, frame


def rename(goal: Goal) -> tuple[list[Term], list[Term]]:
    """Atoms and answer of a canonical goal over fresh run-time variables."""
    frame: Frame = [None] * goal.size
    return (
        [instantiate(a, frame) for a in goal.atoms],
        [instantiate(a, frame) for a in goal.answer],
    )
