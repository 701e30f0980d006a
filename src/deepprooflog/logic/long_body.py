"""Long bodies in pieces: a goal carries the first atoms of a long body and a note of the rest.

    p :- B₁, …, B₁₆₀₀        gives the goal        ← B₁, …, B₃₂, rest(number, V₁, …, Vₖ)

A step writes down the whole goal it leads to, so a body of n atoms would cost n² / 2 of them. The
note names the piece that follows, and V, the variables that the piece (or a later one) shares with
what stands before it. A note is opened as soon as it stands leftmost: no goal begins with one, and
no step is counted for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from deepprooflog.logic.clause import Clause, Frame, instantiate
from deepprooflog.syntax.terms import Functor, Struct, Term, Var, variables

REST = "$rest of a clause"

# Atoms in a piece, and the length at which a body is taken in pieces.
PIECE = 32
LONG = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """Some atoms of a clause's body, over its variables, and the number of what follows them."""

    atoms: tuple[Term, ...]
    size: int  # variables of the clause
    shared: tuple[int, ...]  # those that its note hands over
    after: int | None
    length: int  # atoms from here to the end of the body


@dataclass
class Pieces:
    """The pieces of the clauses met so far, by number."""

    all: list[Piece] = field(default_factory=list)
    first: dict[int, tuple[Clause, int]] = field(default_factory=dict)

    def split(self, clause: Clause, body: Sequence[Term]) -> list[Term]:
        """A long body, an instance of the clause's, as its first piece and a note of the rest."""
        known = self.first.get(id(clause))
        if known is None:
            # The entry keeps the clause alive, so that its id stays its own.
            known = self.first[id(clause)] = (clause, self._cut_up(clause))
        number = known[1]
        shared = self.all[number].shared
        values = _values(clause.body[PIECE:], body[PIECE:], set(shared))
        return [*body[:PIECE], _note(number, [values[i] for i in shared])]

    def open(self, note: Struct) -> list[Term]:
        """The atoms of the piece that a note stands for, and a note of what follows them."""
        number = note.args[0]
        assert type(number) is int
        piece = self.all[number]
        frame: Frame = [None] * piece.size
        for i, value in zip(piece.shared, note.args[1:], strict=True):
            frame[i] = value
        atoms = [instantiate(a, frame) for a in piece.atoms]
        if piece.after is not None:
            values = [frame[i] for i in self.all[piece.after].shared]
            atoms.append(_note(piece.after, [v for v in values if v is not None]))
        return atoms

    def length(self, atoms: Sequence[Term]) -> int:
        """How many atoms these are when every note is opened."""
        count = len(atoms)
        if self.all:
            for atom in atoms:
                if is_note(atom):
                    number = atom.args[0]
                    assert type(number) is int
                    count += self.all[number].length - 1
        return count

    def _cut_up(self, clause: Clause) -> int:
        """Number the pieces of a clause's body, all but the first; the number of the second."""
        body = clause.body
        begins = range(0, len(body), PIECE)
        own = [_indices(body[i : i + PIECE]) for i in begins]
        met = [_indices((clause.head,))]
        for indices in own:
            met.append(met[-1] | indices)
        after: int | None = None
        used: set[int] = set()
        for i in reversed(range(1, len(begins))):
            begin = begins[i]
            used |= own[i]
            shared = tuple(sorted(used & met[i]))
            atoms = body[begin : begin + PIECE]
            self.all.append(Piece(atoms, clause.size, shared, after, len(body) - begin))
            after = len(self.all) - 1
        assert after is not None
        return after


def is_note(atom: Term) -> TypeGuard[Struct]:
    """True for the note of a rest."""
    return type(atom) is Struct and atom.functor.name == REST


def _note(number: int, values: Sequence[Term]) -> Struct:
    return Struct(Functor(REST, 1 + len(values)), (number, *values))


def _indices(terms: Sequence[Term]) -> set[int]:
    return {v.index for v in variables(*terms)}


def _values(patterns: Sequence[Term], terms: Sequence[Term], wanted: set[int]) -> dict[int, Term]:
    """What some of a clause's variables stand for in an instance of its terms."""
    values: dict[int, Term] = {}
    stack = list(zip(reversed(patterns), reversed(terms), strict=True))
    while stack and len(values) < len(wanted):
        pattern, term = stack.pop()
        if type(pattern) is Var:
            if pattern.index in wanted:
                values[pattern.index] = term
        elif type(pattern) is Struct and not pattern.ground:
            assert type(term) is Struct
            stack.extend(zip(pattern.args, term.args, strict=True))
    return values
