"""Formulas as MathML, which browsers draw by themselves: no script, no font, no request.

A hook of mkdocs. Pages write formulas as code hosts read them: a ```math block, or $`x_i`$ in a
line; here both become MathML when the site is built.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

BLOCK = re.compile(r'<div class="math">(.*?)</div>', re.DOTALL)
INLINE = re.compile(r"\$<code>(.*?)</code>\$", re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    content = BLOCK.sub(lambda match: as_mathml(match[1], "block"), content)
    return INLINE.sub(lambda match: as_mathml(match[1], "inline"), content)


def as_mathml(latex: str, display: str) -> str:
    shown = convert(html.unescape(latex.strip()), display=display)
    return f'<div class="formula">{shown}</div>' if display == "block" else shown
