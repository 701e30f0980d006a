"""A proof as an SVG drawing: a tidy tree, the query on top.

Subtrees are set side by side as closely as their outlines allow (Reingold and Tilford 1981, with
boxes of any width). A long text is shortened in its box, with an ellipsis, and given whole in the
box's `<title>`, which viewers show as a tooltip; the drawing says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

from deepprooflog.proof.render.text import (
    binding_lines,
    one_line,
    probability_text,
    query_text,
    reason_text,
    wrap,
)
from deepprooflog.proof.tree import Node, NodeKind, Proof, children
from deepprooflog.terminal import columns

# kind: (on light, on dark), each at least 4.5:1 against the boxes' fill
PALETTE: dict[NodeKind, tuple[str, str]] = {
    "fact": ("#1a7f37", "#3fb950"),
    "rule": ("#0969da", "#58a6ff"),
    "builtin": ("#59636e", "#9198a1"),
    "guard": ("#9a6700", "#d29922"),
    "neural": ("#8250df", "#ab7df8"),
    "belief": ("#bf3989", "#db61a2"),
    "missing": ("#cf222e", "#ff7b72"),
    "failed": ("#953800", "#f0883e"),
}

_ATOM, _SMALL = 12.5, 10.5  # font sizes
_ADVANCE = 0.61  # of a monospaced font's size: the widest in common use
_LINES = 4
_PAD, _GAP, _LEVEL = 9.0, 18.0, 34.0
_BAR = 44.0
_METER_ROW = 16.0


@dataclass(frozen=True, slots=True)
class _Box:
    atom: list[str]
    small: list[str]
    foot: str  # beside the probability's bar; empty for the query
    title: str
    width: float
    height: float
    cut: bool


def to_svg(proof: Proof) -> str:
    """The proof as one SVG document, without scripts or fonts of its own."""
    boxes = [_query_box(proof), *(_node_box(node) for node in proof.nodes)]
    parents = [-1, *(node.parent + 1 for node in proof.nodes)]
    x = _centres(proof, boxes)
    tops, height = _tops(boxes, [0, *(node.depth + 1 for node in proof.nodes)])
    width = max(c + box.width / 2 for c, box in zip(x, boxes, strict=True)) + _GAP
    note = "… marks a shortened text; the whole is in the box's tooltip"
    if cut := any(box.cut for box in boxes):
        width = max(width, 2 * _GAP + columns(note) * _SMALL * _ADVANCE)
        height += 20.0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dpl-proof" role="img" '
        f'aria-label="{_xml("Proof of " + proof.query)}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{_style()}</style>",
    ]
    for index in range(1, len(boxes)):
        above = parents[index]
        y0, y1 = tops[above] + boxes[above].height, tops[index]
        middle = y1 - _LEVEL / 2
        parts.append(
            f'<path class="edge" d="M{x[above]:.1f} {y0:.1f}V{middle - _LEVEL / 2:.1f}'
            f"C{x[above]:.1f} {middle:.1f} {x[index]:.1f} {middle:.1f} "
            f'{x[index]:.1f} {y1:.1f}"/>'
        )
    parts.append(_draw(boxes[0], None, x[0], tops[0]))
    for node, box, centre, top in zip(proof.nodes, boxes[1:], x[1:], tops[1:], strict=True):
        parts.append(_draw(box, node, centre, top))
    if cut:
        parts.append(f'<text class="note" x="{_GAP:.0f}" y="{height - 10:.1f}">{note}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _query_box(proof: Proof) -> _Box:
    small = [*binding_lines(proof), f"probability {probability_text(proof.log_prob)}"]
    return _box(query_text(proof), small, "")


def _node_box(node: Node) -> _Box:
    small = [text for text in (reason_text(node), one_line(node.place or "")) if text]
    return _box(one_line(node.atom), small, f"{probability_text(node.log_weight)}  {node.kind}")


def _box(atom: str, small: list[str], foot: str) -> _Box:
    atom_lines, cut = _shorten(wrap(atom, 36), _LINES)
    small_lines: list[str] = []
    for text in small:
        lines, cut_here = _shorten(wrap(text, 44), _LINES)
        small_lines += lines
        cut = cut or cut_here
    foot_width = _BAR + 8 + columns(foot) * _SMALL * _ADVANCE if foot else 0.0
    width = 2 * _PAD + max(
        foot_width,
        *(columns(line.rstrip(" ")) * _ATOM * _ADVANCE for line in atom_lines),
        *(columns(line.rstrip(" ")) * _SMALL * _ADVANCE for line in small_lines),
    )
    height = 2 * _PAD + 16 * len(atom_lines) + 14 * len(small_lines) + (_METER_ROW if foot else 0)
    title = "\n".join([atom, *small])
    return _Box(atom_lines, small_lines, foot, title, width, height, cut)


def _shorten(lines: list[str], most: int) -> tuple[list[str], bool]:
    if len(lines) <= most:
        return lines or [""], False
    return [*lines[: most - 1], lines[most - 1].rstrip()[:-1] + "…"], True


def _centres(proof: Proof, boxes: list[_Box]) -> list[float]:
    """The centre of each box; index 0 is the query, i + 1 is node i."""
    roots, below = children(proof.nodes)
    kin = [[r + 1 for r in roots], *([c + 1 for c in row] for row in below)]
    outlines: list[_Outline | None] = [None] * len(boxes)
    offset = [0.0] * len(boxes)  # from the parent's centre
    for index in range(len(boxes) - 1, -1, -1):  # children stand after parents in preorder
        forest: _Outline | None = None
        for child in kin[index]:
            outline = outlines[child]
            assert outline is not None
            outlines[child] = None
            if forest is None:
                forest = outline
            else:
                forest, offset[child] = _beside(forest, outline)
        middle = offset[kin[index][-1]] / 2 if kin[index] else 0.0
        for child in kin[index]:
            offset[child] -= middle
        half = boxes[index].width / 2
        if forest is None:
            outlines[index] = _Outline([-half], [half], 0.0)
        else:
            forest.left.append(middle - half - forest.shift)
            forest.right.append(middle + half - forest.shift)
            outlines[index] = _Outline(forest.left, forest.right, forest.shift - middle)
    whole = outlines[0]
    assert whole is not None
    x = [_GAP - (min(whole.left) + whole.shift)] * len(boxes)
    for index, node in enumerate(proof.nodes, start=1):
        x[index] = x[node.parent + 1] + offset[index]
    return x


@dataclass(frozen=True, slots=True)
class _Outline:
    """Leftmost and rightmost x of a subtree at each level, deepest first; all to be `shift`ed."""

    left: list[float]
    right: list[float]
    shift: float


def _beside(a: _Outline, b: _Outline) -> tuple[_Outline, float]:
    """Both outlines as one, b moved right until it clears a; and how far b was moved.

    Only the levels they share are read or written, so that laying out n boxes costs O(n).
    """
    shared = min(len(a.left), len(b.left))
    move = max(a.right[-k] + a.shift - b.left[-k] - b.shift + _GAP for k in range(1, shared + 1))
    if len(a.left) >= len(b.left):
        for k in range(1, shared + 1):
            a.right[-k] = b.right[-k] + b.shift + move - a.shift
        return a, move
    for k in range(1, shared + 1):
        b.left[-k] = a.left[-k] + a.shift - b.shift - move
    return _Outline(b.left, b.right, b.shift + move), move


def _tops(boxes: list[_Box], levels: list[int]) -> tuple[list[float], float]:
    """The top of each box, rows as high as their highest box; and the drawing's height."""
    highest = [0.0] * (max(levels) + 1)
    for box, level in zip(boxes, levels, strict=True):
        highest[level] = max(highest[level], box.height)
    tops = [_GAP]
    for height in highest:
        tops.append(tops[-1] + height + _LEVEL)
    return [tops[level] for level in levels], tops[-1] - _LEVEL + _GAP


