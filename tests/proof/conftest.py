"""Proofs to render: one realistic and small, random ones with nasty text, one very deep."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from deepprooflog.proof import Node, Proof
from deepprooflog.proof.tree import KINDS

NASTY = [
    "",
    "p('it''s', \"q\")",
    "<script>alert(1)</script> & &amp; </style> ]]> -->",
    "a\nb\tc\r\x00\x1b[0m\x7f",
    "'\\' \\n \\\\ \\x41\\",
    "{a} [b|c] (d) $$x^2$$ 50% #35; ~^_`",
    "père 数学 😀 e\u0301 \u202eabc\u2028\ufffe\u0085",
    "- 1. * `x` style a:b#c; %%{init}%% fa:fa-x",
    "p --> q, !, -- << >> ,, ?` !`",
    "  two  spaces  ",
    "long(" + ", ".join(f"argument_{i}" for i in range(300)) + ")",
    "x" * 3000,
]

TEXT = st.one_of(
    st.sampled_from(NASTY), st.text(max_size=30), st.text("\\'\"<>&{}[]#%$_^~`\n ", max_size=12)
)
WEIGHT = st.one_of(st.floats(-2000, 0), st.just(-math.inf), st.just(0.0))


@st.composite
def proofs(draw: st.DrawFn) -> Proof:
    nodes: list[Node] = []
    path: list[int] = []
    for index in range(draw(st.integers(0, 12))):
        depth = draw(st.integers(0, len(path)))
        nodes.append(
            Node(
                atom=draw(TEXT),
                kind=draw(st.sampled_from(KINDS)),
                reason=draw(TEXT),
                place=draw(st.none() | TEXT),
                log_weight=draw(WEIGHT),
                parent=path[depth - 1] if depth else -1,
                depth=depth,
            )
        )
        path = [*path[:depth], index]
    bindings = draw(st.dictionaries(TEXT, TEXT, max_size=3))
    return Proof(draw(TEXT), bindings, draw(WEIGHT), tuple(nodes))


@pytest.fixture
def small() -> Proof:
    """A hand-made derivation with every kind of step; its probability is 0.6 · 0.5 · 0.9."""
    even = "0.6::even(X) :- digit(X, D), 0 is D mod 2, \\+ big(D)."
    name = "name(4, 'four & \"IV\"')"
    likes = "likes(X, Y) :- believe(likes, X, Y)."
    half = math.log(0.5)
    nodes = (
        Node("even(<tensor 0>)", "rule", even, "even.pl:4", math.log(0.6), -1, 0),
        Node("digit(<tensor 0>, 4)", "neural", "lenet(<tensor 0>) = 4", "even.pl:1", half, 0, 1),
        Node("0 is 4 mod 2", "builtin", "is/2", None, 0.0, 0, 1),
        Node("\\+ big(4)", "guard", "\\+ big(D)", None, 0.0, 0, 1),
        Node(name, "fact", f"{name}.", "even.pl:9", 0.0, -1, 0),
        Node("likes(ann, 4)", "rule", likes, "kg.pl:2", 0.0, -1, 0),
        Node("believe(likes, ann, 4)", "belief", "kge(likes, ann, 4)", None, math.log(0.9), 5, 1),
    )
    return Proof(
        "even(I), name(N, M), likes(ann, N)",
        {"N": "4", "M": "'four & \"IV\"'"},
        math.log(0.27),
        nodes,
    )


@pytest.fixture(scope="session")
def deep() -> Proof:
    """A chain of 20,000 steps, each with probability e⁻¹."""
    nodes = tuple(
        Node(f"p({i})", "rule", "p(N) :- M is N + 1, p(M).", "p.pl:1", -1.0, i - 1, i)
        for i in range(20_000)
    )
    return Proof("p(0)", {}, -20_000.0, nodes)
