"""Templates, instances, flat graphs, chains and shapes as text that a person can check."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from deepprooflog.graph.unfold.flat import Flat, flatten
from deepprooflog.graph.unfold.pattern import Fill
from deepprooflog.graph.unfold.template import TRUE_TARGET, Template, Templates, Way
from deepprooflog.graph.unfold.unfold import Instances, unfold
from deepprooflog.graph.unfold.way_table import LABEL, NONE, Unfolded, unfolded_rows
from deepprooflog.infer.batches.chain import ONE_ENTRY, ZERO_ENTRY, Chains, find_chains
from deepprooflog.infer.batches.shapes import SharedGraph, find_shapes
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Bernoulli, Clause, Constant, Neural
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.resolve import start
from deepprooflog.syntax.terms import Struct, Term
from deepprooflog.syntax.writer import write_term
from golden.examples import Example


def templates_text(example: Example) -> str:
    """The templates that an example's goals need, and the instances they unfold into."""
    templates, instances = _unfolded(example)
    lines = [*_about(example)]
    for template in templates.all:
        lines += ["", *_template(template)]
    lines += ["", "instances (number: template, slots -> what its exits lead to)", ""]
    rows = [(n, t, q, s, c) for t, of in instances.rows.items() for n, q, s, c in of]
    for number, template_number, query, slots, children in sorted(rows):
        exits = " ".join({-1: "nowhere", 0: "True"}.get(c, str(c)) for c in children)
        lines.append(
            f"  {number}: query {query}  template {template_number}  "
            f"slots {' '.join(map(str, slots)) or '-'}  -> {exits or '-'}"
        )
    return "\n".join(lines) + "\n"


def flat_text(example: Example) -> str:
    """The flat graph of an example's goals: a row for each edge."""
    flat = flatten(_rows(example))
    lines = [*_about(example), "", f"roots {' '.join(map(str, flat.roots))}; node 0 is True", ""]
    for number, asked in enumerate(flat.asked):
        lines.append(f"network {number}: {asked.network}, {asked.domain} values; its rows")
        for row, (query, slots) in enumerate(zip(asked.query, asked.slots, strict=True)):
            lines.append(f"  {row}: query {query}, slot {' '.join(map(str, slots))}")
        lines.append("")
    lines.append("edges")
    order = np.lexsort((flat.target, flat.source))
    for e in order.tolist():
        factors = list(_factors(flat, e))
        if flat.constant[e] or not factors:
            factors.insert(0, f"{np.exp(flat.constant[e]):.4g}")
        lines.append(f"  {flat.source[e]} -> {flat.target[e]}: {' '.join(factors)}")
    return "\n".join(lines) + "\n"


def forms_text(example: Example) -> str:
    """The chains and shapes that an example's flat graph falls into."""
    unfolded = _rows(example)
    starts = unfolded.starts()
    chains, rest = find_chains(unfolded, starts)
    lines = list(_about(example))
    for chain in chains:
        lines += ["", *_chain(chain)]
    for shape in find_shapes(flatten(unfolded, rest), rest, starts):
        lines += ["", *_shape(shape)]
    return "\n".join(lines) + "\n"


def _unfolded(example: Example) -> tuple[Templates, Instances]:
    interner = Interner()
    templates = Templates(example.program, interner, Budget())
    goals = [start(q.atoms, interner) for q in example.goals]
    return templates, unfold(templates, goals)


def _rows(example: Example) -> Unfolded:
    templates, instances = _unfolded(example)
    return unfolded_rows(templates.store, instances)


def _about(example: Example) -> Iterator[str]:
    yield from (f"% {line}" for line in example.text.splitlines())
    yield "%"
    interner = Interner()
    for number, query in enumerate(example.goals):
        yield f"% query {number}: {_goal(start(query.atoms, interner))}"


def _text(term: Term) -> str:
    return re.sub(r"<tensor (\d+)>|'?\$?[Ss]lot\(?(\d+)\)?'?", r"#\1\2", write_term(term))


def _goal(goal: Goal) -> str:
    return ", ".join(map(_text, goal.atoms)) or "True"


def _template(template: Template) -> Iterator[str]:
    holes = " ".join(map(_text, template.pattern.answer)) or "none"
    yield f"template {template.number}: {_goal(template.pattern)}"
    yield f"  holes {holes}"
    if template.opened:
        looked = ", ".join(f"_{i}" + (" whole" if whole else "") for i, whole in template.opened)
        yield f"  its first step looks at {looked}"
    for key, (number, fill) in template.cases.items():
        assert isinstance(key, tuple)
        opened, seen = key
        shown = ", ".join(f"_{i} = {_top(top)}" for (i, _), top in zip(opened, seen, strict=True))
        yield f"  where {shown}: template {number} {_fill(fill)}"
    for way in template.ways or ():
        yield f"  {way.source} -> {_target(way)}: {_choices(way.choices)}"
    for number, (other, fill) in enumerate(template.exits):
        yield f"  exit {number}: template {other} {_fill(fill)}"


