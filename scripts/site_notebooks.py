"""The notebooks of examples/notebooks as pages of the site, and as files to download.

A hook of mkdocs. Notebooks are kept without outputs: tests/test_notebooks.py runs them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File


def on_files(files: Any, config: Any) -> Any:
    folder = Path(config.config_file_path).parent / "examples" / "notebooks"
    for path in sorted(folder.glob("*.ipynb")):
        content = path.read_text(encoding="utf-8")
        files.append(File.generated(config, f"notebooks/{path.name}", content=content))
        page = as_markdown(json.loads(content), path.name)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
    return files


def as_markdown(notebook: dict[str, Any], name: str) -> str:
    """The cells one below the other, with a link to the file after the title."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    title, _, rest = parts[0].partition("\n")
    link = f"[{name}]({name}) is this page as a notebook; `examples/notebooks` has it too."
    return "\n\n".join([title, link, rest.strip(), *parts[1:]]) + "\n"
