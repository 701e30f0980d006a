"""Telling a trained run further facts: they are kept in its folder, and nothing is learned anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepprooflog.errors import DataError
from deepprooflog.kg.data.fact_changes import (
    FactChanges,
    FactLike,
    changed_graph,
    fact_keys,
    read_changes,
    write_changes,
)
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.snapshot import read_snapshot, snapshot_path
from deepprooflog.kg.model import TASK
from deepprooflog.learn.run.folder import reopen


@dataclass(frozen=True)
class Told:
    """What telling a run some facts came to."""

    added: int
    removed: int
    known: int  # facts that were there already
    new_entities: tuple[str, ...]  # those that no fact had named before
    changes: FactChanges  # since training, all of them

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "added": self.added, "removed": self.removed, "known": self.known,
            "new_entities": list(self.new_entities),
            "changes": {"added": len(self.changes.added), "removed": len(self.changes.removed)},
        }  # fmt: skip

    def __str__(self) -> str:
        parts = [f"{plural(self.added, 'fact')} added"] * bool(self.added)
        parts += [f"{plural(self.removed, 'fact')} removed"] * bool(self.removed)
        parts += [f"{self.known:,} known already"] * bool(self.known)
        lines = [", ".join(parts)]
        if self.new_entities:
            count = plural(len(self.new_entities), "entity", "entities")
            lines.append(f"{count} that training never saw: {', '.join(self.new_entities[:10])}")
        since = f"{self.changes} since training" if self.changes else "as it was trained"
        return "\n".join([*lines, f"the run's graph: {since}"])


def tell_run(
    folder: str | Path, added: Iterable[FactLike] = (), removed: Iterable[FactLike] = ()
) -> Told:
    """Add facts to the graph of a run, or remove some: all of them, or none and an error.

    The graph that the run was trained on stays as it is; `open` and `dprl query` take the changes
    with it, and say how many they are.
    """
    new, gone = list(added), list(removed)
    with reopen(Path(folder)) as run:
        task, kept = run.config()["task"], snapshot_path(run.path)
        if task != TASK or not kept.exists():
            raise DataError(
                f"a run of {task}: there is no graph of its own to add facts to",
                file=str(run.path), hint="a run of dprl train kg",
            )  # fmt: skip
        own = read_snapshot(kept).graph
        before = read_changes(run)
        graph = changed_graph(own, before.added, before.removed)
        after = changed_graph(graph, new, gone)
        changes = before.followed_by(own, new, gone)
        write_changes(run, changes)
    first, last = len(graph.entities), len(after.entities)
    keys, own_keys = fact_keys(after, last), fact_keys(graph, last)
    more, fewer = (~np.isin(keys, own_keys)).sum(), (~np.isin(own_keys, keys)).sum()
    names = tuple(after.entity_text(number) for number in range(first, last))
    return Told(int(more), int(fewer), len(new) - int(more), names, changes)
