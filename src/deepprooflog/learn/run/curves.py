"""Training curves as SVG: one panel below the other, a line for each series."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from deepprooflog.data.whole import cannot_write
from deepprooflog.errors import ModelError

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 32, 36
COLOURS = ("#1f5fa8", "#c2571a", "#2d7d46", "#7a3e9d")

Series = Mapping[str, Sequence[tuple[float, float]]]
"""Points (x, y) by the name of the line."""


def curves(panels: Mapping[str, Series], x_name: str = "epoch") -> str:
    """The panels as one SVG document; points that are not finite are left out.

    >>> svg = curves({"loss": {"training": [(1, 2.0), (2, 1.0)]}})
    >>> svg.startswith("<svg"), svg.count("<polyline")
    (True, 1)
    """
    parts = [_panel(name, series, i * HEIGHT, x_name)
             for i, (name, series) in enumerate(panels.items())]  # fmt: skip
    height = HEIGHT * max(len(parts), 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12" fill="#333">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n' + "".join(parts) + "</svg>\n"
    )


def _panel(name: str, series: Series, top: float, x_name: str) -> str:
    lines = {
        label: [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
        for label, points in series.items()
    }
    every = [point for points in lines.values() for point in points]
    if not every:
        return ""
    x_ticks = ticks(min(x for x, _ in every), max(x for x, _ in every))
    y_ticks = ticks(min(y for _, y in every), max(y for _, y in every))

    def across(x: float) -> float:
        span = x_ticks[-1] - x_ticks[0]
        return LEFT + (x - x_ticks[0]) / span * (WIDTH - LEFT - RIGHT)

    def down(y: float) -> float:
        span = y_ticks[-1] - y_ticks[0]
        return top + HEIGHT - BOTTOM - (y - y_ticks[0]) / span * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="{top + 18}" font-weight="bold">{escape(name)}</text>']
    for y in y_ticks:
        parts.append(
            f'<path d="M{LEFT} {down(y):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{down(y) + 4:.1f}" text-anchor="end">{y:g}</text>'
        )
    base = top + HEIGHT - BOTTOM
    for x in x_ticks:
        parts.append(f'<text x="{across(x):.1f}" y="{base + 16}" text-anchor="middle">{x:g}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{base + 30}" text-anchor="end">{x_name}</text>')
    for i, (label, points) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
            f'<text x="{WIDTH - RIGHT - 110 * (len(lines) - 1 - i)}" y="{top + 18}" '
            f'text-anchor="end" fill="{colour}">{escape(label)}</text>'
        )
    return "\n".join(parts) + "\n"


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers that enclose a range.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(12, 79), ticks(3, 3)
    ([0.0, 20.0, 40.0, 60.0, 80.0], [2.0, 2.5, 3.0, 3.5, 4.0])
    """
    if high <= low:
        pad = abs(low) / 3 or 1.0
        low, high = low - pad, high + pad
    raw = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


class Scalars:
    """The scalars of a run, in a folder that `tensorboard --logdir` reads.

    `after` is the last step of a run that is resumed: what a file has beyond it is not shown.
    """

    def __init__(self, folder: Path, after: int = 0) -> None:
        try:
            module = importlib.import_module("torch.utils.tensorboard")
        except ImportError:
            raise ModelError(
                "TensorBoard is not installed", hint="pip install 'deepprooflog[tensorboard]'"
            ) from None
        self.folder = folder
        try:
            self.writer = module.SummaryWriter(str(folder), purge_step=after + 1 if after else None)
        except OSError as error:
            raise cannot_write(error, folder) from None

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """The values of a step."""
        try:
            for name, value in values.items():
                self.writer.add_scalar(name, value, step)
        except OSError as error:
            raise cannot_write(error, self.folder) from None

    def close(self) -> None:
        """Write out what is still in memory."""
        try:
            self.writer.close()
        except OSError as error:
            raise cannot_write(error, self.folder) from None
