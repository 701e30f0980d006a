"""Sizes of memory as people write them."""

from __future__ import annotations

import re

_UNITS = {
    "": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
}  # fmt: skip
_SIZE = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})", re.IGNORECASE)


def read_size(text: str) -> int | None:
    """A size in bytes, with a unit; None for what is no size from 1 byte on.

    >>> read_size("500MB"), read_size("2 GB"), read_size("1.5GiB"), read_size("much")
    (500000000, 2000000000, 1610612736, None)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None or (value := int(float(found[1]) * _UNITS[found[2].upper()])) < 1:
        return None
    return value
