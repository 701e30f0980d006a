"""Random calls of builtin and library predicates, with arguments bound, partial, free or wrong.

Left out is where SWI-Prolog is known to leave ISO: evaluation inside what is no function, powers
of floats or with negative exponents, codes that are no characters, the order of variables, and
calls with two errors, whose order is open.
"""

from __future__ import annotations

from hypothesis import strategies as st

from programs.cases import Dice, Draw, Query

_KINDS: dict[str, list[str]] = {
    "int": ["0", "1", "2", "3", "-1", "7", "X", "N"],
    "list": ["[]", "[a,b,a]", "[3,1,2]", "[X,Y]", "[b-1,a-2,b-0]", "L", "[1.0,1,a,f(a),0.5]"],
    "ground": [
        "[]",
        "[a,b,a]",
        "[3,1,2]",
        "[b-1,a-2,b-0]",
        "[1.0,1,a,f(a),0.5]",
        "[f(b),a,f(a,a)]",
    ],
    "ints": ["[]", "[1]", "[3,1,2]", "[-1,5,5]", "[1.5,2]"],
    "pairs": ["[]", "[b-1,a-2,b-0]", "[x-y]"],
    "any": ["a", "b", "1", "f(a)", "X", "Y", "[]", "[a]", "g(X,b)", "1.0", "Z"],
    "atom": ["abc", "a", "'hello world'", "'12'", "X"],
    "callable": ["true", "fail", "member(X,[a,b])", "X=a", "X=Y", "\\+ a=a", "(X=1;X=2)", "!"],
    "number": ["0", "1", "-7", "2.5", "12", "3", "100000000000000000000"],
    "chars": ["[a,b]", "['1','2']", "X", "[]", "[a|_]"],
    "var": ["X", "Y", "Z"],
    "code": ["97", "65", "32", "955"],
    "codes": ["[49,50]", "[48]", "[45,55]", "[97]"],
    "natural": ["0", "1", "2", "5", "N"],
    "whole": ["0", "1", "-7", "12", "3", "100000000000000000000"],
    "operand": ["0", "-7", "12.0", "a", "X", "1 + foo", "2 * 6", "7 // 0"],
    "name": ["a", "f", "1", "1.5", "X", "[]"],
    "divisor": ["1", "2", "-2", "3", "-3", "7", "0"],
}
_CALLS = [
    ("append({}, {}, {})", "list list list"),
    ("member({}, {})", "any list"),
    ("memberchk({}, {})", "name list"),
    ("nth0({}, {}, {})", "int list any"),
    ("nth1({}, {}, {})", "int list any"),
    ("reverse({}, {})", "ground list"),
    ("select({}, {}, {})", "any list list"),
    ("length({}, {})", "list int"),
    ("between({}, {}, {})", "divisor number int"),
    ("msort({}, {})", "ground var"),
    ("sort({}, {})", "ground var"),
    ("sort(0, @>=, {}, {})", "ground var"),
    ("sort(1, @=<, {}, {})", "pairs var"),
    ("sort(1, @<, {}, {})", "pairs var"),
    ("sort(2, @>, {}, {})", "pairs var"),
    ("sum_list({}, {})", "ints var"),
    ("max_list({}, {})", "ints var"),
    ("functor({}, {}, {})", "any name int"),
    ("arg({}, {}, {})", "int any any"),
    ("{} =.. {}", "any list"),
    ("copy_term({}, {})", "any any"),
    ("{} = {}", "any any"),
    ("{} \\= {}", "any any"),
    ("{} == {}", "any any"),
    ("{} \\== {}", "any any"),
    ("compare({}, {}, {})", "var ground ground"),
    ("{} @< {}", "ground ground"),
    ("atom_length({}, {})", "atom natural"),
    ("atom_chars({}, {})", "atom chars"),
    ("atom_codes({}, {})", "atom var"),
    ("char_code({}, {})", "var code"),
    ("atom_number({}, {})", "atom var"),
    ("number_codes({}, {})", "var codes"),
    ("atom_concat({}, {}, {})", "var var atom"),
    ("sub_atom({}, {}, {}, _, {})", "atom int int var"),
    ("findall({}, {}, {})", "any callable var"),
    ("bagof({}, {}, {})", "any callable var"),
    ("setof({}, {}, {})", "any callable var"),
    ("forall({}, {})", "callable callable"),
    ("once({})", "callable"),
    ("call({})", "callable"),
    ("({}, {})", "callable callable"),
    ("({} ; {})", "callable callable"),
    ("({} -> {} ; {})", "callable callable callable"),
    ("({} *-> {} ; {})", "callable callable callable"),
    ("\\+ {}", "callable"),
    ("aggregate_all(count, {}, {})", "callable var"),
    ("aggregate_all(bag({}), {}, {})", "any callable var"),
    ("maplist(=({}), {})", "any list"),
    ("maplist(=, {}, {})", "ground list"),
    ("X is {} // {}", "number divisor"),
    ("X is {} mod {}", "number divisor"),
    ("X is {} rem {}", "number divisor"),
    ("X is {} div {}", "number divisor"),
    ("X is {} - {} * {}", "number number number"),
    ("X is max({}, {}) + min({}, {})", "number number int int"),
    ("X is abs({}) - sign({})", "number number"),
    ("X is {} ** {}", "divisor divisor"),
    ("X is {} ^ {}", "whole natural"),
    ("X is {} << {}", "number int"),
    ("X is {} >> {}", "number int"),
    ("X is {} /\\ {}", "number number"),
    ("X is truncate({} * 1.5) + round({} * 0.5)", "divisor divisor"),
    ("X is floor({} / 2.0) + ceiling({} / 2.0)", "divisor divisor"),
    ("{} =:= {}", "number operand"),
    ("{} < {}", "number operand"),
    ("atom({})", "any"),
    ("number({})", "any"),
    ("atomic({})", "any"),
    ("callable({})", "any"),
    ("is_list({})", "list"),
    ("ground({})", "any"),
    ("integer({})", "any"),
    ("float({})", "any"),
]
_VARIABLES = ["X", "Y", "Z", "N", "L"]


@st.composite
def library_queries(draw: Draw) -> Query:
    """One call, with all its variables shown."""
    dice = Dice(draw)
    template, kinds = dice.pick(_CALLS)
    goal = template.format(*(dice.pick(_KINDS[kind]) for kind in kinds.split()))
    # Listed again at the end, so that every name is there and its order is known.
    return Query(f"{goal}, [{','.join(_VARIABLES)}] = _All", tuple(_in_order(goal)))


def _in_order(goal: str) -> list[str]:
    words = "".join(c if c.isalnum() or c == "_" else " " for c in goal).split()
    return list(dict.fromkeys([w for w in words if w in _VARIABLES] + _VARIABLES))
