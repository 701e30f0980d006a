"""Chains and shapes of small programs, as text files that a person has read.

`cd tests && python -m golden` writes them again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.examples import Example
from golden.files import golden_text, goldens


@pytest.mark.parametrize(
    ("path", "kind", "example"), goldens("forms"), ids=lambda v: getattr(v, "stem", "")
)
def test_the_form_is_the_one_on_file(path: Path, kind: str, example: Example) -> None:
    assert golden_text(kind, example) == path.read_text(encoding="utf-8")
