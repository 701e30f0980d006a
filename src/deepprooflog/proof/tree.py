"""A proof: one derivation G_0 → … → True, read as a tree of resolved atoms.

>>> s = Node("s(a)", "rule", "0.6::s(X) :- q(X).", "slp.pl:2", math.log(0.6), -1, 0)
>>> q = Node("q(a)", "fact", "0.2::q(a).", "slp.pl:5", math.log(0.2), 0, 1)
>>> print(Proof("s(X)", {"X": "a"}, math.log(0.12), (s, q)))
?- s(X).
└─ s(a)  0.6  by 0.6::s(X) :- q(X).  (slp.pl:2)
   └─ q(a)  0.2  by 0.2::q(a).  (slp.pl:5)
X = a
probability 0.12
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from deepprooflog.errors import ProofLogError

NodeKind = Literal[
    "fact", "rule", "builtin", "guard", "neural", "belief", "missing", "failed"
]  # fmt: skip
KINDS: tuple[NodeKind, ...] = get_args(NodeKind)

FORMATS = ("text", "json", "html", "svg", "latex", "mermaid")
"""What `dprl prove` writes: but for text, each is a method `to_…` of a proof."""

# Networks return float32, whose rounding may carry a certain step a little above probability 1.
_LOG_ONE = 1e-3


@dataclass(frozen=True, slots=True)
class Node:
    """One resolution step: the atom it resolved and what resolved it.

    `atom` is the atom's Prolog text under the proof's final substitution; `reason` the clause's
    text, the builtin's name, or the network's answer (`lenet(<tensor 3>) = 7`); `place` the
    clause's `file:line`; `log_weight` the step's log-probability; `parent` an index into
    `Proof.nodes`, −1 for an atom of the query. In a derivation that failed, a leaf that no clause
    resolved is `missing` (a fact that is not there) or `failed` (a test that does not hold).
    """

    atom: str
    kind: NodeKind
    reason: str
    place: str | None
    log_weight: float
    parent: int
    depth: int


@dataclass(frozen=True)
class Proof:
    """A derivation of `query` under `bindings`, its steps in preorder.

    `log_prob` is log p of this one derivation, not of the query, which may have others. `labels`
    are what people call names in it, and `iris` what the names stand for on the web, where the
    program's maker said so.
    """

    query: str
    bindings: dict[str, str] = field(hash=False)
    log_prob: float
    nodes: tuple[Node, ...]
    checker: Callable[[], bool] | None = field(default=None, compare=False, repr=False)
    labels: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    iris: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        _validate(self)

    def __getstate__(self) -> dict[str, Any]:
        # The checker holds the program and its compiled clauses: it stays in its process.
        return {**self.__dict__, "checker": None}

    def __copy__(self) -> Proof:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proof:
        return replace(self, bindings=dict(self.bindings))

    @property
    def probability(self) -> float:
        """p of this derivation; 0.0 where it is below the smallest float (see `log_prob`)."""
        return math.exp(self.log_prob)

    def check(self) -> bool:
        """Replay every step through the program; True when each one is a resolution step of it."""
        if self.checker is None:
            raise ProofLogError(
                "this proof was loaded without its program",
                hint="prove the query again with `best_proof` and check that proof",
            )
        return self.checker()

    def __str__(self) -> str:
        from deepprooflog.proof.render.text import to_text

        return to_text(self)

    def to_dict(self) -> dict[str, Any]:
        """The proof as plain Python: what `to_json` writes."""
        from deepprooflog.proof.render.json_form import to_dict

        return to_dict(self)

    def to_json(self) -> str:
        """The proof as JSON; `Proof.from_json` reads it back."""
        from deepprooflog.proof.render.json_form import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Proof:
        """The proof that `to_json` wrote; it cannot be checked, since its program is not there."""
        from deepprooflog.proof.render.json_form import from_json

        return from_json(text)

    def _repr_html_(self) -> str:
        from deepprooflog.markup import block
        from deepprooflog.proof.render.fragment import proof_fragment

        return block(proof_fragment(self))

    def to_jsonld(self) -> str:
        """The proof as linked data: JSON-LD in the terms of PROV-O."""
        from deepprooflog.proof.render.jsonld import to_jsonld

        return to_jsonld(self)

    def to_html(self) -> str:
        """One self-contained page: a tree that folds, with search."""
        from deepprooflog.proof.render.html import to_html

        return to_html(self)

    def to_svg(self) -> str:
        """A drawing, the query on top."""
        from deepprooflog.proof.render.svg import to_svg

        return to_svg(self)

    def to_latex(self, *, standalone: bool = True) -> str:
        """A `forest` tree: a document to compile, or only the environment to paste in a paper."""
        from deepprooflog.proof.render.latex import to_latex

        return to_latex(self, standalone=standalone)

    def to_mermaid(self) -> str:
        """A Mermaid flowchart, as Markdown pages show it."""
        from deepprooflog.proof.render.mermaid import to_mermaid

        return to_mermaid(self)


def children(nodes: Sequence[Node]) -> tuple[list[int], list[list[int]]]:
    """The roots, and each node's children, in order.

    >>> step = lambda parent, depth: Node("p", "fact", "p.", None, 0.0, parent, depth)
    >>> children([step(-1, 0), step(0, 1), step(0, 1), step(-1, 0)])
    ([0, 3], [[1, 2], [], [], []])
    """
    roots: list[int] = []
    below: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        (roots if node.parent < 0 else below[node.parent]).append(index)
    return roots, below


def _validate(proof: Proof) -> None:
    """Renderings walk `nodes` once, in order: that needs a true preorder and finite weights."""
    _validate_log(proof.log_prob, "the proof")
    path: list[int] = []  # path[d] is the latest node at depth d
    for index, node in enumerate(proof.nodes):
        if node.kind not in KINDS:
            raise ProofLogError(
                f"node {index} has kind {node.kind!r}; kinds are {', '.join(KINDS)}"
            )
        if not 0 <= node.depth <= len(path):
            raise ProofLogError(
                f"node {index} at depth {node.depth} follows one at {len(path) - 1}"
            )
        above = path[node.depth - 1] if node.depth else -1
        if node.parent != above:
            raise ProofLogError(
                f"node {index} has parent {node.parent}, but in preorder at depth {node.depth} "
                f"it stands below {above}"
            )
        _validate_log(node.log_weight, f"node {index}")
        del path[node.depth :]
        path.append(index)


def _validate_log(value: float, whose: str) -> None:
    if not value <= _LOG_ONE:  # NaN too
        raise ProofLogError(f"{whose} has log-probability {value}, which is not a log-probability")
