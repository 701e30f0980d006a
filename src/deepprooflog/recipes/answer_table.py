"""What a command found, as a table, whatever kind of run was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deepprooflog.frames import ResultTable
from deepprooflog.kg.evaluation.figure_table import figure_table
from deepprooflog.kg.prove.answer_table import answer_table
from deepprooflog.kg.prove.answers import Answer, Answers

if TYPE_CHECKING:
    from deepprooflog.recipes.tasks import ShownAnswer


def result_table(answers: Sequence[ShownAnswer]) -> ResultTable:
    """A row for each answer: its variables, its probability, its proof."""
    of_graph = tuple(one for one in answers if isinstance(one, Answer))
    if len(of_graph) == len(answers):
        return answer_table(Answers("", of_graph, 0, 0.0))
    names = dict.fromkeys(name for one in answers for name in one.bindings)
    rows = (
        {**one.bindings, "probability": one.probability, "proof": str(one.proof)} for one in answers
    )
    return ResultTable((*names, "probability", "proof"), tuple(rows))


def figures_table(result: Mapping[str, Any]) -> ResultTable:
    """The rows of a ranking, or one row of all figures that are numbers or text.

    >>> figures_table({"recipe": "sums", "sum_accuracy": 0.5, "more": {}}).columns
    ('recipe', 'sum_accuracy')
    """
    if "mrr" in result:
        return figure_table(result)
    row = {key: value for key, value in result.items() if isinstance(value, str | int | float)}
    return ResultTable(tuple(row), (row,))
