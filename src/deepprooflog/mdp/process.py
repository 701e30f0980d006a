"""What is fixed about the proof process before an episode begins."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.errors import ModelError


@dataclass(frozen=True)
class Process:
    """The paper's MDP with its two additions.

    >>> Process(max_depth=0)
    Traceback (most recent call last):
    deepprooflog.errors.ModelError: max_depth=0 leaves no step to take...
    """

    max_depth: int = 20
    """Resolution steps after which an episode is cut off; cut episodes are counted."""
    false_action: bool = True
    """Offer False at every choice: the episode ends there and fails."""
    memory: bool = True
    """Exclude successors that were visited in this episode; the query counts as visited."""
    every_clause: bool = False
    """Offer an action for each clause, also where several lead to the same goal: for scorers that
    weigh clauses, as local ones do."""

    def __post_init__(self) -> None:
        if self.max_depth < 1:
            raise ModelError(
                f"max_depth={self.max_depth} leaves no step to take", hint="max_depth=20"
            )
