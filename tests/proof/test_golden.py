"""The two renderings too long to write out in a test, as files that a person has looked at.

When a change is meant, look at the new rendering in a browser and replace the file.
"""

from __future__ import annotations

import re
from pathlib import Path

from deepprooflog.proof import Proof

GOLDEN = Path(__file__).parent / "golden"


def without_style(text: str) -> str:
    """Colours and scripts may change; what is said and where it stands may not, unseen."""
    return re.sub(r"(?s)<(style|script)>.*?</\1>", r"<\1></\1>", text)


def test_html(small: Proof) -> None:
    assert without_style(small.to_html()) == (GOLDEN / "small.html").read_text(encoding="utf-8")


def test_svg(small: Proof) -> None:
    assert without_style(small.to_svg()) == (GOLDEN / "small.svg").read_text(encoding="utf-8")
