"""A proof as a Mermaid flowchart: the query on top, step probabilities on the arrows."""

from __future__ import annotations

import re

from deepprooflog.proof.render.svg import PALETTE
from deepprooflog.proof.render.text import (
    binding_lines,
    one_line,
    probability_text,
    query_text,
    reason_text,
)
from deepprooflog.proof.tree import Proof

# What Mermaid draws unless its configuration raises `maxEdges` and `maxTextSize`.
_EDGES, _CHARACTERS = 500, 50_000

# Three signs that Mermaid acts on even as entities: a line break, mathematics, an icon's name. A
# zero-width space keeps their halves apart.
_SEAM = re.compile(r"\\(?=n)|\$(?=\$)|:(?=fa-)")

# Inside quotes Mermaid still reads #…; as entities, ` * _ ~ as Markdown, %% as comment,
# and < & as HTML.
_SPECIAL = re.compile(r"[\"#&<>`%\\;*_~@]|[^\x20-\x7e]")


def to_mermaid(proof: Proof) -> str:
    """The proof as a `flowchart TD`.

    >>> print(to_mermaid(Proof("p(\\"a\\")", {}, 0.0, ())))
    flowchart TD
        q(["?- p(#34;a#34;).<br/>probability 1"])
    """
    head = [query_text(proof), *binding_lines(proof)]
    head.append(f"probability {probability_text(proof.log_prob)}")
    lines = [f'    q(["{_label(head)}"])']
    used: dict[str, list[str]] = {}
    for index, node in enumerate(proof.nodes):
        place = f"({one_line(node.place)})" if node.place else ""
        under = " ".join(text for text in (node.kind + ":", reason_text(node), place) if text)
        lines.append(f'    n{index}["{_label([one_line(node.atom), under])}"]')
        above = "q" if node.parent < 0 else f"n{node.parent}"
        lines.append(f'    {above} -->|"{probability_text(node.log_weight)}"| n{index}')
        used.setdefault(node.kind, []).append(f"n{index}")
    for kind, (colour, _) in PALETTE.items():
        if kind in used:
            lines.append(f"    classDef {kind} stroke:{colour},stroke-width:2px")
            lines.append(f"    class {','.join(used[kind])} {kind}")
    return "\n".join(["flowchart TD", *_limits(len(proof.nodes), lines), *lines])


def _limits(edges: int, lines: list[str]) -> list[str]:
    size = sum(len(line) + 1 for line in lines)
    notes = []
    if edges > _EDGES:
        notes.append(f"    %% {edges} edges: Mermaid draws {_EDGES} unless maxEdges is raised")
    if size > _CHARACTERS:
        notes.append(
            f"    %% {size} characters: Mermaid reads {_CHARACTERS} unless maxTextSize is raised"
        )
    return notes


def _label(lines: list[str]) -> str:
    escaped = [_SPECIAL.sub(_entity, _SEAM.sub("\\g<0>\u200b", line)) for line in lines]
    if any("style" in line or "classDef" in line for line in escaped):
        # Mermaid drops the last semicolon of what looks like `style x fill:#fff;`.
        escaped = [line.replace(":", "#58;") for line in escaped]
    return "<br/>".join(escaped)


def _entity(match: re.Match[str]) -> str:
    return f"#{ord(match[0])};"
