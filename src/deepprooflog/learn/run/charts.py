"""Charts of a run: lines over steps and bars by name, as SVG of our own or as PNG by matplotlib."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from deepprooflog.data.whole import write_whole
from deepprooflog.errors import ModelError
from deepprooflog.learn.run.curves import COLOURS, HEIGHT, RIGHT, TOP, WIDTH, Series, curves
from deepprooflog.terminal import visible

LABEL, ROW, NUMBER = 190, 18, 60  # of a bar: room for its name, its height, room for its value
LONGEST = 28  # characters of a name that are shown


@dataclass(frozen=True)
class LineChart:
    """Lines of points (x, y), by name."""

    title: str
    series: Series
    x_name: str = "step"

    @property
    def height(self) -> int:
        return HEIGHT

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        lines = {name: [list(point) for point in points] for name, points in self.series.items()}
        return {"title": self.title, "kind": "lines", "x": self.x_name, "series": lines}


@dataclass(frozen=True)
class BarChart:
    """A number for each name, drawn from 0."""

    title: str
    values: Mapping[str, float]

    @property
    def height(self) -> int:
        return TOP + ROW * len(self.values) + 12

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {"title": self.title, "kind": "bars", "values": dict(self.values)}


Chart: TypeAlias = LineChart | BarChart


def charts_svg(charts: Sequence[Chart]) -> str:
    """The charts one below the other, as one SVG document.

    >>> svg = charts_svg([BarChart("ranks", {"1": 3.0, "2": 1.0})])
    >>> svg.count("<rect"), 'data-value="3.0"' in svg
    (3, True)
    """
    height = sum(chart.height for chart in charts)
    parts, top = [], 0
    for chart in charts:
        inner = _lines(chart) if isinstance(chart, LineChart) else _bars(chart)
        place = f'<svg y="{top}" width="{WIDTH}" height="{chart.height}" '
        parts.append(inner.replace("<svg ", place, 1))
        top += chart.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12" fill="#333">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n' + "".join(parts) + "</svg>\n"
    )


def _lines(chart: LineChart) -> str:
    return curves({chart.title: chart.series}, chart.x_name)


def _bars(chart: BarChart) -> str:
    longest = max(chart.values.values(), default=0.0) or 1.0
    room = WIDTH - LABEL - NUMBER - RIGHT
    parts = [f'<text x="{RIGHT}" y="18" font-weight="bold">{escape(chart.title)}</text>']
    for at, (name, value) in enumerate(chart.values.items()):
        y, whole = TOP + ROW * at, escape(visible(name, keep=""))
        shown = escape(_short(name))
        width = room * value / longest
        parts.append(
            f'<text x="{LABEL - 6}" y="{y + 12}" text-anchor="end">{shown}</text>'
            f'<rect x="{LABEL}" y="{y + 2}" width="{width:.2f}" height="{ROW - 4}" '
            f'fill="{COLOURS[0]}" data-name="{whole}" data-value="{value!r}">'
            f"<title>{whole}: {value:g}</title></rect>"
            f'<text x="{LABEL + width + 5:.1f}" y="{y + 12}">{value:.4g}</text>'
        )
    size = f'viewBox="0 0 {WIDTH} {chart.height}"'
    return f"<svg {size}>\n" + "\n".join(parts) + "\n</svg>\n"


def charts_figure(charts: Sequence[Chart]) -> Any:
    """The same as a figure of matplotlib."""
    try:
        module = importlib.import_module("matplotlib.figure")
    except ImportError:
        raise ModelError(
            "pictures of pixels are drawn by matplotlib, which is not installed",
            hint="pip install 'deepprooflog[plot]', or -o FILE.svg",
        ) from None
    heights = [chart.height / 100 for chart in charts]
    figure = module.Figure(figsize=(WIDTH / 100, sum(heights) + 0.5), layout="constrained")
    axes = figure.subplots(len(charts), 1, squeeze=False, height_ratios=heights)[:, 0]
    for own, chart in zip(axes, charts, strict=True):
        # A dollar sign would begin a formula.
        own.set_title(_plain(chart.title), loc="left", fontsize=9, fontweight="bold")
        own.tick_params(labelsize=7)
        if isinstance(chart, LineChart):
            for (name, points), colour in zip(chart.series.items(), COLOURS, strict=False):
                xs, ys = [x for x, _ in points], [y for _, y in points]
                own.plot(xs, ys, label=_plain(name), color=colour, marker=".", linewidth=1.2)
            own.set_xlabel(_plain(chart.x_name), fontsize=8)
            own.legend(fontsize=7)
        else:
            names = [_plain(_short(name)) for name in chart.values]
            places = list(range(len(names)))
            own.barh(places, list(chart.values.values()), color=COLOURS[0])
            own.set_yticks(places, names)
            own.invert_yaxis()
    return figure


def write_png(path: Path, charts: Sequence[Chart]) -> None:
    """The charts as a picture of pixels."""
    pixels = io.BytesIO()
    charts_figure(charts).savefig(pixels, dpi=150, format="png")
    write_whole(path, pixels.getvalue())


def _short(name: str) -> str:
    """A name as it is shown: on one line, and not too long."""
    text = visible(name, keep="")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _plain(text: str) -> str:
    return visible(text, keep="").replace("$", r"\$")
