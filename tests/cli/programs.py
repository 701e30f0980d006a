"""Programs the command-line tests run, with values worked out by hand."""

from __future__ import annotations

# s(a) = 0.4 · 0.3² + 0.6 · 0.2 = 0.156 and s(b) = 0.4 · 0.7² + 0.6 · 0.8 = 0.676.
TWO_WAYS = """\
0.4 :: s(X) :- p(X), p(X).
0.6 :: s(X) :- q(X).
0.3 :: p(a).
0.7 :: p(b).
0.2 :: q(a).
0.8 :: q(b).
"""

# Counts up for ever; after n draws the mass 1 − 2⁻ⁿ has succeeded.
ENDLESS = """\
0.5 :: n(_).
0.5 :: n(X) :- Y is X + 1, n(Y).
"""

PLAIN = """\
nat(0).
nat(N) :- nat(M), N is M + 1.
edge(a, b).
edge(b, c).
edge(a, 'Big C').
"""
