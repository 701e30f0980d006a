"""A model of a program in a notebook: its clauses, what weighs them, what was learned so far."""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

from deepprooflog import markup
from deepprooflog.logic.program import Program
from deepprooflog.logic.program_html import program_parts
from deepprooflog.markup import Markup
from deepprooflog.score.network import Network
from deepprooflog.score.parameters import Labels
from deepprooflog.score.scorer import Scorer

LABELS = 50


def program_model_html(
    program: Program, networks: Mapping[str, Network], labels: Labels, scorer: Scorer
) -> str:
    """The program, its networks by name, and trainable labels as they stand.

    >>> from deepprooflog.score.scorer import Unit
    >>> program = Program("t(0.25) :: p.")
    >>> '<td class="n">0.25</td>' in program_model_html(program, {}, Labels(program), Unit())
    True
    """
    parts = program_parts(program)
    if networks:
        rows = [
            (name, type(one.module).__name__, _weights(one), one.outputs)
            for name, one in networks.items()
        ]
        parts.append(markup.table(("network", "module", "weights", "returns"), rows))
    trainable = labels.probabilities()
    if trainable:
        shown = [(markup.code(clause), value) for clause, value in trainable[:LABELS]]
        parts.append(markup.table(("trainable clause", "probability"), shown))
        if len(trainable) > LABELS:
            parts.append(markup.line(f"… and {len(trainable) - LABELS:,} more"))
    if not scorer.weighs_one:
        parts.append(_scorer(scorer))
    return markup.block(*parts)


def _weights(module: nn.Module) -> int:
    return sum(one.numel() for one in module.parameters())


def _scorer(scorer: Scorer) -> Markup:
    return markup.line(f"scorer: {type(scorer).__name__}, {_weights(scorer):,} weights")
