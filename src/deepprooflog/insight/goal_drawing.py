"""A goal graph as SVG: goals in layers below the query, each as low as the longest way to it.

Steps that lead back up close cycles: they are set aside before goals get their layers, and drawn
in dashes. A step over several layers passes through a place of its own in each, so that it goes
round the goals between. Layers are ordered by the mean place of their neighbours, up and down, and
pulled towards them without overlapping. Attributes carry all style: a page may forbid style sheets.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from deepprooflog.proof.render.text import one_line

if TYPE_CHECKING:
    from deepprooflog.insight.goal_view import GoalGraphView, GoalStep

LONGEST = 40  # characters of a goal that are shown
ADVANCE, HEIGHT, LEVEL, GAP, MARGIN = 7.4, 26.0, 78.0, 26.0, 16.0
LOOP = 34.0  # how far steps that lead back reach beyond their goals
SWEEPS = 8
# kind: fill, outline
COLOURS = {
    "query": ("#ddf4ff", "#0969da"), "goal": ("#ffffff", "#59636e"),
    "true": ("#dafbe1", "#1a7f37"), "dead": ("#ffebe9", "#cf222e"),
    "open": ("#fff8c5", "#9a6700"),
}  # fmt: skip


@dataclass(frozen=True)
class GoalLayout:
    """Where goals are: layer and centre of each place, and the places that each step leads by."""

    layer: list[int]  # by place; goals first, then the places that steps pass
    centre: list[float]
    width: list[float]
    ways: dict[tuple[int, int], list[int]]  # by source and target
    back: set[tuple[int, int]]  # steps that close a cycle


def draw(view: GoalGraphView) -> str:
    """The drawing of a goal graph."""
    layout = lay_out(view)
    goals = len(view.nodes)
    wide = max((c + w / 2 for c, w in zip(layout.centre, layout.width, strict=True)), default=0.0)
    wide += LOOP if layout.back else 0.0
    width, depth = wide + MARGIN, max(layout.layer[:goals], default=0) + 1
    height = MARGIN * 2 + (depth - 1) * LEVEL + HEIGHT + (0 if view.complete else 24)
    title = f"the goal graph of {view.query}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" font-size="12" '
        'font-family="ui-monospace, monospace">',
        f"<title>{_xml(title)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    steps: dict[tuple[int, int], list[GoalStep]] = defaultdict(list)
    for step in view.edges:
        steps[step.source, step.target].append(step)
    parts += [_edge(layout, ends, found) for ends, found in steps.items()]
    for node in view.nodes:
        fill, outline = COLOURS[node.kind]
        x, y, w = layout.centre[node.id], _top(layout.layer[node.id]), layout.width[node.id]
        parts.append(
            f'<g data-goal="{node.id}"><title>{_xml(node.goal)}</title>'
            f'<rect x="{x - w / 2:.1f}" y="{y:.1f}" width="{w:.1f}" height="{HEIGHT:.0f}" rx="5" '
            f'fill="{fill}" stroke="{outline}"/>'
            f'<text x="{x:.1f}" y="{y + 17:.1f}" text-anchor="middle" fill="#1f2328">'
            f"{_xml(short(node.goal))}</text></g>"
        )
    if not view.complete:
        text = f"{goals} goals: the rest was cut by {view.stopped}"
        parts.append(
            f'<text x="{MARGIN:.0f}" y="{height - 10:.0f}" fill="#9a6700">{_xml(text)}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def short(goal: str, most: int = LONGEST) -> str:
    """A goal's text, cut at so many characters.

    >>> short("p(a), q(b)", 6)
    'p(a),…'
    """
    goal = one_line(goal)
    return goal if len(goal) <= most else goal[: most - 1] + "…"


def lay_out(view: GoalGraphView) -> GoalLayout:
    """Places for the goals of a graph, and for its steps where they pass layers.

    >>> from deepprooflog.insight.goal_view import goal_graph
    >>> from deepprooflog.logic.program import Program
    >>> found = lay_out(goal_graph(Program("p :- q. p :- r. q :- r. r :- p. r."), "p"))
    >>> found.layer[:4], sorted(found.back), found.ways[0, 2]
    ([0, 1, 2, 3], [(2, 0)], [0, 4, 2])
    """
    count = len(view.nodes)
    pairs = list(dict.fromkeys((e.source, e.target) for e in view.edges))
    back = _closing(count, pairs)
    layer = _layers(count, [pair for pair in pairs if pair not in back])
    ways: dict[tuple[int, int], list[int]] = {}
    for source, target in pairs:
        way = [source]
        if (source, target) not in back:
            for level in range(layer[source] + 1, layer[target]):
                way.append(len(layer))
                layer.append(level)
        ways[source, target] = [*way, target]
    width = [max(44.0, len(short(n.goal)) * ADVANCE + 14) for n in view.nodes]
    width += [8.0] * (len(layer) - count)
    above: dict[int, list[int]] = defaultdict(list)
    below: dict[int, list[int]] = defaultdict(list)
    for pair, way in ways.items():
        if pair not in back:
            for a, b in pairwise(way):
                below[a].append(b)
                above[b].append(a)
    rows = _ordered(layer, above, below)
    return GoalLayout(layer, _centres(rows, width, above, below), width, ways, back)


def _closing(count: int, pairs: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """The steps that lead to a goal which is still on the way there."""
    following: dict[int, list[int]] = defaultdict(list)
    for source, target in pairs:
        following[source].append(target)
    state = [0] * count  # 1: on the way, 2: done
    back: set[tuple[int, int]] = set()
    for root in range(count):
        stack = [(root, iter(following[root]))] if not state[root] else []
        if stack:
            state[root] = 1
        while stack:
            node, rest = stack[-1]
            target = next(rest, -1)
            if target < 0:
                state[node] = 2
                stack.pop()
            elif state[target] == 1:
                back.add((node, target))
            elif not state[target]:
                state[target] = 1
                stack.append((target, iter(following[target])))
    return back


def _layers(count: int, pairs: list[tuple[int, int]]) -> list[int]:
    """Of each goal the length of the longest way to it."""
    following: dict[int, list[int]] = defaultdict(list)
    waiting = [0] * count
    for source, target in pairs:
        following[source].append(target)
        waiting[target] += 1
    layer = [0] * count
    ready = [node for node in range(count) if not waiting[node]]
    while ready:
        node = ready.pop()
        for target in following[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layer


def _ordered(
    layer: list[int], above: dict[int, list[int]], below: dict[int, list[int]]
) -> list[list[int]]:
    """The places of each layer, from left to right."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=0) + 1)]
    for place, level in enumerate(layer):
        rows[level].append(place)
    rank = {place: float(at) for row in rows for at, place in enumerate(row)}
    for sweep in range(SWEEPS):
        kin = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            row.sort(key=lambda p: _mean([rank[k] for k in kin[p]], rank[p]))
            rank.update((place, float(at)) for at, place in enumerate(row))
    return rows


