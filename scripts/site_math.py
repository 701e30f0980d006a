"""Formulas as MathML, which browsers draw by themselves: no script, no font, no request.

A hook of mkdocs. Pages write formulas as code hosts read them: a ```math block, or $`x_i`$ in a
line; here both become MathML when the site is built.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

from latex2mathml.converter import convert

BLOCK = re.compile(r'<div class="math">(.*?)</div>', re.DOTALL)
INLINE = re.compile(r"\$<code>(.*?)</code>\$", re.DOTALL)

# Browsers that have MathML Core ignore all variants but one: letters are written out.
VARIANT = re.compile(r'<mi mathvariant="([\w-]+)">(\w)</mi>')
PRIMED = re.compile(r"<msup>(<mi>\w</mi>)<mi>&#x02032;</mi></msup>")
ALPHABETS = {"script": "SCRIPT", "bold": "BOLD", "double-struck": "DOUBLE-STRUCK"}


def on_page_content(content: str, **_: Any) -> str:
    content = BLOCK.sub(lambda match: as_mathml(match[1], "block"), content)
    return INLINE.sub(lambda match: as_mathml(match[1], "inline"), content)


def as_mathml(latex: str, display: str) -> str:
    shown = VARIANT.sub(in_variant, convert(html.unescape(latex.strip()), display=display))
    # A name of a function is no sign between two things; what it is applied to stands off a little.
    shown = re.sub(r"<mo>(\w\w+)</mo>", r"<mi>\1</mi>", shown)
    shown = re.sub(r"<mi>(log|exp)</mi>(?=<m[^o])", r'<mi>\1</mi><mspace width="0.17em"/>', shown)
    # A prime is a sign at its place already: raised once more it is a speck.
    shown = re.sub(PRIMED, r'<mrow>\1<mo lspace="0" rspace="0">&#x02032;</mo></mrow>', shown)
    return f'<div class="formula">{shown}</div>' if display == "block" else shown


def in_variant(found: re.Match[str]) -> str:
    """A letter of another alphabet, which Unicode has: some among mathematical letters, some apart.

    >>> in_variant(VARIANT.match('<mi mathvariant="script">L</mi>'))
    '<mi>ℒ</mi>'
    """
    kind, letter = found.groups()
    case = "CAPITAL" if letter.isupper() else "SMALL"
    for start in ("MATHEMATICAL ", ""):
        try:
            name = f"{start}{ALPHABETS[kind]} {case} {letter.upper()}"
            return f"<mi>{unicodedata.lookup(name)}</mi>"
        except KeyError:
            continue
    return found[0]