def _top(top: object) -> str:
    if isinstance(top, tuple):
        functor, tensors = top
        inside = ["_" if slot < 0 else f"#{slot}" for slot in tensors]
        if repr(functor) == "'[|]'/2" or str(functor).startswith(("'[|]'", ".")):
            return f"[{inside[0]}|{inside[1]}]"
        return f"{functor.name}({', '.join(inside)})"
    return str(top) if isinstance(top, str | int | float) else _text(top)  # type: ignore[arg-type]


def _fill(fill: Fill) -> str:
    slots = " ".join(f"#{s}" if isinstance(s, int) else _place(s) for s in fill.slots)
    holes = " ".join(
        f"_{h}" if isinstance(h, int) else _text(h) if isinstance(h, Struct) else _place(h)
        for h in fill.holes
    )
    return f"(slots {slots or '-'}; holes {holes or '-'})"


def _place(place: tuple[int, int]) -> str:
    return f"_{place[0]}" if place[1] < 0 else f"_{place[0]}.{place[1] + 1}"


def _target(way: Way) -> str:
    if way.target == TRUE_TARGET:
        return "True"
    return f"exit {-2 - way.target}" if way.target < TRUE_TARGET else str(way.target)


def _choices(choices: Sequence[Choice]) -> str:
    return ", ".join(map(_choice, choices)) or "certain"


def _choice(choice: Choice) -> str:
    clause = choice.clause
    assert clause is not None
    label = clause.label
    if isinstance(label, Neural):
        inputs = " ".join(map(_text, choice.inputs))
        return f"{label.network}({inputs}) = {_text(label.domain[choice.number])}"
    if isinstance(label, Bernoulli):
        return f"{label.network}({' '.join(map(_text, choice.inputs))})"
    return _label(clause) if choice.weigher is not WeightSource.LABEL else f"{_label(clause)}"


def _label(clause: Clause) -> str:
    label = clause.label
    value = f"{label.number:g} :: " if isinstance(label, Constant) else "t :: "
    return value + _text(clause.head)


def _factors(flat: Flat, edge: int) -> Iterator[str]:
    parts = zip(flat.kind[edge], flat.row[edge], flat.column[edge], strict=True)
    for kind, row, column in parts:
        if kind == LABEL:
            yield f"t{column}"
        elif kind != NONE:
            yield f"{flat.asked[kind].network}[{row}, {column}]"


def _entry(number: int) -> str:
    return {ONE_ENTRY: "1", ZERO_ENTRY: "0"}.get(number, f"w{number}")


def _chain(chain: Chains) -> Iterator[str]:
    _, layers, wide, _, _, _ = chain.index.shape
    yield f"chains of queries {' '.join(map(str, chain.queries))}: {layers} layers, {wide} wide"
    yield "  (w are a query's own atomic weights: labels, then a network's rows one by one)"
    for number, query in enumerate(chain.queries.tolist()):
        for layer in range(layers):
            yield f"  query {query}, layer {layer}"
            for i, j in itertools.product(range(wide), repeat=2):
                at = (number, layer, i, j)
                constant = None if chain.constant is None else chain.constant[at]
                cell = _cell(chain.index[at], constant)
                if cell != "0":
                    yield f"    {i} -> {j}: {cell}"


def _cell(terms: torch.Tensor, constant: torch.Tensor | None) -> str:
    shown = []
    for number, factors in enumerate(terms.tolist()):
        if ZERO_ENTRY in factors:
            continue
        text = [_entry(f) for f in factors if f != ONE_ENTRY]
        if constant is not None and float(constant[number]):
            text.insert(0, f"{float(constant[number].exp()):.4g}")
        shown.append(" ".join(text) or "1")
    return " + ".join(shown) or "0"


def _shape(shape: SharedGraph) -> Iterator[str]:
    yield f"one shape for queries {' '.join(map(str, shape.queries))}, root {shape.root}"
    yield "  (an edge's factors among a query's own atomic weights; by query its constant)"
    for edge, factors in enumerate(shape.index.tolist()):
        text = " ".join(_entry(f) for f in factors if f != ONE_ENTRY) or "1"
        constants = " ".join(f"{c:.4g}" for c in shape.constant[:, edge].exp().tolist())
        yield f"  edge {edge}: {text}  constant {constants}"
