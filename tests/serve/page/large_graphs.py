"""Programs whose goal graphs are large: one is wide, one is deep."""

from __future__ import annotations

# A wide graph: doors of a hall, each to rooms of which a few lead on. A deep one: a walk on a grid.
WIDE = "\n".join(
    [
        "visit(X, Z) :- door(hall, X), leads(X, Y), ends(Y, Z).",
        *(f"door(hall, door_{at})." for at in range(16)),
        *(f"leads(door_{at}, room_{at}_{n})." for at in range(16) for n in range(2 + at)),
        *(f"ends(room_{at}_1, garden_{at})." for at in range(16)),
        "visit(X, Z) :- window(X), ends(X, Z).",
        *(f"window(window_{at})." for at in range(160)),
    ]
)
DEEP = "\n".join(
    [
        "0.3 :: go(X, Y) :- path(X, Z), go(Z, Y).",
        "0.7 :: go(X, X).",
        *(
            f"path(r({i},{j}), r({i + a},{j + 1 - a}))."
            for i in range(20)
            for j in range(20)
            for a in (0, 1)
        ),
    ]
)
QUERIES = {"wide": (WIDE, "visit(X, Z)"), "deep": (DEEP, "go(r(0, 0), Y)")}
