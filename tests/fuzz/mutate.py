"""Programs of the examples, the documentation and the tests, and what can be done to them."""

from __future__ import annotations

import ast
import random
import re
from functools import cache
from pathlib import Path

import deepprooflog as dpl

ROOT = Path(__file__).parent.parent.parent

TOKEN = re.compile(
    r"\s+|%[^\n]*|[A-Za-z_][A-Za-z0-9_]*|[0-9]+(?:\.[0-9]+)?|'(?:[^'\\]|\\.)*'|\"[^\"]*\""
    r"|[-+*/\\^<>=~:.?@#&]+|."
)

INSERTED = [
    "(", ")", "[", "]", "{", "}", "|", ",", ".", ". ", ":-", "::", "-->", "!", ";", "->", "\\+",
    "'", '"', "`", "0'", "0x", "%", "/*", "*/", "_", "X", "Y", "a", "p", "f(", "[]", "{}", "is",
    "=", "==", "\\==", "=..", "@<", "+", "-", "*", "/", "//", "mod", "0", "1", "2", "0.5", "1.0e10",
    "0.5::", "t(0.5)::", "t(_)::", "nn(net,[X],Y,0..9)::", "nn(net,[X])::", ":- ", "?- ",
    ":- dynamic ", ":- op(700, xfx, =>).", ":- op(200, xfy, p).", "true", "fail", "call(X)",
    "findall(X,p(X),L)", "\\+ p", "once(p)", "catch(p,E,true)", "throw(a)", "copy_term(X,Y)",
    "atom_codes(X,Y)", "msort([b,a],L)", "functor(X,f,2)", "arg(1,X,Y)", "write(X)", "nl", "repeat",
    "assertz(p)", "phrase(p,[a])", "member(X,[1,2])", "append(X,Y,[1])", "forall(p,q)",
]  # fmt: skip

ODD = [
    "\0", "\x01", "\x1b[31m", "\x7f", "\x85", "\xa0", "\xad", "é", "ß", "ǅ", "Σ", "∀", "\u200b",
    "\u202e", "\u2028", "\ufeff", "\ufffe", "\ud800", "\udfff", "𝔘", "🙂", "ё", "１", "²", "٣", "ª",
    "\\", "\\x", "\\x41\\", "\\777777777777\\", "\\\n", "\r", "\r\n", "\t", "\v", "\f",
]  # fmt: skip

# What may build something as large as a number says: numbers stay small beside these.
EXPLOSIVE = re.compile(
    r"\*\*|\^|<<|length|numlist|functor|nth|between|atom_concat|sub_atom|append|tab|msort|copy"
)


@cache
def corpus() -> list[str]:
    """Program texts of the repository."""
    texts: dict[str, None] = {}
    for folder in ("examples", "src/deepprooflog/recipes/programs"):
        for path in sorted((ROOT / folder).rglob("*.pl")):
            texts[path.read_text()] = None
    for path in sorted((ROOT / "docs").glob("*.md")):
        for block in re.findall(r"```(?:prolog)?\n(.*?)```", path.read_text(), re.DOTALL):
            texts[block] = None
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path.parent.name == "fuzz":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts[node.value] = None
    likely = [t for t in texts if len(t) < 3000 and re.search(r"::|:-|-->|\w\(.*\)\.", t)]
    return [t for t in likely if _readable(t)]


def _readable(text: str) -> bool:
    try:
        return bool(dpl.Program(text).predicates)
    except dpl.ProofLogError:
        return False


def queries(text: str, rng: random.Random) -> list[str]:
    """A query of a predicate the text names, and sometimes one of a few others."""
    heads = re.findall(r"([a-z][A-Za-z0-9_]*)\(([^()]*)\)", text)
    found = ["p(X)"]
    if heads and rng.random() < 0.95:
        name, given = rng.choice(heads)
        arity = given.count(",") + 1
        inside = [rng.choice(["X", "Y", "a", "[a,b]", "1", "_"]) for _ in range(arity)]
        found = [f"{name}({', '.join(inside)})"]
    if rng.random() < 0.3:
        found.append(rng.choice(["p", "X", "true", "p, !", "\\+ p(X)", "(p ; q)", "p(X), q(X)"]))
    if rng.random() < 0.2:
        found.append(mutated(found[0], rng))
    return found


