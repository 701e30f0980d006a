"""Links: which instances of templates lead to which, whatever the ways between them weigh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.ragged import ragged_ranges
from deepprooflog.graph.unfold.template import TRUE_TARGET
from deepprooflog.graph.unfold.way_table import Ints, Unfolded


@dataclass(frozen=True)
class Links:
    """Which instances lead to which, by ways that all have one target; dead ends are left out."""

    source: Ints  # [L] instances
    target: Ints  # [L] instances; 0 is True
    part: Ints  # [L] whose template it is
    row: Ints  # [L] which of the part's instances
    exit: Ints  # [L] which of the template's targets
    ways: Ints  # [L] how many ways


def find_links(unfolded: Unfolded) -> Links:
    """The links of unfolded queries."""
    columns: list[tuple[Ints, ...]] = [(np.zeros(0, dtype=np.int64),) * 6]
    for number, part in enumerate(unfolded.parts):
        bunches = part.table.bunches
        n, k = len(part.number), len(bunches.targets)
        ends = np.concatenate([np.zeros((n, 1), dtype=np.int64), part.children], axis=1)
        target = ends[:, np.maximum(TRUE_TARGET - bunches.targets, 0)]
        # A way back into the template is a way from the instance to itself.
        target = np.where(bunches.targets >= 0, part.number[:, None], target)
        owner = (np.repeat(part.number, k), target.reshape(-1), np.full(n * k, number))
        place = (np.repeat(np.arange(n), k), np.tile(np.arange(k), n), np.tile(bunches.counts, n))
        columns.append((*owner, *place))
    source, target, parts, row, exit_, ways = (
        np.concatenate(arrays) for arrays in zip(*columns, strict=True)
    )
    keep = _ways_on(len(unfolded.query), source, target)
    return Links(source[keep], target[keep], parts[keep], row[keep], exit_[keep], ways[keep])


def _ways_on(nodes: int, source: Ints, target: Ints) -> NDArray[np.bool_]:
    """The links that do not lead nowhere (−1), nor to nodes from which nothing leads on."""
    keep = target >= 0
    left = np.bincount(source[keep], minlength=nodes)
    order = np.argsort(target, kind="stable")
    begin = np.searchsorted(target[order], np.arange(nodes + 1))
    dead = np.nonzero(left == 0)[0]
    dead = dead[dead != 0]
    while len(dead):
        # The links to dead nodes go, and with them perhaps the last way on of other nodes.
        _, at = ragged_ranges(begin[dead], begin[dead + 1] - begin[dead])
        into = order[at]
        into = into[keep[into]]
        keep[into] = False
        np.subtract.at(left, source[into], 1)
        touched = np.unique(source[into])
        dead = touched[left[touched] == 0]
    return keep
