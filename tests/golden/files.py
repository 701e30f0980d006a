"""The golden files: where each stands and what writes it.

`cd tests && python -m golden` writes them all again after a change that is meant; read the
difference before it is committed.
"""

from __future__ import annotations

from pathlib import Path

from golden.examples import EXAMPLES, Example
from golden.rendering import flat_text, forms_text, templates_text

TESTS = Path(__file__).parents[1]


KINDS = {
    "templates": ("graph", templates_text),
    "flat": ("graph", flat_text),
    "forms": ("infer", forms_text),
}


def goldens(*kinds: str) -> list[tuple[Path, str, Example]]:
    """The files of these kinds: where each is, its kind, and what it is about."""
    return [
        (TESTS / KINDS[kind][0] / "golden" / f"{example.name}.{kind}.txt", kind, example)
        for example in EXAMPLES
        for kind in kinds or KINDS
    ]


def golden_text(kind: str, example: Example) -> str:
    """What a golden file should hold."""
    return KINDS[kind][1](example)
