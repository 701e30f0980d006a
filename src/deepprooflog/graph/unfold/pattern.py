"""Patterns: goals with the parts that nothing has looked at yet left open.

A resolution step looks at little of a goal. What it does not look at can be anything, so a step
found for one goal holds for every goal of the same *pattern* (explanation-based generalisation). A
pattern is a goal in which ground subterms are replaced by variables, its *holes*, and tensors by
slots numbered by first occurrence. An instance is a pattern with contents for holes and slots.

Holes are the pattern goal's answer, so that the ordinary step shows what became of each: a hole
that is bound, or made equal to another, was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from deepprooflog.logic.goal import Goal, Interner, rename
from deepprooflog.syntax.terms import Slot, Struct, Term, Var, canonical_var, deref


@dataclass(frozen=True, slots=True)
class Fill:
    """How to fill a pattern from an older one: what its slots and holes come from.

    A slot comes from an older slot (its number) or from a place: (hole, argument) of an older
    hole's content. A hole comes from an older hole (its number), from a place, or is built: a term
    over the older pattern's slots, with the canonical variable i for hole i.
    """

    slots: tuple[int | tuple[int, int], ...]
    holes: tuple[int | tuple[int, int] | Struct, ...]
    plain: bool = field(init=False, compare=False)  # all come from older slots and holes

    def __post_init__(self) -> None:
        plain = all(type(part) is int for part in (*self.slots, *self.holes))
        object.__setattr__(self, "plain", plain)


def generalise(atoms: Sequence[Term], interner: Interner) -> tuple[Goal, list[int], list[Term]]:
    """The pattern of a goal, with the slots and contents that make it the goal again.

    Every ground part of an argument becomes a hole, constants too.
    """
    maker = _Maker()
    done = [maker.atom(deref(a)) for a in atoms]
    goal = interner.goal(done, list(maker.holes.values()))
    return goal, list(maker.slots), [maker.contents[k] for k in maker.holes]


class _Maker:
    """Rebuilds atoms with holes and renumbered slots, each distinct content once."""

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}
        self.holes: dict[object, Var] = {}
        self.contents: dict[object, Term] = {}

    def slot(self, number: int) -> Slot:
        return Slot(self.slots.setdefault(number, len(self.slots)))

    def hole(self, key: object, content: Term) -> Var:
        var = self.holes.get(key)
        if var is None:
            var = self.holes[key] = Var()
            self.contents[key] = content
        return var

    def atom(self, atom: Term) -> Term:
        return rebuild(atom, self._part) if type(atom) is Struct else atom

    def _part(self, term: Term) -> Term | None:
        if type(term) is Slot:
            return self.slot(term.number)
        if type(term) is Struct:
            # Interned terms are equal exactly when they are one object.
            return self.hole(id(term), term) if term.ground else None
        return term if type(term) is Var else self.hole(object(), term)


def rebuild(root: Struct, part: Callable[[Term], Term | None]) -> Struct:
    """Copy a struct, asking `part` for each subterm below it; None means go on inside."""
    open_: list[tuple[Struct, list[Term]]] = [(root, [])]
    while True:
        source, done = open_[-1]
        descend: Struct | None = None
        while len(done) < len(source.args):
            a = deref(source.args[len(done)])
            new = part(a)
            if new is None:
                assert type(a) is Struct
                descend = a
                break
            done.append(new)
        if descend is not None:
            open_.append((descend, []))
            continue
        open_.pop()
        result = Struct(source.functor, tuple(done))
        if not open_:
            return result
        open_[-1][1].append(result)


def tops_of(
    opened: Sequence[tuple[int, bool]], slots: Sequence[int], contents: Sequence[Term]
) -> tuple[object, ...]:
    """What opening holes shows: of each its functor and its tensors, or all of it.

    A tensor is shown as the pattern's slot that holds it already, since tensors that are one are
    equal to a clause that compares them; else as the next slot after those of the pattern.
    """
    number = {s: i for i, s in enumerate(slots)}
    tops: list[object] = []
    for i, whole in opened:
        content = contents[i]
        if type(content) is Slot:
            tops.append(Slot(number.setdefault(content.number, len(number))))
        elif type(content) is not Struct or whole:
            tops.append(content)
        else:
            shown = [
                number.setdefault(a.number, len(number)) if type(a) is Slot else -1
                for a in content.args
            ]
            tops.append((content.functor, tuple(shown)))
    return tuple(tops)


def reveal(
    pattern: Goal,
    opened: Sequence[tuple[int, bool]],
    slots: Sequence[int],
    contents: Sequence[Term],
    interner: Interner,
) -> tuple[Goal, Fill]:
    """Open some holes of a pattern: the pattern that shows them, and how to fill it.

    `opened` lists holes and whether the whole of the content is needed. One level of a compound is
    shown otherwise: its arguments become holes of their own. `slots` and `contents` are those of
    one instance; the result holds for all with the same `tops_of`.
    """
    atoms, holes = rename(pattern)
    origin: dict[Var, int | tuple[int, int]] = {}
    for i, hole in enumerate(holes):
        assert type(hole) is Var
        origin[hole] = i
    number = {s: i for i, s in enumerate(slots)}
    places: dict[int, tuple[int, int]] = {}

    def shown(tensor: Slot, hole: int, argument: int) -> Slot:
        own = number.setdefault(tensor.number, len(number))
        if own >= len(slots):
            places.setdefault(own, (hole, argument))
        return Slot(own)

    for i, whole in opened:
        content = contents[i]
        hole = holes[i]
        assert type(hole) is Var
        if type(content) is Struct and not whole:
            args: list[Term] = []
            for j, a in enumerate(content.args):
                if type(a) is Slot:
                    args.append(shown(a, i, j))
                else:
                    var = Var()
                    origin[var] = (i, j)
                    args.append(var)
            hole.ref = Struct(content.functor, tuple(args))
        elif type(content) is Slot:
            hole.ref = shown(content, i, -1)
        elif type(content) is Struct and slots_in(content):
            raise WholeTensors
        else:
            hole.ref = content
    order: dict[Var, None] = {}
    met: dict[int, int] = {}

    def part(term: Term) -> Term | None:
        if type(term) is Slot:
            return Slot(met.setdefault(term.number, len(met)))
        if type(term) is Var:
            if term in origin:
                order[term] = None
            return term
        # A compound without variables is entered too: its tensors are numbered like all others.
        return None if type(term) is Struct else term

    done = [rebuild(a, part) if type(a) is Struct else a for a in (deref(x) for x in atoms)]
    goal = interner.goal(done, list(order))
    fill = Fill(
        tuple([places.get(s, s) for s in met]),
        tuple([origin[v] for v in order]),
    )
    return goal, fill


class WholeTensors(Exception):
    """A builtin needs all of a term that holds tensors: no pattern helps there."""


def slots_in(term: Term) -> list[int]:
    """The slot numbers in a term, in order, repeats included."""
    found: list[int] = []
    stack = [term]
    while stack:
        t = deref(stack.pop())
        if type(t) is Slot:
            found.append(t.number)
        elif type(t) is Struct:
            stack.extend(reversed(t.args))
    return found


def leave(goal: Goal, holes: Sequence[Var], interner: Interner) -> tuple[Goal, Fill]:
    """The pattern of a goal met inside a pattern, and how to fill it from there.

    `holes` are the older pattern's holes as they stand in `goal` (over its canonical variables).
    Compounds without a real variable are built into new holes.
    """
    number = {v: i for i, v in enumerate(holes)}
    slots: dict[int, int] = {}
    order: dict[object, Var] = {}
    source: dict[object, int | Struct] = {}
    closed = _closed_terms(goal.atoms, number)
    fresh: dict[Var, Var] = {}

    def part(term: Term) -> Term | None:
        if type(term) is Slot:
            return Slot(slots.setdefault(term.number, len(slots)))
        if type(term) is Var:
            i = number.get(term)
            if i is None:
                return fresh.setdefault(term, Var())
            source.setdefault(i, i)
            return order.setdefault(i, Var())
        if type(term) is Struct:
            if id(term) not in closed:
                return None
            key = id(term)
            source.setdefault(key, _over_holes(term, number, interner))
            return order.setdefault(key, Var())
        return term

    done = [rebuild(a, part) if type(a) is Struct else a for a in goal.atoms]
    pattern = interner.goal(done, list(order.values()))
    return pattern, Fill(tuple(slots), tuple([source[k] for k in order]))


def _closed_terms(atoms: Sequence[Term], number: dict[Var, int]) -> set[int]:
    """Compounds below the atoms in which every variable is a hole."""
    closed: set[int] = set()
    for atom in atoms:
        if type(atom) is not Struct:
            continue
        stack: list[tuple[Struct, bool]] = [(atom, False)]
        while stack:
            t, seen = stack.pop()
            if not seen:
                stack.append((t, True))
                stack.extend((a, False) for a in t.args if type(a) is Struct)
                continue
            if t.ground or all(
                id(a) in closed if type(a) is Struct else type(a) is not Var or a in number
                for a in t.args
            ):
                closed.add(id(t))
    return closed


def _over_holes(term: Struct, number: dict[Var, int], interner: Interner) -> Struct:
    def part(t: Term) -> Term | None:
        if type(t) is Var:
            return canonical_var(number[t])
        return None if type(t) is Struct and not t.ground else t

    return term if term.ground else rebuild(term, part)