def mutated(text: str, rng: random.Random) -> str:
    """The text with one to four things done to it."""
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        text = rng.choices(
            [_tokens, _characters, _numbers, _nested, _long], weights=[60, 20, 10, 4, 1]
        )[0](text, rng)
    if EXPLOSIVE.search(text):
        text = re.sub(r"[0-9]{3,}", lambda m: m[0][:2], text)
    return text


def _tokens(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text) or [text]
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    what = rng.randrange(6)
    if what == 0:
        del tokens[i : i + rng.choice([1, 1, 1, 5])]
    elif what == 1:
        tokens.insert(j, tokens[i])
    elif what == 2:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif what == 3:
        tokens.insert(i, rng.choice(INSERTED))
    elif what == 4:
        tokens[i] = rng.choice(INSERTED)
    else:
        i, j = sorted((i, min(j, i + 30)))
        tokens[j:j] = tokens[i:j]
    return "".join(tokens)


def _characters(text: str, rng: random.Random) -> str:
    i = rng.randrange(len(text) + 1)
    what = rng.randrange(4)
    if what == 0:
        return text[:i] + rng.choice(ODD) + text[i:]
    if what == 1:
        return text[:i] + text[i + rng.choice([1, 1, 3]) :]
    if what == 2:
        return text[:i]
    return text[:i] + chr(rng.choice([rng.randrange(128), rng.randrange(0x11000)])) + text[i + 1 :]


def _numbers(text: str, rng: random.Random) -> str:
    number = rng.choice(
        ["0", "-1", "1", "1.5", "-0.0", "1.0e-400", "0.0", "1.0e308", "9" * 30, "1" + "0" * 5000,
         "0x" + "f" * 50, "1.0e400", "0'", "0'a", "0''", "1e5", "1.", "1/0", "1/3", "1/10^400",
         "0.3333333333333333333333333333", "1.0Inf", "nan", "2", "3"]
    )  # fmt: skip
    places = list(re.finditer(r"[0-9]+(?:\.[0-9]+)?", text))
    if not places:
        return text + number
    place = rng.choice(places)
    return text[: place.start()] + number + text[place.end() :]


def _nested(text: str, rng: random.Random) -> str:
    n = rng.choice([10, 30, 100, 100, 1000, 1000, 3000] * 4 + [100_000])
    deep = rng.choice(
        [("f(", "a", ")"), ("[", "", "]"), ("(", "p", ")"), ("- ", "1", ""), ("\\+ ", "p", ""),
         ("{", "a", "}"), ("f(a,", "b", ")"), ("(p,", "p", ")"), ("1+", "1", ""), ("(", "", ""),
         ("[a|", "[]", "]"), ("(p:-", "p", ")"), ("(p->", "p", ";p)"), ("findall(X,", "p", ",L)"),
         ("call(", "p", ")"), ("a:", "b", ""), ("2*(", "3", ")"), ("X=f(", "X", ")")]
    )  # fmt: skip
    return _into(text, deep[0] * n + deep[1] + deep[2] * n, rng)


def _long(text: str, rng: random.Random) -> str:
    n = rng.choice([100, 1000, 10_000])
    return _into(
        text,
        rng.choice(
            ["p :- " + "p," * n + "p.", "p(" + "a," * n + "a).", "'" + "x" * n + "'", "p. " * n,
             "p :- " + "(p;q)," * (n // 10) + "p.", f"p({','.join(f'X{i}' for i in range(n))}).",
             "% " + "x" * n, "x" * n, "p([" + "1," * n + "1]).", "0.5::p;" * (n // 10) + "0.5::q.",
             "p --> " + "[a]," * (n // 10) + "[b]."]
        ),
        rng,
    )  # fmt: skip


def _into(text: str, piece: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text) or [text]
    i = rng.randrange(len(tokens))
    if rng.random() < 0.5:
        return text + "\n" + piece + ("." if rng.random() < 0.7 else "")
    tokens[i] = piece
    return "".join(tokens)
