"""A proof in a notebook: the tree, each step a line that folds, without script."""

from __future__ import annotations

import math

from deepprooflog import markup
from deepprooflog.markup import Markup
from deepprooflog.proof.render.text import (
    binding_lines,
    label_lines,
    probability_text,
    query_text,
    reason_text,
)
from deepprooflog.proof.tree import Node, Proof

SHOWN = 400  # steps: a notebook keeps its outputs, and `to_html` has all of them
NESTED = 24  # levels: browsers stop nesting at some hundreds


def proof_fragment(proof: Proof) -> Markup:
    """The proof, to stand within other HTML.

    >>> print(proof_fragment(Proof("a < b", {}, 0.0, ())).partition("</p>")[0])
    <p><code>?- a &lt; b.</code>
    """
    facts = [*binding_lines(proof), *label_lines(proof)]
    chance = f"probability {probability_text(proof.log_prob)}"
    parts = [
        markup.line(markup.code(query_text(proof))),
        _tree(proof.nodes[:SHOWN]),
        markup.line(*map(markup.code, facts), markup.meter(math.exp(proof.log_prob)), chance),
    ]
    if len(proof.nodes) > SHOWN:
        parts.append(
            markup.line(f"{SHOWN} of {len(proof.nodes):,} steps; proof.to_html() shows all of them")
        )
    return Markup("".join(parts))


def _tree(nodes: tuple[Node, ...]) -> Markup:
    parts = ["<ul>"]
    depth = 0
    for at, node in enumerate(nodes):
        level = min(node.depth, NESTED)
        parts += ["</ul></details></li>"] * (depth - level)
        depth = level
        follows = nodes[at + 1].depth if at + 1 < len(nodes) else 0
        if follows > node.depth and level < NESTED:
            parts.append(f"<li><details open><summary>{_step(node)}</summary><ul>")
            depth += 1
        else:
            parts.append(f"<li>{_step(node)}</li>")
    return Markup("".join([*parts, *["</ul></details></li>"] * depth, "</ul>"]))


def _step(node: Node) -> str:
    deep = f"depth {node.depth} " if node.depth > NESTED else ""
    reason = reason_text(node)
    why = f"{node.kind}: {reason}" if reason else node.kind
    place = f" ({node.place})" if node.place else ""
    return (
        f"{deep}{markup.code(node.atom)} {markup.meter(math.exp(node.log_weight))} "
        f"{probability_text(node.log_weight)} "
        f'<span class="f">{markup.code(why)}{markup.text(place)}</span>'
    )
