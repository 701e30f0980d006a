"""What a run was trained on: the copy of its graph and rules that it keeps; facts told since."""

from __future__ import annotations

import warnings
from dataclasses import replace

from deepprooflog.errors import Notice
from deepprooflog.kg.data.fact_changes import changed_graph, read_changes
from deepprooflog.kg.data.snapshot import Snapshot, read_snapshot, snapshot_path
from deepprooflog.kg.learn.options import SharedOptions
from deepprooflog.kg.learn.setup import read_sources, with_mined
from deepprooflog.learn.run.folder import RunFolder


def sources_of_run(run: RunFolder, options: SharedOptions, told: bool) -> Snapshot:
    """What the run was trained on; `told`: with word of what has changed since."""
    path = snapshot_path(run.path)
    if not path.exists():
        warnings.warn(
            f"{run.path} keeps no copy of its graph: that {options.data} is what it was trained on "
            "is taken on trust",
            Notice,
            stacklevel=3,
        )
        return with_mined(read_sources(options), options)
    own = read_snapshot(path)
    changes = own.changes() if told else []
    if changes:
        warnings.warn(
            f"{run.path} answers from what it was trained on; since then: {'; '.join(changes)}; "
            "--data FOLDER asks about a graph as it is now",
            Notice,
            stacklevel=3,
        )
    return own


def with_told(run: RunFolder, own: Snapshot) -> Snapshot:
    """What the run was trained on, with the facts that were added and removed since."""
    changes = read_changes(run)
    if not changes:
        return own
    warnings.warn(f"{run.path}: {changes} since training", Notice, stacklevel=3)
    return replace(own, graph=changed_graph(own.graph, changes.added, changes.removed))
