"""Column stops of `format/2`: text since the last stop, and where it may be stretched.

~t       a place to fill      ~N|   a stop at column N      ~N+   a stop N after the last one
"""

from __future__ import annotations


class Columns:
    """Text under way; `start` is the column it begins in."""

    def __init__(self, start: int = 0) -> None:
        self._done: list[str] = []
        self._pending = ""
        self._fills: list[tuple[int, str]] = []
        # Where the pending text begins, which is the last stop.
        self._stop = start

    def write(self, text: str) -> None:
        self._pending += text

    def fill(self, char: str) -> None:
        """A place that grows with `char` when the next stop is reached."""
        self._fills.append((len(self._pending), char))

    @property
    def column(self) -> int:
        """The column that the next character stands in."""
        return column_after(self._stop, self._pending)

    def stop(self, at: int | None) -> None:
        """A column stop; None stands for the column reached."""
        missing = 0 if at is None else at - self.column
        text = self._pending if missing <= 0 else self._stretched(missing)
        self._done.append(text)
        self._stop = column_after(self._stop, text)
        self._pending, self._fills = "", []

    def stop_after(self, width: int) -> None:
        """A stop so many columns after the last one."""
        self.stop(self._stop + width)

    def _stretched(self, missing: int) -> str:
        # Without a place to fill, the text keeps to the left; what cannot be shared goes last.
        fills = self._fills or [(len(self._pending), " ")]
        share, rest = divmod(missing, len(fills))
        parts, at = [], 0
        for number, (place, char) in enumerate(fills, 1):
            parts.append(self._pending[at:place])
            parts.append(char * (share + (rest if number == len(fills) else 0)))
            at = place
        return "".join(parts) + self._pending[at:]

    def text(self) -> str:
        """Everything written."""
        return "".join(self._done) + self._pending


def column_after(column: int, text: str) -> int:
    """The column after a text that begins in a column.

    >>> column_after(3, "ab"), column_after(3, "ab\\nc")
    (5, 1)
    """
    line = text.rfind("\n")
    return column + len(text) if line < 0 else len(text) - line - 1
