"""What is odd about data but no error: kept with its place, for whoever runs to show."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.terminal import visible


@dataclass(frozen=True)
class DataNotice:
    """A warning about data; `count` says how many things it stands for.

    >>> print(DataNotice("2 duplicate facts, left out; the first is p(a,b)", "train.txt", 7, 2))
    train.txt:7: warning: 2 duplicate facts, left out; the first is p(a,b)
    """

    message: str
    file: str | None = None
    line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}:"
        place += "" if self.file is None or self.line is None else f"{self.line}:"
        text = f"{place} warning: {self.message}" if place else f"warning: {self.message}"
        return visible(text, keep="")


def plural(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> plural(1, "fact"), plural(2, "fact"), plural(2, "entity", "entities")
    ('1 fact', '2 facts', '2 entities')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
