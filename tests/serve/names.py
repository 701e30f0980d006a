"""What the sessions of the tests hold."""

from __future__ import annotations

# Oracle: s(X) 0.832, s(a) 0.156, s(b) 0.676 (two ways to s, by hand).
PROGRAM = """\
0.4 :: s(X) :- p(X), p(X).
0.6 :: s(X) :- q(X).
0.3 :: p(a). 0.7 :: p(b).
0.2 :: q(a). 0.8 :: q(b).
"""

HOSTILE = (
    "<script>alert(1)</script>",
    'it\'s "quoted" & <b>bold</b>',
    "right\u202eleft\u200f",
    "n" * 10_000,
)
