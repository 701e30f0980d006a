"""Model cards: the README.md of a run's folder, for people who find it and for hubs that list it.

A hub reads the block at the top, which is YAML: the library, tags, and the figures as a
`model-index`. Its values are written as JSON, which YAML includes.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.learn.run.settings import values_of

NAME = "README.md"
_MARKED = re.compile(r"([\\`*_{}\[\]<>|#])")


@dataclass(frozen=True)
class ModelCard:
    """What a card says of a run."""

    name: str
    about: Sequence[str]  # paragraphs
    task: str  # in a hub's words: graph-ml, image-classification, …
    data: str
    command: str | None = None  # that trains it again
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # rows by name
    protocol: str = ""  # how the figures were found
    ask: Sequence[str] = ()  # what to type

    def text(self) -> str:
        """The page.

        >>> card = ModelCard("kin", ["A graph."], "graph-ml", "kin", None, {"p": {"mrr": 0.5}})
        >>> print(card.text())
        ---
        library_name: deepprooflog
        pipeline_tag: graph-ml
        tags: ["deepprooflog", "neurosymbolic", "logic-programming"]
        model-index: [{"name": "kin", "results": [{"task": {"type": "graph-ml"}, "dataset":
          {"name": "kin", "type": "kin"}, "metrics": [{"type": "mrr", "value": 0.5}]}]}]
        ---
        <BLANKLINE>
        # kin
        <BLANKLINE>
        A graph.
        <BLANKLINE>
        ## Figures
        <BLANKLINE>
        |   | mrr |
        |---|---|
        | p | 0.5000 |
        <BLANKLINE>
        """
        lines = ["---", *self._front(), "---", "", f"# {plain(self.name)}", ""]
        for paragraph in self.about:
            lines += [paragraph, ""]
        if self.ask:
            lines += ["## Use", "", *_block(self.ask)]
        if self.command is not None:
            lines += ["## Trained by", "", *_block([self.command])]
        if self.figures:
            lines += ["## Figures", "", *([self.protocol, ""] if self.protocol else [])]
            lines += _table(self.figures)
        return "\n".join(lines).rstrip("\n") + "\n"

    def _front(self) -> list[str]:
        tags = ["deepprooflog", "neurosymbolic", "logic-programming"]
        front: dict[str, Any] = {"tags": tags}
        first = next(iter(self.figures.values()), {})
        if first:
            dataset = {"name": self.data, "type": self.data}
            metrics = [{"type": key, "value": value} for key, value in first.items()]
            found = {"task": {"type": self.task}, "dataset": dataset, "metrics": metrics}
            front["model-index"] = [{"name": self.name, "results": [found]}]
        shown = [f"{key}: {json.dumps(value)}" for key, value in front.items()]
        return ["library_name: deepprooflog", f"pipeline_tag: {self.task}", *shown]


def write_card(run: RunFolder, card: ModelCard) -> None:
    """Write a run's card."""
    run.write(NAME, card.text())


def training_command(recipe: str, options: Any) -> str:
    """What to type to train again with these options: those that are not the default are set.

    >>> from deepprooflog.learn.ppo import Ppo
    >>> training_command("kg", Ppo(clip=0.3))
    'dprl train kg --set clip=0.3 --out RUN'
    """
    usual = values_of(type(options)())
    words = ["dprl", "train", recipe]
    for key, value in values_of(options).items():
        if value != usual[key]:
            shown = "none" if value is None else str(value)
            words += ["--set", f"{key}={shown.lower() if isinstance(value, bool) else shown}"]
    return shlex.join([*words, "--out", "RUN"])


def plain(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> print(plain("a_b | <i>"))
    a\_b \| \<i\>
    """
    return _MARKED.sub(r"\\\1", " ".join(text.split()))


def _block(lines: Sequence[str]) -> list[str]:
    """Lines as code; indented, so that no fence in them ends it."""
    return [*(f"    {' '.join(line.splitlines())}" for line in lines), ""]


def _table(rows: Mapping[str, Mapping[str, float]]) -> list[str]:
    columns = list(dict.fromkeys(key for row in rows.values() for key in row))
    lines = [f"|   | {' | '.join(columns)} |", "|" + "---|" * (1 + len(columns))]
    for name, row in rows.items():
        cells = (f"{row[key]:.4f}" if key in row else "" for key in columns)
        lines.append(f"| {plain(name)} | {' | '.join(cells)} |")
    return lines
