"""HTML for notebooks: tables and folds in which whatever came from outside is text.

>>> print(table(("name", "p"), [("<b>", 0.5)]))
<table><thead><tr><th>name</th><th class=n>p</th></tr></thead>
<tbody><tr><td>&lt;b&gt;</td><td class="n">0.5</td></tr></tbody></table>
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TypeAlias

from deepprooflog.terminal import visible

LONGEST = 2_000
"""Characters of a name that are shown; the rest is counted."""


class Markup(str):
    """HTML made here, which is not escaped again."""

    __slots__ = ()


Cell: TypeAlias = "str | int | float | bool | None"


def text(raw: str) -> Markup:
    r"""Any text as HTML: escaped, what a browser would obey made visible, its end cut if long.

    >>> text("<script> \u202e"), text("x" * 3000)[-25:]
    ('&lt;script&gt; \\u202e', 'xxxxx… (3,000 characters)')
    """
    cut = raw if len(raw) <= LONGEST else f"{raw[:LONGEST]}… ({len(raw):,} characters)"
    return Markup(escape(visible(cut)))


def code(raw: str) -> Markup:
    """Program text."""
    return Markup(f"<code>{text(raw)}</code>")


def number(value: float) -> str:
    """A number in a cell: four digits are enough to look at."""
    return f"{value:.4g}"


def meter(value: float) -> Markup:
    """A share between 0 and 1 as a bar."""
    share = 100 * min(max(value, 0.0), 1.0)
    return Markup(f'<span class="m"><i style="width:{share:.3g}%"></i></span>')


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Markup:
    """A table; numbers stand to the right, None is an empty cell."""
    given = [*rows]
    right = [_is_number(cell) for cell in given[0]] if given else [False] * len(head)
    top = "".join(
        f"<th{' class=n' * of}>{text(name)}</th>" for name, of in zip(head, right, strict=True)
    )
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in given)
    return Markup(f"<table><thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table>")


def fold(summary: str, inside: str, *, unfolded: bool = False) -> Markup:
    """Something that opens by a click; text in either is escaped unless it is `Markup`."""
    mark = " open" if unfolded else ""
    return Markup(f"<details{mark}><summary>{_html(summary)}</summary>{_html(inside)}</details>")


def line(*parts: str) -> Markup:
    """A line of text; parts that are `Markup` stand as they are."""
    return Markup(f"<p>{' '.join(map(_html, parts))}</p>")


def block(*parts: Markup) -> str:
    """What `_repr_html_` gives: parts with the style they need, which touches nothing else."""
    return f'<div class="dpl-out"><style>{_STYLE}</style>{"".join(parts)}</div>'


def _html(part: str) -> str:
    return part if type(part) is Markup else text(part)


def _is_number(value: Cell) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Cell) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, str):
        return f"<td>{_html(value)}</td>"
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    shown = f"{value:,}" if isinstance(value, int) else number(value)
    return f'<td class="n">{shown}</td>'


# A notebook's page has its own colours, light or dark: these follow them.
_STYLE = """
.dpl-out{font-size:13px;line-height:1.45;color:inherit}
.dpl-out table{border-collapse:collapse;margin:4px 0}
.dpl-out th,.dpl-out td{padding:2px 12px 2px 0;text-align:left;vertical-align:top;border:0;
border-bottom:1px solid rgba(128,128,128,.35);background:none}
.dpl-out .n{text-align:right;font-variant-numeric:tabular-nums}
.dpl-out p{margin:2px 0}
.dpl-out code{font-size:12px;background:none;color:inherit;white-space:pre-wrap;
overflow-wrap:anywhere;padding:0}
.dpl-out summary{cursor:pointer}
.dpl-out ul{margin:0;padding:0 0 0 16px;list-style:none;border-left:1px solid rgba(128,128,128,.35)}
.dpl-out .m{display:inline-block;width:60px;height:6px;border-radius:3px;overflow:hidden;
vertical-align:middle;background:rgba(128,128,128,.3)}
.dpl-out .m i{display:block;height:100%;background:#2f7dd1}
.dpl-out .f{opacity:.75}
"""
