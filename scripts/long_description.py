"""The README as package indexes show it: hatchling calls this when it builds (see pyproject.toml).

An index page stands alone. A link to a file of the project would lead nowhere from there, and a
picture would be broken: links become their text with the file's path, pictures and comments are
left out. Links to other places stay.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_COMMENT = re.compile(r"<!--.*?-->\n?\n?", re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?://)[^)]*\)\n?\n?")
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#)([^)\s]+)\)")
_NOTE = "\nPaths in parentheses are files of the source distribution, where these pages are.\n"


class LongDescription(MetadataHookInterface):
    """Sets the project's `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": standing_alone(text)}


def standing_alone(text: str) -> str:
    """The page without links to files beside it.

    >>> page = "![A](a.png)\\n\\nSee [the page](docs/a.md) and [LICENSE](LICENSE)."
    >>> print(standing_alone(page), end="")
    See the page (`docs/a.md`) and `LICENSE`.
    <BLANKLINE>
    Paths in parentheses are files of the source distribution, where these pages are.
    """
    text = _PICTURE.sub("", _COMMENT.sub("", text))
    return _LINK.sub(_path, text).rstrip("\n") + "\n" + _NOTE


def _path(link: re.Match[str]) -> str:
    shown, path = link.groups()
    return f"`{path}`" if shown == path else f"{shown} (`{path}`)"
