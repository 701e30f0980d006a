"""A terminal's screen, as far as line editors use one: what stands where, and a picture of it."""

from __future__ import annotations

import re
from html import escape

_SEQUENCE = re.compile(
    r"\x1b\[([?\d;]*)([A-Za-z])|\x1b[()=>][A-Z0-9]?|([\x00-\x1f])|(.)", re.DOTALL
)
_BOLD, _FAINT, _GREEN = 1, 102, 32
_STYLES = {_BOLD: "b", _GREEN: "g", _FAINT: "f"}


class VirtualScreen:
    """So many columns of characters, each with its styles; lines scroll without end."""

    def __init__(self, columns: int = 80) -> None:
        self.columns = columns
        self.rows: list[list[tuple[str, frozenset[str]]]] = [[]]
        self.row = self.column = 0
        self.style: frozenset[str] = frozenset()

    def feed(self, text: str) -> None:
        """Take what a program wrote."""
        for found in _SEQUENCE.finditer(text):
            if found[2]:
                self._control(found[1], found[2])
            elif found[3]:
                self._move(found[3])
            elif found[4]:
                self._put(found[4])

    def text(self) -> str:
        """The lines, without blanks at their ends."""
        return "\n".join("".join(c for c, _ in row).rstrip() for row in self.rows).rstrip()

    def _put(self, char: str) -> None:
        if self.column >= self.columns:
            self._move("\r")
            self._move("\n")
        row = self.rows[self.row]
        row.extend([(" ", frozenset())] * (self.column + 1 - len(row)))
        row[self.column] = char, self.style
        self.column += 1

    def _move(self, char: str) -> None:
        if char == "\r":
            self.column = 0
        elif char == "\b":
            self.column = max(self.column - 1, 0)
        elif char == "\n":
            self.row += 1
            if self.row == len(self.rows):
                self.rows.append([])

    def _control(self, given: str, letter: str) -> None:
        numbers = [int(n) for n in given.strip("?").split(";") if n]
        count = numbers[0] if numbers else 1
        if letter == "m":
            codes = set(numbers)
            # 38;5;102 is a grey of 256 colours.
            self.style = frozenset(name for code, name in _STYLES.items() if code in codes)
        elif letter == "A":
            self.row = max(self.row - count, 0)
        elif letter == "B":
            self.row = min(self.row + count, len(self.rows) - 1)
        elif letter == "C":
            self.column += count
        elif letter == "D":
            self.column = max(self.column - count, 0)
        elif letter in "JK":
            del self.rows[self.row][self.column :]
            if letter == "J":
                del self.rows[self.row + 1 :]


def svg(screen: VirtualScreen, title: str) -> str:
    """The screen as a drawing, in a window's frame."""
    wide, high, left, top = 8.4, 19, 18, 58
    rows = screen.rows[: screen.text().count("\n") + 1]
    width, height = round(2 * left + wide * screen.columns), top + high * len(rows) + 6
    lines = []
    for at, row in enumerate(rows):
        parts = "".join(
            f'<tspan class="{style}">{escape(text)}</tspan>' if style else escape(text)
            for text, style in _runs(row)
        )
        if parts:
            y = top + high * at
            lines.append(f'<text x="{left}" y="{y}" xml:space="preserve">{parts}</text>')
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" \
height="{height}" role="img" aria-label="{escape(title)}">
<style>text{{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3}}
.b{{font-weight:600}}.g{{fill:#56d364;font-weight:600}}.f{{fill:#9198a1}}</style>
<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>
<circle cx="20" cy="18" r="6" fill="#57606a"/><circle cx="40" cy="18" r="6" fill="#57606a"/>
<circle cx="60" cy="18" r="6" fill="#57606a"/>
<text x="{width // 2}" y="23" text-anchor="middle" class="f">{escape(title)}</text>
{chr(10).join(lines)}
</svg>
"""


def _runs(row: list[tuple[str, frozenset[str]]]) -> list[tuple[str, str]]:
    """A line's characters, those of one style together."""
    runs: list[tuple[str, str]] = []
    for char, styles in row:
        style = "g" if "g" in styles else "f" if "f" in styles else "b" if "b" in styles else ""
        if runs and runs[-1][1] == style:
            runs[-1] = runs[-1][0] + char, style
        else:
            runs.append((char, style))
    while runs and not runs[-1][0].strip():
        runs.pop()
    return runs
