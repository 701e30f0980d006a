"""Strongly connected components, by Tarjan's algorithm with an explicit stack."""

from __future__ import annotations

from collections.abc import Sequence


def strong_components(
    successors: Sequence[Sequence[int]], wanted: Sequence[bool] | None = None
) -> list[list[int]]:
    """The components of a graph given by successor lists, successors first.

    >>> strong_components([[1], [2], [1], [0]])
    [[2, 1], [0], [3]]
    """
    n = len(successors)
    unseen = n + 1
    index = [unseen] * n
    low = [0] * n
    done = [False] * n
    components: list[list[int]] = []
    stack: list[int] = []
    count = 0
    for root in range(n):
        if index[root] != unseen or (wanted is not None and not wanted[root]):
            continue
        index[root] = low[root] = count
        count += 1
        stack.append(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if wanted is not None and not wanted[other]:
                    continue
                if index[other] == unseen:
                    index[other] = low[other] = count
                    count += 1
                    stack.append(other)
                    work.append((other, iter(successors[other])))
                    break
                if not done[other] and index[other] < low[node]:
                    low[node] = index[other]
            else:
                work.pop()
                if work and low[node] < low[work[-1][0]]:
                    low[work[-1][0]] = low[node]
                if low[node] == index[node]:
                    members = []
                    while True:
                        member = stack.pop()
                        done[member] = True
                        members.append(member)
                        if member == node:
                            break
                    components.append(members)
    return components
