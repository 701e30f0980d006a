"""The usual names of columns that hold triples."""

from __future__ import annotations

import re

_USUAL = (
    re.compile(r"(head|subject|source|from|start|h|s)([ _](id|name|label|entity))?", re.IGNORECASE),
    re.compile(r"(relation|predicate|rel|edge|type|r|p)([ _](id|name|label|type))?", re.IGNORECASE),
    re.compile(r"(tail|object|target|to|end|t|o)([ _](id|name|label|entity))?", re.IGNORECASE),
)


def column_kind(name: str) -> int | None:
    """0 for a name of heads, 1 of relations, 2 of tails; None for any other.

    >>> [column_kind(name) for name in ("subject", "edge_type", "Tail ID", "weight")]
    [0, 1, 2, None]
    """
    return next((kind for kind, usual in enumerate(_USUAL) if usual.fullmatch(name)), None)
