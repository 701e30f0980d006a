"""LaTeX: brackets that give the tree back, and pdflatex's own verdict where it is installed."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given

from deepprooflog.proof import Node, Proof
from deepprooflog.proof.render.latex import escape

from .conftest import NASTY, proofs


def bracket_depths(source: str) -> list[int]:
    """The depth of each `[` outside braces in a forest; fails when anything does not balance."""
    tree = source[source.index("\n  [") : source.index("\n\\end{forest}")]
    depths: list[int] = []
    braces = brackets = 0
    characters = iter(tree)
    for char in characters:
        if char == "\\":
            next(characters)  # \{ and \} are signs, not braces
        elif char in "{}":
            braces += 1 if char == "{" else -1
        elif char in "[]" and braces == 0:
            if char == "[":
                depths.append(brackets)
            brackets += 1 if char == "[" else -1
        assert braces >= 0
        assert brackets >= 0
    assert braces == brackets == 0
    return depths


def test_small_proof(small: Proof) -> None:
    bare = small.to_latex(standalone=False)
    assert bare.startswith("\\begin{forest}\n")
    assert bare.endswith("\n\\end{forest}")
    assert bare.split("\n")[6:12] == [
        r"  [{\texttt{?- even(I), name(N, M), likes(ann, N).}\\\texttt{N = 4}\\"
        r"\texttt{M = \textquotesingle{}four \& {\char34}IV{\char34}\textquotesingle{}}\\"
        r"{\footnotesize $p = 0.27$}}",
        r"    [{\texttt{even(<tensor 0>)}\\{\footnotesize $p = 0.6$}\\"
        r"{\scriptsize\color{black!60}\texttt{rule: 0.6::even(X) :- digit(X, D), 0 is D mod 2,"
        r" \textbackslash{}+}}\\{\scriptsize\color{black!60}\texttt{big(D).}}\\"
        r"{\scriptsize\color{black!60}\texttt{even.pl:4}}}",
        r"      [{\texttt{digit(<tensor 0>, 4)}\\{\footnotesize $p = 0.5$}\\"
        r"{\scriptsize\color{black!60}\texttt{neural: lenet(<tensor 0>) = 4}}\\"
        r"{\scriptsize\color{black!60}\texttt{even.pl:1}}}",
        r"      ]",
        r"      [{\texttt{0 is 4 mod 2}\\{\footnotesize $p = 1$}\\"
        r"{\scriptsize\color{black!60}\texttt{builtin: is/2}}}",
        r"      ]",
    ]
    assert bracket_depths(bare) == [0, 1, 2, 2, 2, 1, 1, 2]
    document = small.to_latex()
    assert document.startswith("\\documentclass[border=4pt]{standalone}\n\\usepackage{forest}\n")
    assert f"\n{bare}\n\\end{{document}}\n" in document


@given(proofs())
def test_brackets_give_the_tree(proof: Proof) -> None:
    source = proof.to_latex()
    source.encode()
    assert bracket_depths(source) == [0, *(node.depth + 1 for node in proof.nodes)]
    assert "\n\n" not in source  # an empty line would end the paragraph inside a node


def test_escape() -> None:
    assert escape("a_1 & {b} 50% #2 $x ^~") == (
        r"a\_1 \& \{b\} 50\% \#2 \$x \textasciicircum{}\textasciitilde{}"
    )
    assert escape("-->") == "-{}->"
    assert escape(" a  b") == r"\ a \ b"
    assert escape("père") == "père"
    assert escape("数") == r"\proofchar{6570}{数}"


def test_exponents() -> None:
    assert r"$p = 1.135\cdot 10^{-4343}$" in Proof("p", {}, -10_000.0, ()).to_latex()


def test_deep_proof(deep: Proof) -> None:
    source = deep.to_latex()
    assert bracket_depths(source) == list(range(20_001))
    assert "% 20000 levels deep: TeX may need more memory" in source


def tex() -> str:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not installed")
    for style in ("forest.sty", "standalone.cls"):
        found = subprocess.run(["kpsewhich", style], capture_output=True, check=False)
        if found.returncode:
            pytest.skip(f"pdflatex has no {style}")
    return program


def compile_document(source: str, folder: Path) -> None:
    (folder / "proof.tex").write_text(source, encoding="utf-8")
    run = subprocess.run(
        [tex(), "-interaction=nonstopmode", "-halt-on-error", "proof.tex"],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout.decode(errors="replace")[-2000:]
    assert (folder / "proof.pdf").read_bytes().startswith(b"%PDF")


def test_pdflatex_compiles_a_small_proof(small: Proof, tmp_path: Path) -> None:
    compile_document(small.to_latex(), tmp_path)


def test_pdflatex_compiles_nasty_text(tmp_path: Path) -> None:
    printable = "".join(chr(c) for c in range(32, 127))
    latin = "".join(chr(c) for c in range(0xA0, 0x180))
    texts = [*NASTY, printable, latin, "αβγ → ∀ مرحبا"]
    nodes = tuple(Node(t, "rule", t, t, -0.5, -1, 0) for t in texts)
    compile_document(Proof(printable, {"X": latin}, -math.inf, nodes).to_latex(), tmp_path)


def test_pdflatex_compiles_the_bare_environment_in_an_article(small: Proof, tmp_path: Path) -> None:
    nodes = (*small.nodes, Node("数 − ×", "fact", "é", None, 0.0, -1, 0))
    bare = Proof("q", {}, 0.0, nodes).to_latex(standalone=False)
    document = (
        "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{forest}\n"
        f"\\begin{{document}}\nBefore.\n\n{bare}\n\nAfter.\n\\end{{document}}\n"
    )
    compile_document(document, tmp_path)
