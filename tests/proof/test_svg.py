"""SVG, read back as XML: boxes that do not overlap, edges that join parent and child."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import given

from deepprooflog.proof import Node, Proof
from deepprooflog.proof.render.svg import PALETTE
from deepprooflog.proof.render.text import one_line

from .conftest import proofs

SVG = "{http://www.w3.org/2000/svg}"


class Drawing:
    """Boxes as (x, y, width, height), the query's first; edges as (x0, y0, x1, y1)."""

    def __init__(self, text: str) -> None:
        self.root = ElementTree.fromstring(text.encode())
        self.size = [float(v) for v in self.root.attrib["viewBox"].split()[2:]]
        groups = self.root.findall(f"{SVG}g")
        self.titles = [g.findtext(f"{SVG}title") or "" for g in groups]
        self.kinds = [g.attrib["class"] for g in groups]
        self.boxes = [self._box(g.find(f"{SVG}rect")) for g in groups]
        self.lines = [
            ["".join(t.itertext()) for t in g.findall(f"{SVG}text[@class='atom']")] for g in groups
        ]
        self.edges = []
        for path in self.root.findall(f"{SVG}path"):
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.attrib["d"])]
            self.edges.append((numbers[0], numbers[1], numbers[-2], numbers[-1]))

    @staticmethod
    def _box(rect: ElementTree.Element | None) -> tuple[float, float, float, float]:
        assert rect is not None
        x, y, width, height = (float(rect.attrib[k]) for k in ("x", "y", "width", "height"))
        return x, y, width, height


def test_small_proof(small: Proof) -> None:
    drawing = Drawing(small.to_svg())
    assert drawing.kinds == ["query", *(node.kind for node in small.nodes)]
    assert drawing.lines[0] == ["?- even(I), name(N, M), likes(ann, ", "N)."]
    assert drawing.lines[5] == ["name(4, 'four & \"IV\"')"]
    levels = {round(drawing.boxes[i + 1][1]) for i in (0, 4, 5)}
    assert len(levels) == 1  # the query's atoms stand in one row
    rects = drawing.root.findall(f".//{SVG}rect[@class='level']")
    tracks = drawing.root.findall(f".//{SVG}rect[@class='track']")
    shares = [
        float(level.attrib["width"]) / float(track.attrib["width"])
        for level, track in zip(rects, tracks, strict=True)
    ]
    assert shares == pytest.approx([0.6, 0.5, 1, 1, 1, 1, 0.9], abs=2e-3)


@given(proofs())
def test_layout(proof: Proof) -> None:
    text = proof.to_svg()
    drawing = Drawing(text)
    boxes = drawing.boxes
    assert len(boxes) == len(proof.nodes) + 1
    for x, y, width, height in boxes:
        assert x >= 0
        assert y >= 0
        assert x + width <= drawing.size[0]
        assert y + height <= drawing.size[1]
    rows: dict[int, list[tuple[float, float, float, float]]] = {}
    for node, box in zip(proof.nodes, boxes[1:], strict=True):
        rows.setdefault(node.depth, []).append(box)
    for row in rows.values():  # preorder runs from left to right within a row
        assert all(a[0] + a[2] < b[0] for a, b in pairwise(row))
    for depth in range(1, len(rows)):
        above, below = rows[depth - 1], rows[depth]
        assert max(b[1] + b[3] for b in above) < min(b[1] for b in below)
    for node, box, edge in zip(proof.nodes, boxes[1:], drawing.edges, strict=True):
        parent = boxes[node.parent + 1]
        bottom = (parent[0] + parent[2] / 2, parent[1] + parent[3])
        top = (box[0] + box[2] / 2, box[1])
        assert edge == pytest.approx((*bottom, *top), abs=0.2)


@given(proofs())
def test_parents_stand_over_the_middle_of_their_children(proof: Proof) -> None:
    boxes = Drawing(proof.to_svg()).boxes
    centres = [x + width / 2 for x, _, width, _ in boxes]
    families: dict[int, list[float]] = {}
    for node, centre in zip(proof.nodes, centres[1:], strict=True):
        families.setdefault(node.parent + 1, []).append(centre)
    for parent, below in families.items():
        assert centres[parent] == pytest.approx((below[0] + below[-1]) / 2, abs=0.2)


@given(proofs())
def test_text_is_whole_or_marked(proof: Proof) -> None:
    text = proof.to_svg()
    drawing = Drawing(text)
    shortened = False
    for node, title, lines in zip(proof.nodes, drawing.titles[1:], drawing.lines[1:], strict=True):
        atom = one_line(node.atom)
        assert title.split("\n")[0] == atom
        if "".join(lines) != atom:
            shortened = True
            assert lines[-1].endswith("…")
            assert atom.startswith("".join(lines)[:-1])
    if shortened:
        assert "marks a shortened text" in text


def test_nothing_outside_is_loaded(small: Proof) -> None:
    text = small.to_svg().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"http|url\(|@import|@font-face|href|<script|<image|foreignObject", text)


def luminance(colour: str) -> float:
    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("kind", PALETTE)
def test_colours_meet_wcag_contrast(kind: str) -> None:
    """4.5:1 of text on the boxes' fill, both schemes, by the formula of WCAG 2.2."""
    light, dark = PALETTE[kind]  # type: ignore[index]
    assert (1 + 0.05) / (luminance(light) + 0.05) >= 4.5
    assert (luminance(dark) + 0.05) / (luminance("#161b22") + 0.05) >= 4.5


def test_subtrees_fold_under_each_other() -> None:
    """A deep narrow first subtree does not push its sibling's children away from it."""
    shape = [(-1, 0), (0, 1), (1, 2), (2, 3), (0, 1)]
    nodes = tuple(Node(f"p{i}", "fact", "", None, 0.0, p, d) for i, (p, d) in enumerate(shape))
    boxes = Drawing(Proof("q", {}, 0.0, nodes).to_svg()).boxes
    assert boxes[5][0] - (boxes[2][0] + boxes[2][2]) == pytest.approx(18, abs=0.2)


def test_deep_proof(deep: Proof) -> None:
    drawing = Drawing(deep.to_svg())
    assert len(drawing.boxes) == 20_001
    assert len({round(x + width / 2) for x, _, width, _ in drawing.boxes}) == 1
    assert drawing.lines[20_000] == ["p(19999)"]


def test_wide_proof() -> None:
    nodes = tuple(Node(f"p({i})", "fact", "p(_).", None, 0.0, -1, 0) for i in range(20_000))
    boxes = Drawing(Proof("q", {}, 0.0, nodes).to_svg()).boxes
    assert all(a[0] + a[2] < b[0] for a, b in pairwise(boxes[1:]))
