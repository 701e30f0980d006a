"""The progress line and the curves, as they are seen."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import pytest

from deepprooflog.learn.run.curves import curves, ticks
from deepprooflog.learn.run.progress import Progress

SVG = "{http://www.w3.org/2000/svg}"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_share_text_and_time_left() -> None:
    terminal, clock = Terminal(), Clock()
    bar = Progress(100, terminal, clock)
    clock.now = 10.0
    bar.update(20, "loss 1.5")
    assert terminal.getvalue() == "\r████░░░░░░░░░░░░░░░░  20%  loss 1.5  40 s left"
    clock.now = 10.05
    bar.update(21, "too soon")
    assert "too soon" not in terminal.getvalue()
    clock.now = 50.0
    bar.update(100, "done")
    assert terminal.getvalue().endswith("100%  done  0 s left     ")
    bar.close()
    assert terminal.getvalue().endswith("\n")


def test_a_resumed_run_counts_only_its_own_time() -> None:
    terminal, clock = Terminal(), Clock()
    bar = Progress(100, terminal, clock, done=50)
    clock.now = 10.0
    bar.update(60, "x")
    assert terminal.getvalue().endswith("40 s left")


def test_counting_can_begin_later() -> None:
    terminal, clock = Terminal(), Clock()
    bar = Progress(100, terminal, clock)
    clock.now = 100.0
    bar.begin(50)
    clock.now = 110.0
    bar.update(60, "x")
    assert terminal.getvalue().endswith("40 s left")


def test_silent_where_nobody_watches() -> None:
    stream = io.StringIO()
    bar = Progress(10, stream)
    bar.update(10, "x")
    bar.close()
    assert stream.getvalue() == ""


def test_curves_go_where_the_numbers_go() -> None:
    nan = float("nan")
    svg = curves({"loss <b>": {"a & b": [(1, 4.0), (2, nan), (3, 0.0)]}, "none": {"x": []}})
    root = ElementTree.fromstring(svg)
    (line,) = root.iter(f"{SVG}polyline")
    points = [tuple(map(float, p.split(","))) for p in line.attrib["points"].split()]
    assert len(points) == 2, "what is not finite is left out"
    assert points[0][0] < points[1][0], "time goes to the right"
    assert points[0][1] < points[1][1], "a smaller loss is further down"
    assert "loss <b>" in [text.text for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-3, 7), (1e-9, 2e-9), (5, 5), (0, 0), (99.1, 99.7), (-1e6, 1e6)]
)
def test_ticks_enclose_the_range(low: float, high: float) -> None:
    found = ticks(low, high)
    assert found[0] <= low <= high <= found[-1]
    assert 2 <= len(found) <= 8
    assert not re.search(r"\d{8}", " ".join(f"{t:g}" for t in found))
