"""Goals and answers as text."""

from __future__ import annotations

from deepprooflog.logic.goal import Goal
from deepprooflog.syntax.writer import write_term


def goal_text(goal: Goal, most: int = 8) -> str:
    """A goal as Prolog text; a long one says how many atoms follow."""
    if goal.is_true:
        return "true"
    shown = [write_term(a) for a in goal.atoms[:most]]
    if len(goal.atoms) > most:
        shown.append(f"… ({len(goal.atoms) - most} more)")
    return ", ".join(shown)
