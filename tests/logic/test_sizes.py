"""What a builtin builds is refused by its size before it begins, and otherwise right."""

from __future__ import annotations

import math
import random

import pytest

import deepprooflog as dpl
from deepprooflog.logic.limits import room
from deepprooflog.logic.limits.watch import watched
from deepprooflog.logic.solver.arithmetic import BINARY
from deepprooflog.syntax.numerals import MOST_DIGITS, format_integer, parse_integer
from deepprooflog.syntax.terms import Functor

EMPTY = dpl.Program("")

REFUSED = (
    "X is 7 ** (2 ** 28)",
    "X is 2 ** (2 ** 60)",
    "X is 1 << (1 << 60)",
    "X is 3 ** (2 ** 20), Y is X ** 20",
    "X is (1 << 20000000 - 1) // (1 << 10000000 + 1)",
    "X is gcd(1 << 2000000 - 1, 1 << 1900000 + 1)",
    "X is lcm(1 << 2000000 - 1, 1 << 1900000 + 1)",
    "X is (1 << 20000000 - 1) mod (1 << 10000000 + 1)",
    "X is (1 << 20000000 - 1) rem (1 << 10000000 + 1)",
    "X is (1 << 20000000 - 1) / (1 << 10000000 + 1)",
    "X is 1 << 100000000, write(X)",
    "length(L, 1000000000000)",
    "functor(T, f, 1000000000000)",
    "nth0(1000000000000, L, x)",
    "nth1(1000000000000, L, x)",
    "numlist(1, 1000000000000, L)",
    "tab(1000000000000)",
)


@pytest.mark.parametrize("goal", REFUSED)
def test_too_large_is_a_resource_error(goal: str) -> None:
    """At once, and `catch/3` takes it."""
    with pytest.raises(dpl.PrologError, match="resource_error") as caught:
        list(dpl.solve(EMPTY, goal))
    assert caught.value.hint is not None
    caught_by = f"catch(({goal}), error(resource_error(What), _), true)"
    (answer,) = [a["What"] for a in dpl.solve(EMPTY, caught_by)]
    assert answer in ("memory", "time")


@pytest.mark.parametrize("name", ["*", "//", "div", "mod", "rem", "gcd", "lcm", "<<", ">>"])
def test_long_integers_are_pythons(name: str) -> None:
    """Where they are not refused, results are exact."""
    meant = {
        "*": lambda x, y: x * y,
        "//": lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
        "div": lambda x, y: x // y,
        "mod": lambda x, y: x % y,
        "rem": lambda x, y: (1 if x > 0 else -1) * (abs(x) % abs(y)),
        "gcd": math.gcd,
        "lcm": math.lcm,
        "<<": lambda x, y: x << abs(y) % 5000,
        ">>": lambda x, y: x >> abs(y) % 5000,
    }[name]
    rng = random.Random(name)
    for _ in range(60):
        x, y = (rng.choice((1, -1)) * (rng.getrandbits(rng.randrange(1, 60_000)) | 1) for _ in "xy")
        shift = name in ("<<", ">>")
        given = BINARY[Functor(name, 2)](x, abs(y) % 5000 if shift else y)
        assert given == meant(x, y)


@pytest.mark.parametrize(("x", "y"), [(2, 5000), (-2, 4999), (3, 3000), (-7, 2001), (1, 10**9)])
def test_powers_are_pythons(x: int, y: int) -> None:
    assert BINARY[Functor("**", 2)](x, y) == pow(x, y)
    assert BINARY[Functor("^", 2)](x, y) == pow(x, y)


def test_long_numbers_are_written_and_read() -> None:
    """By halves, whatever their length and sign; beyond a length they are refused."""
    rng = random.Random(0)
    for bits in (1, 599, 1799, 1800, 1801, 3000, 20_000, 100_001):
        value = rng.getrandbits(bits)
        digits = format_integer(value)
        assert parse_integer(digits) == value
        assert format_integer(-value) == ("-" + digits if value else digits)
        # Digit by digit from the low end: no conversion of Python's is involved.
        assert sum(int(d) * pow(10, i, 10**9 + 7) for i, d in enumerate(reversed(digits))) % (
            10**9 + 7
        ) == value % (10**9 + 7)
    assert format_integer(10**5000) == "1" + "0" * 5000
    with pytest.raises(dpl.PrologError, match="resource_error"):
        parse_integer("7" * (MOST_DIGITS + 1))


def test_texts_have_a_longest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubling a text ends in an error, for atoms and strings and joined lists."""
    monkeypatch.setattr(room, "MOST_CHARACTERS", 1000)
    program = dpl.Program(
        "atoms(A) :- atom_concat(A, A, B), atoms(B). texts(A) :- string_concat(A, A, B), texts(B)."
    )
    for goal in (
        "atoms(ab)",
        'texts("ab")',
        "length(L, 600), maplist(=(ab), L), atomic_list_concat(L, A)",
        "length(L, 400), maplist(=(ab), L), atomic_list_concat(L, ', ', A)",
        "tab(1001)",
    ):
        with pytest.raises(dpl.PrologError, match=r"resource_error\(memory\)"):
            list(dpl.solve(program, goal))
    assert list(dpl.solve(program, "atom_concat(ab, c, X)")) == [{"X": "abc"}]


def test_room_is_what_the_budget_leaves() -> None:
    """A list that fits the machine may not fit the budget; nothing is refused without need."""
    with watched(dpl.Budget(max_memory=20_000_000)):
        left = room.room()
        assert left is not None
        assert left <= 20_000_000
    with pytest.raises(dpl.PrologError, match=r"20 MB|19\.\d MB"):
        list(dpl.solve(EMPTY, "length(L, 1000000)", budget=dpl.Budget(max_memory=20_000_000)))
    assert len(list(dpl.solve(EMPTY, "length(L, 40000), fail ; true"))) == 1


def test_sorting_in_parts_is_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal elements keep their order, whatever the size of a part."""
    rng = random.Random(3)
    items = [rng.randrange(20) for _ in range(100)]
    whole = list(dpl.solve(EMPTY, f"msort({items}, L)"))
    monkeypatch.setattr("deepprooflog.logic.solver.standard_order.SORTED_AT_ONCE", 7)
    assert list(dpl.solve(EMPTY, f"msort({items}, L)")) == whole
    assert whole == [{"L": str(sorted(items)).replace(" ", "")}]


@pytest.mark.parametrize(
    "text", ["nn(n, [X], D, 0..10000000000) :: d(X, D).", f"1/{'7' * 100_000} :: p."]
)
def test_labels_have_sizes(text: str) -> None:
    with pytest.raises(dpl.ProgramError, match="more than"):
        dpl.Program(text)
