"""Ways of damaging bytes, drawn at random: what disks, transfers and people do to files."""

from __future__ import annotations

import random

# What a reader is most likely to stumble over, as bytes and as text.
ODD = [
    b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\t", b"'", b'"', b"\\", b"(",
    b")", b"[", b"]", b"{", b"}", b",", b".", b":-", b"->", b"<=", b"%", b"#", b"-1", b"NaN",
    b"1e999", b"9" * 400, b"null", b"true", b"[" * 3000, b"\xed\xa0\x80", "\u202e".encode(),
    b"\x1b[2J",
]  # fmt: skip


def flipped(raw: bytes, random: random.Random) -> bytes:
    """The bytes with one bit changed."""
    at = random.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ (1 << random.randrange(8))]) + raw[at + 1 :]


def damaged(raw: bytes, random: random.Random) -> bytes:
    """The bytes, damaged in one of many ways; never the same bytes."""
    while True:
        changed = _once(raw, random)
        if random.random() < 0.2 and changed:
            changed = _once(changed, random)
        if changed != raw:
            return changed


def _once(raw: bytes, random: random.Random) -> bytes:
    if not raw:
        return random.choice(ODD)
    at, to = sorted(random.randrange(len(raw) + 1) for _ in range(2))
    short = min(to, at + random.choice((1, 8, 64, 4096)))
    way = random.randrange(9)
    if way == 0:
        return flipped(raw, random)
    if way == 1:
        return raw[:at]  # cut off
    if way == 2:
        return raw[:at] + raw[short:]  # a piece lost
    if way == 3:
        return raw[:at] + bytes(short - at) + raw[short:]  # a piece of zeros
    if way == 4:
        return raw[:at] + random.randbytes(short - at) + raw[short:]
    if way == 5:
        return raw[:at] + raw[at:short] * 2 + raw[short:]  # a piece twice
    if way == 6:
        return raw[:at] + random.choice(ODD) + raw[at:]
    if way == 7:
        return raw + random.randbytes(random.choice((1, 16, 512)))
    lines = raw.split(b"\n")
    first, second = (random.randrange(len(lines)) for _ in range(2))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)
