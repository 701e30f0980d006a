"""A goal graph turned around: from where a goal can be reached, and with what weight.

    reach(G) = Σ over steps G' → G of  weight(step) · reach(G')       reach(query) = 1

The weight of every answer is the reach of its True node: solving the turned graph finds them all.
"""

from __future__ import annotations

import numpy as np

from deepprooflog.graph.goalgraph import GoalGraph, Ints
from deepprooflog.logic.choice import Choice, Weigher
from deepprooflog.logic.goal import Goal


def turned(graph: GoalGraph, root: int) -> tuple[GoalGraph, Ints, int]:
    """The turned graph, the original edge behind each of its edges (−1 for one), and its target.

    The target is an extra node with an edge of weight 1 into it from `root`, so that derivations
    that come back to the query count as often as they do.
    """
    n = graph.nodes
    source = np.append(graph.target, root)
    target = np.append(graph.source, n)
    order = np.argsort(source, kind="stable")
    first = np.zeros(n + 2, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=n + 1), out=first[1:])
    extra = Choice(Weigher.ONE)
    edge = np.append(np.arange(graph.edges), -1)[order]
    choices = [extra if e < 0 else graph.choices[e] for e in edge.tolist()]
    result = GoalGraph(
        program=graph.program,
        goals=[*graph.goals, Goal(())],
        source=source[order],
        target=target[order],
        choices=choices,
        twin=np.arange(graph.edges + 1),
        roots=np.asarray(graph.true_nodes(), dtype=np.int64),
        open=graph.open,
        first=first,
        stopped=graph.stopped,
    )
    return result, edge, n