def _centres(
    rows: list[list[int]], width: list[float], above: dict[int, list[int]],
    below: dict[int, list[int]],
) -> list[float]:  # fmt: skip
    """Where each place is centred: near its neighbours, and apart from those beside it."""
    centre = [0.0] * len(width)
    for row in rows:
        edge = 0.0
        for place in row:
            centre[place] = edge + width[place] / 2
            edge += width[place] + GAP
    for sweep in range(SWEEPS):
        kin = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wish = [_mean([centre[k] for k in kin[p]], centre[p]) for p in row]
            # Pushed right, then left: half of each keeps a row in the middle of its wishes.
            right = _apart(row, wish, width)
            left = [-x for x in _apart(row[::-1], [-x for x in wish[::-1]], width)][::-1]
            for place, a, b in zip(row, right, left, strict=True):
                centre[place] = (a + b) / 2
    least = min((c - w / 2 for c, w in zip(centre, width, strict=True)), default=0.0)
    return [c - least + MARGIN for c in centre]


def _apart(row: list[int], wish: list[float], width: list[float]) -> list[float]:
    placed: list[float] = []
    for at, place in enumerate(row):
        x = wish[at]
        if at:
            x = max(x, placed[-1] + (width[row[at - 1]] + width[place]) / 2 + GAP)
        placed.append(x)
    return placed


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _top(layer: int) -> float:
    return MARGIN + layer * LEVEL


def _edge(layout: GoalLayout, ends: tuple[int, int], steps: list[GoalStep]) -> str:
    source, target = ends
    x = [layout.centre[p] for p in layout.ways[ends]]
    y = [_top(layout.layer[p]) for p in layout.ways[ends]]
    if ends in layout.back:
        # Around the right side of both.
        a = layout.centre[source] + layout.width[source] / 2
        b = layout.centre[target] + layout.width[target] / 2
        ya, yb = y[0] + HEIGHT / 2, y[-1] + HEIGHT / 2 - (8 if source == target else 0)
        out = max(a, b) + LOOP
        path = f"M{a:.1f} {ya:.1f}C{out:.1f} {ya:.1f} {out:.1f} {yb:.1f} {b:.1f} {yb:.1f}"
        label = (out - 6, (ya + yb) / 2)
        dash, tip = ' stroke-dasharray="4 3"', _tip(b, yb, -1, 0)
    else:
        path = f"M{x[0]:.1f} {y[0] + HEIGHT:.1f}"
        for i in range(1, len(x)):
            last = i == len(x) - 1
            begin = y[i - 1] + (HEIGHT if i == 1 else HEIGHT / 2)
            end = y[i] - 5 if last else y[i] + HEIGHT / 2
            middle = (begin + end) / 2
            path += f"C{x[i - 1]:.1f} {middle:.1f} {x[i]:.1f} {middle:.1f} {x[i]:.1f} {end:.1f}"
        label = ((x[0] + x[1]) / 2, (y[0] + HEIGHT + y[1]) / 2)
        dash, tip = "", _tip(x[-1], y[-1], 0, 1)
    chance = sum(step.probability for step in steps)
    said = "\n".join(f"{s.probability:.4g}  {s.clause}" for s in steps)
    text = ""
    if abs(chance - 1) > 1e-9:
        text = (
            f'<text x="{label[0]:.1f}" y="{label[1] + 3:.1f}" text-anchor="middle" font-size="10" '
            f'fill="#1f2328" stroke="#ffffff" stroke-width="3" paint-order="stroke">'
            f"{chance:.3g}</text>"
        )
    return (
        f"<g><title>{_xml(said)}</title>"
        f'<path d="{path}" fill="none" stroke="#59636e"{dash}/>{tip}{text}</g>'
    )


def _tip(x: float, y: float, dx: int, dy: int) -> str:
    """An arrow's head that points along (dx, dy) and ends at (x, y)."""
    bx, by = x - 7 * dx, y - 7 * dy
    points = f"{x:.1f},{y:.1f} {bx - 3.5 * dy:.1f},{by - 3.5 * dx:.1f} {bx + 3.5 * dy:.1f},"
    return f'<polygon points="{points}{by + 3.5 * dx:.1f}" fill="#59636e"/>'


def _xml(text: str) -> str:
    return escape("\n".join(one_line(line) for line in text.split("\n")), quote=True)
