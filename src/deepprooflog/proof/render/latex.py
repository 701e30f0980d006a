"""A proof as a LaTeX `forest` tree, as papers print derivations."""

from __future__ import annotations

from deepprooflog.proof.render.text import (
    binding_lines,
    one_line,
    probability_text,
    query_text,
    reason_text,
    wrap,
)
from deepprooflog.proof.tree import Node, Proof

_WIDTH, _SMALL_WIDTH = 44, 56  # columns of a box in its two sizes; longer texts take several lines
_INDENTED = 30  # levels of spaces in the source
_DEEP = 200  # nesting that TeX's default memory holds with room to spare

_PREAMBLE = r"""\documentclass[border=4pt]{standalone}
\usepackage{forest}
\begin{document}
"""

_STYLE = r"""  for tree={
    align=center, font=\small\frenchspacing, inner sep=3pt, rounded corners=2pt,
    anchor=north, parent anchor=south, child anchor=north,
    draw=black!35, edge={draw=black!45}, l sep=5mm, s sep=4mm,
  }
"""

# A character pdfTeX's fonts lack: itself under XeTeX and LuaTeX, its Prolog escape elsewhere.
_PROOFCHAR = (
    r"\providecommand\proofchar[2]"
    r"{\ifdefined\Umathchar#2\else\textbackslash x#1\textbackslash\fi}" + "\n"
)

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    '"': r"{\char34}",
}
_LIGATURES = "-<>,?!"  # --, <<, >>, ,,, ?` and !` are single signs in some fonts
_LATIN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ")


def to_latex(proof: Proof, *, standalone: bool = True) -> str:
    """The proof as a document to compile, or as the bare `forest` environment.

    >>> print(to_latex(Proof("true", {}, 0.0, ()), standalone=False))
    \\begin{forest}
      for tree={
        align=center, font=\\small\\frenchspacing, inner sep=3pt, rounded corners=2pt,
        anchor=north, parent anchor=south, child anchor=north,
        draw=black!35, edge={draw=black!45}, l sep=5mm, s sep=4mm,
      }
      [{\\texttt{?- true.}\\\\{\\footnotesize $p = 1$}}
      ]
    \\end{forest}
    """
    given = [query_text(proof), *binding_lines(proof)]
    head = [line for text in given for line in _lines(text, _WIDTH)]
    head.append(rf"{{\footnotesize $p = {_number(proof.log_prob)}$}}")
    lines = ["  [{" + r"\\".join(head) + "}"]
    depth = -1
    for node in proof.nodes:
        lines += _closing(depth, node.depth)
        lines.append(f"{_indent(node.depth)}[{{{_content(node)}}}")
        depth = node.depth
    lines += _closing(depth, 0) if proof.nodes else []
    tree = "\n".join([*lines, "  ]"])
    deepest = max((node.depth for node in proof.nodes), default=0)
    note = f"% {deepest + 1} levels deep: TeX may need more memory\n" if deepest > _DEEP else ""
    macro = _PROOFCHAR if r"\proofchar{" in tree else ""
    body = f"{note}{macro}\\begin{{forest}}\n{_STYLE}{tree}\n\\end{{forest}}"
    return f"{_PREAMBLE}{body}\n\\end{{document}}\n" if standalone else body


def escape(text: str) -> str:
    """Text as LaTeX prints it verbatim in a typewriter font.

    >>> print(escape("'50%'-->_A"))
    \\textquotesingle{}50\\%\\textquotesingle{}-{}->\\_A
    """
    parts: list[str] = []
    previous = ""
    for char in one_line(text):
        if char == " ":
            parts.append(r"\ " if previous in ("", " ") else " ")
        elif char in _SPECIAL:
            parts.append(_SPECIAL[char])
        elif char.isascii() or char in _LATIN:
            parts.append("{}" + char if char == previous and char in _LIGATURES else char)
        else:
            parts.append(rf"\proofchar{{{ord(char):X}}}{{{char}}}")
        previous = char
    return "".join(parts)


def _content(node: Node) -> str:
    reason = reason_text(node)
    why = f"{node.kind}: {reason}" if reason else node.kind
    small = _lines(why, _SMALL_WIDTH) + _lines(node.place or "", _SMALL_WIDTH)
    return r"\\".join(
        [
            *_lines(node.atom, _WIDTH),
            rf"{{\footnotesize $p = {_number(node.log_weight)}$}}",
            *(rf"{{\scriptsize\color{{black!60}}{line}}}" for line in small),
        ]
    )


def _lines(text: str, width: int) -> list[str]:
    return [rf"\texttt{{{escape(line.rstrip(' '))}}}" for line in wrap(one_line(text), width)]


def _number(log_prob: float) -> str:
    mantissa, _, exponent = probability_text(log_prob).partition("e")
    return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _closing(previous: int, depth: int) -> list[str]:
    """The brackets that end the nodes at depth `previous` … `depth`."""
    return [f"{_indent(d)}]" for d in range(previous, depth - 1, -1) if d >= 0]


def _indent(depth: int) -> str:
    return "  " * (min(depth, _INDENTED) + 2)
