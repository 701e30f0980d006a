"""Mermaid: the edges give the tree back, the labels' entities decode to the text."""

from __future__ import annotations

import re

from hypothesis import given

from deepprooflog.proof import Node, Proof
from deepprooflog.proof.render.text import one_line

from .conftest import proofs

NODE = re.compile(r'    (n\d+)\["([^"]*)"\]')
EDGE = re.compile(r'    (q|n\d+) -->\|"([^"]*)"\| (n\d+)')


def decode(label: str) -> str:
    text = re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label)
    return text.replace("\u200b", "")


def test_small_proof(small: Proof) -> None:
    assert small.to_mermaid() == (
        "flowchart TD\n"
        '    q(["?- even(I), name(N, M), likes(ann, N).<br/>N = 4<br/>'
        "M = 'four #38; #34;IV#34;'<br/>probability 0.27\"])\n"
        '    n0["even(#60;tensor 0#62;)<br/>'
        'rule: 0.6::even(X) :- digit(X, D), 0 is D mod 2, #92;+ big(D). (even.pl:4)"]\n'
        '    q -->|"0.6"| n0\n'
        '    n1["digit(#60;tensor 0#62;, 4)<br/>neural: lenet(#60;tensor 0#62;) = 4'
        ' (even.pl:1)"]\n'
        '    n0 -->|"0.5"| n1\n'
        '    n2["0 is 4 mod 2<br/>builtin: is/2"]\n'
        '    n0 -->|"1"| n2\n'
        '    n3["#92;+ big(4)<br/>guard: #92;+ big(D)"]\n'
        '    n0 -->|"1"| n3\n'
        "    n4[\"name(4, 'four #38; #34;IV#34;')<br/>fact: (even.pl:9)\"]\n"
        '    q -->|"1"| n4\n'
        '    n5["likes(ann, 4)<br/>rule: likes(X, Y) :- believe(likes, X, Y). (kg.pl:2)"]\n'
        '    q -->|"1"| n5\n'
        '    n6["believe(likes, ann, 4)<br/>belief: kge(likes, ann, 4)"]\n'
        '    n5 -->|"0.9"| n6\n'
        "    classDef fact stroke:#1a7f37,stroke-width:2px\n"
        "    class n4 fact\n"
        "    classDef rule stroke:#0969da,stroke-width:2px\n"
        "    class n0,n5 rule\n"
        "    classDef builtin stroke:#59636e,stroke-width:2px\n"
        "    class n2 builtin\n"
        "    classDef guard stroke:#9a6700,stroke-width:2px\n"
        "    class n3 guard\n"
        "    classDef neural stroke:#8250df,stroke-width:2px\n"
        "    class n1 neural\n"
        "    classDef belief stroke:#bf3989,stroke-width:2px\n"
        "    class n6 belief"
    )


@given(proofs())
def test_tree_and_atoms_can_be_read_back(proof: Proof) -> None:
    lines = proof.to_mermaid().split("\n")
    assert lines[0] == "flowchart TD"
    nodes = [match for line in lines if (match := NODE.fullmatch(line))]
    edges = [match for line in lines if (match := EDGE.fullmatch(line))]
    styles = [line for line in lines if line.startswith(("    class ", "    classDef "))]
    notes = [line for line in lines if line.startswith("    %% ")]
    assert 2 + len(nodes) + len(edges) + len(styles) + len(notes) == len(lines)
    assert [int(match[1][1:]) for match in nodes] == list(range(len(proof.nodes)))
    parents = [-1 if match[1] == "q" else int(match[1][1:]) for match in edges]
    assert parents == [node.parent for node in proof.nodes]
    for match, node in zip(nodes, proof.nodes, strict=True):
        shown = decode(match[2].split("<br/>")[0])
        assert shown == one_line(node.atom).replace("\u200b", "")


@given(proofs())
def test_labels_hold_no_sign_that_mermaid_acts_on(proof: Proof) -> None:
    text = proof.to_mermaid()
    assert text.isascii()
    for line in text.split("\n"):
        label = re.sub(r"#\d+;", " ", "".join(re.findall(r'"([^"]*)"', line))).replace("<br/>", "")
        assert not set(label) & set('"#&<>`%\\;*_~@')
        assert "$$" not in label
        assert not line.startswith("    n") or not re.search(r"(style|classDef).*:\S*#.*;", line)


def test_signs_that_outlive_entities_are_split() -> None:
    node = Node("a\\nb $$x$$ fa:fa-ban", "fact", "", None, 0.0, -1, 0)
    label = Proof("q", {}, 0.0, (node,)).to_mermaid().split("\n")[2]
    assert "a#92;#8203;nb $#8203;$x$#8203;$ fa:#8203;fa-ban<br/>" in label


def test_limits_are_named(deep: Proof, small: Proof) -> None:
    lines = deep.to_mermaid().split("\n")
    assert lines[1] == "    %% 20000 edges: Mermaid draws 500 unless maxEdges is raised"
    assert re.fullmatch(
        r"    %% \d+ characters: Mermaid reads 50000 unless maxTextSize is raised", lines[2]
    )
    assert sum(EDGE.fullmatch(line) is not None for line in lines) == 20_000
    assert "%%" not in small.to_mermaid()
