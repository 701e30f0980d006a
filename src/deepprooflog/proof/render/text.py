"""A proof as plain text, and the pieces of text every rendering is made of."""

from __future__ import annotations

import math
import unicodedata

from deepprooflog.proof.tree import Node, Proof
from deepprooflog.terminal import column, columns

INDENTED = 30  # deeper steps carry their depth as a number: n levels of spaces cost n² characters

_NAMED_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\v": "\\v", "\f": "\\f", "\b": "\\b"}


def to_text(proof: Proof) -> str:
    """The proof as a tree; each step its atom, its probability, and what resolved it.

    >>> print(to_text(Proof("true", {}, 0.0, ())))
    ?- true.
    probability 1
    """
    lines = [query_text(proof)]
    continued = _has_later_sibling(proof.nodes)
    bars: list[str] = []  # bars[d] is drawn under the latest node at depth d
    for index, node in enumerate(proof.nodes):
        shown = min(node.depth, INDENTED)
        prefix = "".join(bars[:shown])
        if node.depth > INDENTED:
            prefix += f"⋯{node.depth} "
        else:
            prefix += "├─ " if continued[index] else "└─ "
        lines.append(prefix + _step(node))
        if node.depth < INDENTED:
            del bars[node.depth :]
            bars.append("│  " if continued[index] else "   ")
    lines.extend([*binding_lines(proof), *label_lines(proof)])
    lines.append(f"probability {probability_text(proof.log_prob)}")
    if any(node.depth > INDENTED for node in proof.nodes):
        lines.append(f"(⋯n marks a step at depth n: beyond {INDENTED} steps are not indented)")
    return "\n".join(lines)


def query_text(proof: Proof) -> str:
    """The query as typed at a Prolog prompt."""
    query = one_line(proof.query)
    return f"?- {query}" if query.endswith(".") else f"?- {query}."


def binding_lines(proof: Proof) -> list[str]:
    """One `X = value` for each variable of the query."""
    return [f"{one_line(name)} = {one_line(value)}" for name, value in proof.bindings.items()]


def label_lines(proof: Proof) -> list[str]:
    """One `name is label` for each name that has one."""
    return [f"{one_line(name)} is {one_line(label)}" for name, label in proof.labels.items()]


def reason_text(node: Node) -> str:
    """What resolved the atom, on one line; empty for a fact that only repeats its atom."""
    if node.kind == "fact" and node.reason.removesuffix(".") == node.atom:
        return ""
    return one_line(node.reason)


def probability_text(log_prob: float) -> str:
    """exp(log_prob) to four digits, also below the smallest float; "1" only for 1.

    >>> [probability_text(math.log(p)) for p in (1, 0.25, 1 / 3, 0.9999998)]
    ['1', '0.25', '0.3333', '0.9999998']
    >>> probability_text(-10_000.0), probability_text(-math.inf)
    ('1.135e-4343', '0')
    """
    if log_prob == -math.inf:
        return "0"
    if log_prob < -700.0:
        exponent, mantissa = divmod(log_prob / math.log(10.0), 1.0)
        digits = f"{10.0**mantissa:.3f}".rstrip("0").rstrip(".")
        return f"1e{int(exponent) + 1}" if digits == "10" else f"{digits}e{int(exponent)}"
    rest = -math.expm1(log_prob)  # 1 − p, without cancellation
    if 1e-12 < rest < 1e-4:
        return f"{1.0 - rest:.{math.ceil(-math.log10(rest)) + 1}f}".rstrip("0")
    return f"{math.exp(log_prob):.4g}"


def one_line(text: str) -> str:
    r"""Control characters, line breaks and the like as Prolog escapes; all else as it is.

    >>> print(one_line("p('a\nb\x00é')"))
    p('a\nb\x0\é')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(c) if _hidden(c) else c for c in text)


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken after a space where there is one.

    Joined, the lines are the text: spaces at a line's end are kept, and not counted.

    >>> wrap("p(X) :- q(X, Y), r(Y).", 10)
    ['p(X) :- ', 'q(X, Y), ', 'r(Y).']
    """
    lines: list[str] = []
    start = room = 0
    space = -1
    for index, char in enumerate(text):
        room += column(char)
        if room > width and char != " " and index > start:
            start_next = space + 1 if space >= start else index
            lines.append(text[start:start_next])
            start = start_next
            room = columns(text[start : index + 1])
        if char == " ":
            space = index
    return [*lines, text[start:]] if start < len(text) else lines


def _step(node: Node) -> str:
    reason = reason_text(node)
    if node.kind == "rule" or (node.kind == "fact" and reason):
        reason = f"by {reason}"
    else:
        reason = f"{node.kind} {reason}".rstrip()
    place = f"  ({one_line(node.place)})" if node.place else ""
    return f"{one_line(node.atom)}  {probability_text(node.log_weight)}  {reason}{place}"


def _has_later_sibling(nodes: tuple[Node, ...]) -> list[bool]:
    seen: set[int] = set()
    continued = [False] * len(nodes)
    for index in range(len(nodes) - 1, -1, -1):
        parent = nodes[index].parent
        continued[index] = parent in seen
        seen.add(parent)
    return continued


def _hidden(char: str) -> bool:
    """Whether a character would break a line, reorder it, or is no XML character at all."""
    if char == " ":
        return False
    if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp"):
        return True
    return unicodedata.bidirectional(char) in _BIDI or ord(char) & 0xFFFE == 0xFFFE


_BIDI = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))


def _escaped(char: str) -> str:
    return _NAMED_ESCAPES.get(char) or f"\\x{ord(char):x}\\"
