"""The part of a goal graph that p_success depends on.

A goal from which neither True nor an open goal can be reached has success 0 whatever its steps
weigh. It stays as a choice of the goals before it, where it takes its share, but its own successors
need no weights.
"""

from __future__ import annotations

import torch

from deepprooflog.relational.layers import Layers, Steps
from deepprooflog.relational.sweeps.sweep import ANY, sweep


def pruned(layers: Layers) -> Layers:
    """The layers without the successors of goals that must fail: the same masses, fewer steps.

    >>> from deepprooflog.logic.program import Program
    >>> from deepprooflog.relational.database import Database
    >>> from deepprooflog.relational.layers import explore
    >>> database = Database.of(Program(":- dynamic(u/0). p :- q. p :- r, s. q. r. s :- u."))
    >>> layers = explore(database, database.goals(["p"]), max_depth=9)
    >>> [len(goals) for goals in layers.goals], [len(goals) for goals in pruned(layers).goals]
    ([1, 2, 2, 1], [1, 2, 1])
    """
    # From where True or an open goal can be reached.
    live = list(sweep(layers, ANY, open=True))[::-1]
    goals, steps, open_ = [layers.goals[0]], [], [layers.open[0]]
    number = torch.arange(len(layers.goals[0]), device=layers.roots.device)
    for depth, step in enumerate(layers.steps):
        kept = live[depth].index_select(0, step.source).nonzero().squeeze(1)
        if not len(kept):
            break
        source = number.index_select(0, step.source.index_select(0, kept))
        target = step.target.index_select(0, kept)
        present = torch.zeros_like(live[depth + 1])
        present[target] = True
        number = present.cumsum(0) - 1
        goals.append(layers.goals[depth + 1].select(present))
        clause = step.clause.index_select(0, kept)
        steps.append(Steps(source, number.index_select(0, target), clause))
        open_.append(number.index_select(0, layers.open[depth + 1]))
    return Layers(tuple(goals), tuple(steps), layers.roots, tuple(open_), layers.cut)
