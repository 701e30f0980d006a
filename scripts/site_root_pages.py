"""Pages of the site that stand in the repository's root, where a code host looks for them.

A hook of mkdocs, whose own pages are all below docs/: CONTRIBUTING.md and CHANGELOG.md join them,
and links to `../CONTRIBUTING.md`, right on a code host, lead there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")
LINK = re.compile(r"\]\((?:\.\./)+(" + "|".join(map(re.escape, ROOT_PAGES)) + r")([#)])")


def on_files(files: Any, config: Any) -> Any:
    root = Path(config.config_file_path).parent
    for name in ROOT_PAGES:
        content = (root / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=content.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    up = "../" * page.file.src_uri.count("/")
    return LINK.sub(rf"]({up}\1\2", markdown)
