"""Random programs with modes: p(In…, Out…) is called with In ground and leaves Out ground.

They hold arithmetic, lists, cut, negation, conditionals and findall, and end on every query:
recursion is only on a list or a counter that shrinks, other calls are only to predicates written
earlier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from programs.cases import Case, Dice, Draw, Query

INT, NAT, LIST, TERM = "int", "nat", "list", "term"

_INTS = ["0", "1", "2", "3", "5", "7", "-1", "-2", "-3", "-7", "10", "100000000000000000000"]
_NATS = ["0", "1", "2", "3"]
_LISTS = ["[]", "[1]", "[2,1]", "[1,2,3]", "[3,-1,3]", "[0,5]", "[2,2,1,4]"]
_TERMS = ["a", "b", "c", "f(a)", "f(b,1)", "[x]", "'B c'", "a-b", "g(f(c))", "[]", "1.5", "[a|b]"]
LITERALS = {INT: _INTS, NAT: _NATS, LIST: _LISTS, TERM: _TERMS}
_BINARY = ["+", "-", "*", "//", "mod", "rem", "div", "min", "max"]
_COMPARE = ["<", ">", "=<", ">=", "=:=", "=\\="]
_ORDER = ["@<", "@>", "@=<", "==", "\\==", "=", "\\="]


@dataclass(frozen=True)
class Signature:
    """A generated predicate: the types of what it is given and of what it gives."""

    name: str
    ins: tuple[str, ...]
    outs: tuple[str, ...]


@dataclass
class Scope:
    """The variables of one clause that are surely ground at this point, by type."""

    known: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"V{self.count}"

    def learn(self, kind: str, name: str) -> None:
        self.known.setdefault(kind, []).append(name)

    def mark(self) -> dict[str, int]:
        return {kind: len(names) for kind, names in self.known.items()}

    def forget(self, mark: dict[str, int]) -> None:
        for kind, names in self.known.items():
            del names[mark.get(kind, 0) :]


@dataclass(frozen=True)
class Writer(Dice):
    """Draws goals; every method returns Prolog text."""

    library: list[Signature] = field(default_factory=list)

    def value(self, kind: str, scope: Scope) -> str:
        """A literal or a known variable of this type."""
        known = scope.known.get(kind, [])
        if known and self.below(3):
            return self.pick(known)
        if kind == LIST and known and not self.below(3):
            return f"[{self.value(INT, scope)}|{self.pick(known)}]"
        return self.pick(LITERALS[kind])

    def arithmetic(self, scope: Scope, depth: int = 2) -> str:
        """An expression; rarely one that raises a type or instantiation error.

        Never two errors in one expression: which comes first is not settled by ISO.
        """
        wrong = {17: "foo", 29: "Unbound"}.get(self.below(60))
        return f"{self.value(INT, scope)} + {wrong}" if wrong else self.expression(scope, depth)

    def expression(self, scope: Scope, depth: int) -> str:
        if depth == 0 or not self.below(3):
            return self.value(INT, scope)
        operator = self.pick(_BINARY)
        left, right = self.expression(scope, depth - 1), self.expression(scope, depth - 1)
        if operator in ("min", "max"):
            return f"{operator}({left},{right})"
        return f"({left} {operator} {right})"

    def test(self, scope: Scope, depth: int) -> str:
        """A goal that binds nothing outside itself."""
        choice = self.below(9)
        if choice < 3:
            left, right = self.arithmetic(scope, 1), self.value(INT, scope)
            return f"{left} {self.pick(_COMPARE)} {right}"
        if choice < 5:
            kind = self.pick([INT, LIST, TERM])
            return f"{self.value(kind, scope)} {self.pick(_ORDER)} {self.value(kind, scope)}"
        if choice == 5:
            return f"memberchk({self.value(INT, scope)}, {self.value(LIST, scope)})"
        if depth == 0:
            return "true"
        if choice == 6:
            return f"\\+ ({self.local(scope, depth)})"
        if choice == 7:
            return f"forall({self.local(scope, depth)}, {self.test(scope, 0)})"
        return f"once(({self.local(scope, depth)}))"

    def local(self, scope: Scope, depth: int) -> str:
        """A goal whose variables are not used after it."""
        mark = scope.mark()
        text = self.goal(scope, depth - 1)
        if not self.below(3):
            text = f"({text}, {self.goal(scope, depth - 1)})"
        scope.forget(mark)
        return text

    def goal(self, scope: Scope, depth: int) -> str:
        """A goal that may make a new variable known."""
        choice = self.below(10)
        if choice == 5:
            return self.test(scope, depth)
        if choice < 4:
            return self.call(scope) if self.library else self.evaluate(scope)
        if choice < 7:
            return self.on_lists(scope)
        if choice == 7 or depth <= 0:
            return self.evaluate(scope)
        return self.control(scope, depth) if choice < 9 else self.collect(scope, depth)

    def evaluate(self, scope: Scope) -> str:
        expression = self.arithmetic(scope)
        name = scope.fresh()
        scope.learn(INT, name)
        return f"{name} is {expression}"

    def call(self, scope: Scope) -> str:
        signature = self.pick(self.library)
        ins = [self.value(kind, scope) for kind in signature.ins]
        outs = []
        for kind in signature.outs:
            if self.below(6) == 5:
                outs.append(self.value(kind, scope))
            else:
                outs.append(scope.fresh())
        for kind, name in zip(signature.outs, outs, strict=True):
            if name.startswith("V") and name not in scope.known.get(kind, []):
                scope.learn(kind, name)
        return f"{signature.name}({', '.join(ins + outs)})"

    def on_lists(self, scope: Scope) -> str:
        given = self.value(LIST, scope)
        template, kinds = self.pick(_LIST_GOALS)
        new = [scope.fresh() for _ in kinds]
        text = template.format(*new, given=given, item=self.value(INT, scope))
        for kind, name in zip(kinds, new, strict=True):
            scope.learn(kind, name)
        return text

    def control(self, scope: Scope, depth: int) -> str:
        """A disjunction or conditional whose branches bind the same new variable."""
        kind = self.pick([INT, LIST, TERM])
        mark = scope.mark()
        branches = []
        name = scope.fresh()
        shape = self.below(4)
        condition = self.test(scope, depth - 1) if shape else ""
        if shape == 1:
            condition = f"member(_, {self.value(LIST, scope)}), {condition}"
        for _ in range(2):
            first = self.goal(scope, depth - 1) if self.below(2) else "true"
            branches.append(f"{first}, {name} = {self.value(kind, scope)}")
            scope.forget(mark)
        scope.learn(kind, name)
        if shape == 0:
            return f"({branches[0]} ; {branches[1]})"
        arrow = "*->" if shape == 1 else "->"
        return f"({condition} {arrow} {branches[0]} ; {branches[1]})"

    def collect(self, scope: Scope, depth: int) -> str:
        mark = scope.mark()
        goal = self.goal(scope, depth - 1)
        wanted = self.value(INT, scope)
        scope.forget(mark)
        kind, template = self.pick(_COLLECT)
        # SWI-Prolog gives max(t) for a bound t even without answers: each gets a variable here.
        each, name = scope.fresh(), scope.fresh()
        scope.learn(kind, name)
        return template.format(each, f"({goal}, {each} = {wanted})", name)


_LIST_GOALS: list[tuple[str, list[str]]] = [
    ("member({0}, {given})", [INT]),
    ("append({0}, {1}, {given})", [LIST, LIST]),
    ("append({given}, [{item}], {0})", [LIST]),
    ("select({0}, {given}, {1})", [INT, LIST]),
    ("nth0({0}, {given}, {1})", [INT, INT]),
    ("nth1({0}, {given}, {1})", [INT, INT]),
    ("length({given}, {0})", [INT]),
    ("reverse({given}, {0})", [LIST]),
    ("msort({given}, {0})", [LIST]),
    ("sort(0, @>=, {given}, {0})", [LIST]),
    ("sort({given}, {0})", [LIST]),
    ("sum_list({given}, {0})", [INT]),
    ("max_list({given}, {0})", [INT]),
    ("between(1, 3, {0})", [INT]),
    ("[{0}|{1}] = {given}", [INT, LIST]),
    ("{given} = [_,{0}|_]", [INT]),
]
_COLLECT = [
    (LIST, "findall({0}, {1}, {2})"),
    (INT, "aggregate_all(count, {1}, {2})"),
    (INT, "aggregate_all(sum({0}), {1}, {2})"),
    (INT, "aggregate_all(max({0}), {1}, {2})"),
    (LIST, "aggregate_all(bag({0}), {1}, {2})"),
]


def _predicate(writer: Writer, name: str) -> tuple[Signature, list[str]]:
    recursive = writer.below(3) == 0
    first = [writer.pick([LIST, NAT])] if recursive else []
    ins = tuple(first + [writer.pick([INT, LIST, TERM]) for _ in range(1 + writer.below(2))])
    outs = tuple(writer.pick([INT, LIST, TERM]) for _ in range(1 + writer.below(2)))
    signature = Signature(name, ins, outs)
    if recursive:
        return signature, _recursion(writer, signature)
    return signature, [_clause(writer, signature) for _ in range(1 + writer.below(3))]


def _clause(writer: Writer, signature: Signature) -> str:
    scope = Scope()
    head = []
    for kind in signature.ins:
        if writer.below(5) == 3:
            head.append(writer.pick(LITERALS[kind]))
        else:
            head.append(scope.fresh())
            scope.learn(kind, head[-1])
    return _finish(writer, signature, head, [], scope)


def _finish(
    writer: Writer, signature: Signature, head: list[str], body: list[str], scope: Scope
) -> str:
    """Append goals, perhaps a cut, and values for the outputs."""
    for _ in range(writer.below(4)):
        body.append(writer.goal(scope, 2))
        if writer.below(5) == 4:
            body.append("!")
    outs = [writer.value(kind, scope) for kind in signature.outs]
    text = f"{signature.name}({', '.join(head + outs)})"
    return f"{text} :- {', '.join(body)}." if body else f"{text}."


def _recursion(writer: Writer, signature: Signature) -> list[str]:
    base_scope = Scope()
    others = [base_scope.fresh() for _ in signature.ins[1:]]
    for kind, name in zip(signature.ins[1:], others, strict=True):
        base_scope.learn(kind, name)
    on_list = signature.ins[0] == LIST
    base = _finish(writer, signature, ["[]" if on_list else "0", *others], [], base_scope)
    scope = Scope()
    body: list[str] = []
    if on_list:
        scope.learn(INT, "H")
        first, smaller = "[H|T]", "T"
    else:
        scope.learn(INT, "N")
        first, smaller = "N", "M"
        body = ["N > 0", "M is N - 1"]
    rest = [scope.fresh() for _ in signature.ins[1:]]
    for kind, name in zip(signature.ins[1:], rest, strict=True):
        scope.learn(kind, name)
    if writer.below(2):
        body.append(writer.goal(scope, 1))
    outs = [scope.fresh() for _ in signature.outs]
    given = [writer.value(kind, scope) for kind in signature.ins[1:]]
    body.append(f"{signature.name}({', '.join([smaller, *given, *outs])})")
    for kind, name in zip(signature.outs, outs, strict=True):
        scope.learn(kind, name)
    return [base, _finish(writer, signature, [first, *rest], body, scope)]


@st.composite
def moded_cases(draw: Draw, queries: int = 5) -> Case:
    """Programs with arithmetic, cut, negation, conditionals and findall."""
    writer = Writer(draw)
    clauses: list[str] = []
    for i in range(2 + writer.below(3)):
        signature, text = _predicate(writer, f"p{i}")
        clauses += text
        writer.library.append(signature)
    asked = []
    for _ in range(queries):
        signature = writer.library[-1 - writer.below(2)]
        ins = [writer.pick(LITERALS[kind]) for kind in signature.ins]
        outs = [
            f"R{i}" if writer.below(9) != 4 else writer.pick(LITERALS[kind])
            for i, kind in enumerate(signature.outs)
        ]
        names = tuple(out for out in outs if out.startswith("R"))
        asked.append(Query(f"{signature.name}({', '.join(ins + outs)})", names))
    return Case("\n".join(clauses) + "\n", tuple(asked))
