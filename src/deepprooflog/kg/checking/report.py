"""A graph's check for people: a table of counts, relations that say the same, and places."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.triples import SPLITS

if TYPE_CHECKING:
    from deepprooflog.kg.checking.check import GraphCheck

# What is counted, how it is called, and of which splits.
COUNTS = (
    ("rows", "rows", SPLITS),
    ("duplicates", "duplicates", SPLITS),
    ("header_rows", "rows that name columns", SPLITS),
    ("in_train", "also in train", SPLITS[1:]),
    ("in_valid", "also in valid", SPLITS[2:]),
    ("unseen_entity", "with an entity train lacks", SPLITS[1:]),
    ("unseen_relation", "with a relation train lacks", SPLITS[1:]),
    ("self_loops", "self loops r(x, x)", SPLITS),
    ("inverse_in_train", "some s(t, h) in train", SPLITS),
    ("pair_in_train", "another s(h, t) in train", SPLITS),
)
HALVES = (
    ("both", "r(h, ·) and r(·, t) in train"),
    ("head", "r(h, ·) alone"),
    ("tail", "r(·, t) alone"),
    ("none", "neither"),
)
MOST = 20  # pairs of relations
LABEL, CELL = 30, 16  # columns


def check_text(found: GraphCheck) -> str:
    """The check as text."""
    lines = [
        f"{found.name}: {plural(found.entities, 'entity', 'entities')}, "
        f"{plural(found.relations, 'relation')}",
        "",
        f"{'of r(h, t)':<{LABEL}}" + "".join(f"{split:>{CELL}}" for split in found.splits),
    ]
    for key, name, splits in COUNTS:
        cells = (
            _cell(getattr(part, key), part.rows - part.duplicates, key != "rows")
            if split in splits
            else f"{'':>{CELL}}"
            for split, part in found.splits.items()
        )
        lines.append(f"{name:<{LABEL}}" + "".join(cells).rstrip())
    for key, name in HALVES:
        cells = (
            _cell(part.halves[key], part.rows - part.duplicates) if part.halves else f"{'':>{CELL}}"
            for part in found.splits.values()
        )
        lines.append(f"{name:<{LABEL}}" + "".join(cells).rstrip())
    lines += [
        "",
        f"entities that train lacks: {found.unseen_entities:,}; of one training triple: "
        f"{found.single_entities:,}",
        f"relations of one training triple: {found.single_relations:,}",
        *_pairs(found),
    ]
    if found.notices:
        lines += ["", *found.notices]
    told = "no row that falsifies figures"
    if found.faults:
        told = plural(found.faults, "row falsifies", "rows falsify") + " figures"
        told += ": duplicates, leaks between splits, names of columns"
    return "\n".join([*lines, "", told])


def _cell(count: int, of: int, share: bool = True) -> str:
    text = f"{count:,}"
    if share and count and of:
        text += f" ({count / of:.1%})"
    return f"{text:>{CELL}}"


def _pairs(found: GraphCheck) -> list[str]:
    """Relations that say the same."""
    lines = []
    for pair in found.pairs[:MOST]:
        told = f"{pair.first} is {pair.kind}: {pair.shared:,} of {pair.of_first:,} facts"
        if pair.kind != "symmetric":
            told = (
                f"{pair.first} and {pair.second} are {pair.kind}s: {pair.shared:,} facts in common "
                f"of {pair.of_first:,} and {pair.of_second:,}"
            )
        lines += wrap(
            told, 79, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
        )
    rest = len(found.pairs) - MOST
    return [*lines, f"and {rest:,} more such pairs"] if rest > 0 else lines