def _draw(box: _Box, node: Node | None, centre: float, top: float) -> str:
    left = centre - box.width / 2
    kind = "query" if node is None else node.kind
    parts = [
        f'<g class="{kind}"><title>{_xml(box.title)}</title>'
        f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="6"/>'
    ]
    x, y = f"{left + _PAD:.1f}", top + _PAD - 4
    for line in box.atom:
        y += 16
        parts.append(f'<text class="atom" x="{x}" y="{y:.1f}">{_xml(line)}</text>')
    for line in box.small:
        y += 14
        parts.append(f'<text class="small" x="{x}" y="{y:.1f}">{_xml(line)}</text>')
    if node is not None:
        y += _METER_ROW
        full = _BAR * min(1.0, math.exp(node.log_weight))
        parts.append(
            f'<rect class="track" x="{x}" y="{y - 6:.1f}" width="{_BAR:.0f}" height="5" rx="2.5"/>'
            f'<rect class="level" x="{x}" y="{y - 6:.1f}" width="{full:.1f}" height="5" rx="2.5"/>'
            f'<text class="foot" x="{left + _PAD + _BAR + 8:.1f}" y="{y:.1f}">{box.foot}</text>'
        )
    return "".join([*parts, "</g>"])


def _style() -> str:
    mono = "ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace"
    rules = [
        f".dpl-proof text{{font-family:{mono};white-space:pre}}",
        f".dpl-proof .atom{{font-size:{_ATOM}px;font-weight:600}}",
        f".dpl-proof .small,.dpl-proof .foot,.dpl-proof .note{{font-size:{_SMALL}px}}",
        ".dpl-proof .edge{fill:none;stroke:#8b949e;stroke-width:1.3}",
        ".dpl-proof .note{fill:#7d8590}",
        *_colours(0, "#ffffff", "#1f2328", "#59636e", "#d9dee3"),
        "@media (prefers-color-scheme:dark){",
        *_colours(1, "#161b22", "#e6edf3", "#9198a1", "#353c45"),
        "}",
    ]
    return "".join(rules)


def _colours(scheme: int, fill: str, ink: str, faint: str, track: str) -> list[str]:
    rules = [
        f".dpl-proof .box{{fill:{fill};stroke:{faint};stroke-width:1.3}}",
        f".dpl-proof .atom{{fill:{ink}}}",
        f".dpl-proof .small{{fill:{faint}}}",
        f".dpl-proof .track{{fill:{track}}}",
    ]
    for kind, colours in PALETTE.items():
        colour = colours[scheme]
        rules.append(f".dpl-proof .{kind} .box{{stroke:{colour}}}")
        rules.append(f".dpl-proof .{kind} .level,.dpl-proof .{kind} .foot{{fill:{colour}}}")
    return rules


def _xml(text: str) -> str:
    return "\n".join(escape(one_line(line)) for line in text.split("\n"))
