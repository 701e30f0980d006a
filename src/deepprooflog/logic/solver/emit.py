"""Generated Python: lines, constants and the code that matches and builds terms.

Clause variable i is the Python local `v{i}`. `seen` holds the locals that have a value at the
current point of the code; whatever is not in it is met for the first time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var

MAX_DEPTH = 30
MAX_LINES = 2000
# A head's structures are matched inline this deep; below that they are built and unified.
MATCH_DEPTH = 4
SMALL = 1 << 30


class TooBigError(Exception):
    """The clause is not worth compiling, or would exceed what Python's compiler takes."""


class Function:
    """A Python function being written."""

    __slots__ = ("indent", "lines", "name", "parameters", "seen")

    def __init__(self, name: str, parameters: str, seen: set[str]) -> None:
        self.name = name
        self.parameters = parameters
        self.seen = seen
        self.indent = 1
        self.lines: list[tuple[str, Term | None]] = []


class Writer:
    """All functions of one clause, their constants, and the goal that each line belongs to."""

    def __init__(self, counts: dict[int, int]) -> None:
        self.counts = counts
        self.constants: dict[str, Any] = {}
        self.functions: list[Function] = []
        self.goal: Term | None = None
        self._names: dict[tuple[type, Any], str] = {}
        self._serial = 0
        self._stack: list[Function] = []

    @property
    def seen(self) -> set[str]:
        return self._stack[-1].seen

    @seen.setter
    def seen(self, names: set[str]) -> None:
        self._stack[-1].seen = names

    def begin(self, name: str, parameters: str, seen: Iterable[str]) -> None:
        self._stack.append(Function(name, parameters, set(seen)))

    def end(self) -> None:
        self.functions.append(self._stack.pop())

    def emit(self, text: str) -> None:
        function = self._stack[-1]
        if len(function.lines) > MAX_LINES or function.indent > MAX_DEPTH:
            raise TooBigError
        function.lines.append(("    " * function.indent + text, self.goal))

    def shift(self, by: int) -> None:
        self._stack[-1].indent += by

    def fresh(self, prefix: str) -> str:
        self._serial += 1
        return f"{prefix}{self._serial}"

    def constant(self, prefix: str, value: Any) -> str:
        """A global of the generated code that holds `value`."""
        key = (type(value), id(value) if isinstance(value, Struct) else value)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self.fresh(prefix)
            self.constants[name] = value
        return name

    def source(self) -> tuple[str, dict[int, Term]]:
        """The text of all functions, and the goal of each line that has one."""
        text: list[str] = []
        goals: dict[int, Term] = {}
        for function in self.functions:
            text.append(f"def {function.name}({function.parameters}):")
            body = function.lines
            for local in ("trail", "choices"):
                if any(local in line for line, _ in body):
                    text.append(f"    {local} = m.{local}")
            for line, goal in body:
                text.append(line)
                if goal is not None:
                    goals[len(text)] = goal
        return "\n".join(text), goals


def expression(w: Writer, term: Term, depth: int = 0) -> str:
    """A Python expression that builds the term; variables met first are made fresh."""
    if type(term) is Var:
        name = f"v{term.index}"
        if name not in w.seen:
            if w.counts.get(term.index, 2) == 1:
                return "Var()"
            w.emit(f"{name} = Var()")
            w.seen.add(name)
        return name
    if type(term) is int and -SMALL < term < SMALL:
        return repr(term)
    if type(term) is Struct and not term.ground:
        if depth > MAX_DEPTH:
            raise TooBigError
        args = arguments(w, term.args, depth + 1)
        return f"Struct({w.constant('F', term.functor)}, {args})"
    return w.constant("K", term)


def arguments(w: Writer, terms: Sequence[Term], depth: int = 0, extra: str = "") -> str:
    """A tuple display of the terms."""
    inside = "".join([expression(w, t, depth) + ", " for t in terms])
    return f"({inside}{extra})"


def dereference(w: Writer, name: str) -> None:
    w.emit(f"while type({name}) is Var and (r := {name}.ref) is not None: {name} = r")


def unpack(w: Writer, source: str, patterns: Sequence[Term], fail: str, depth: int = 0) -> None:
    """Take a tuple apart and match each part with its pattern."""
    if not patterns:
        return
    names: list[str] = []
    todo: list[tuple[str, Term]] = []
    for pattern in patterns:
        if type(pattern) is Var and f"v{pattern.index}" not in w.seen:
            if w.counts.get(pattern.index, 2) == 1:
                names.append("_")
                continue
            names.append(f"v{pattern.index}")
            w.seen.add(names[-1])
        else:
            names.append(w.fresh("x"))
            todo.append((names[-1], pattern))
    w.emit(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {source}")
    for name, pattern in todo:
        match(w, name, pattern, fail, depth)


def match(w: Writer, name: str, pattern: Term, fail: str, depth: int = 0) -> None:
    """Unify the value of a local with a pattern; `fail` is the statement for when they differ."""
    if type(pattern) is Var:
        same(w, expression(w, pattern), name, fail)
    elif type(pattern) is Atom:
        constant = w.constant("K", pattern)
        w.emit(f"if {name} is not {constant}:")
        w.shift(1)
        dereference(w, name)
        w.emit(f"if type({name}) is Var: {name}.ref = {constant}; trail.append({name})")
        w.emit(f"elif {name} is not {constant}: {fail}")
        w.shift(-1)
    elif type(pattern) is int:
        value = expression(w, pattern)
        dereference(w, name)
        w.emit(f"if type({name}) is Var: {name}.ref = {value}; trail.append({name})")
        w.emit(f"elif type({name}) is not int or {name} != {value}: {fail}")
    elif type(pattern) is Struct and not pattern.ground and depth < MATCH_DEPTH:
        _match_struct(w, name, pattern, fail, depth)
    else:
        w.emit(f"if not unify({expression(w, pattern)}, {name}, trail): {fail}")


def same(w: Writer, a: str, b: str, fail: str) -> None:
    """Unify the values of two locals; the common cases without a call."""
    dereference(w, a)
    dereference(w, b)
    w.emit(f"if {a} is not {b}:")
    w.shift(1)
    w.emit(f"if type({b}) is Var: {b}.ref = {a}; trail.append({b})")
    w.emit(f"elif type({a}) is Var: {a}.ref = {b}; trail.append({a})")
    w.emit(f"elif not unify({a}, {b}, trail): {fail}")
    w.shift(-1)


def _match_struct(w: Writer, name: str, pattern: Struct, fail: str, depth: int) -> None:
    functor: Functor = pattern.functor
    before = set(w.seen)
    dereference(w, name)
    w.emit(f"if type({name}) is Struct:")
    w.shift(1)
    w.emit(f"if {name}.functor is not {w.constant('F', functor)}: {fail}")
    unpack(w, f"{name}.args", pattern.args, fail, depth + 1)
    w.shift(-1)
    w.emit(f"elif type({name}) is Var:")
    w.shift(1)
    w.seen = before
    built = expression(w, pattern)
    w.emit(f"{name}.ref = {built}; trail.append({name})")
    w.shift(-1)
    w.emit(f"else: {fail}")


def variable_counts(terms: Iterable[Term]) -> dict[int, int]:
    """How often each variable occurs."""
    counts: dict[int, int] = {}
    stack = list(terms)
    while stack:
        t = stack.pop()
        if type(t) is Var:
            counts[t.index] = counts.get(t.index, 0) + 1
        elif type(t) is Struct and not t.ground:
            stack.extend(t.args)
    return counts
