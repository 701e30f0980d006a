"""An addition run at the top level: sums of named pictures, and the proof behind one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from deepprooflog.learn.run.folder import open_run
from deepprooflog.logic.limits.watch import watched
from deepprooflog.proof.render.answers import number
from deepprooflog.recipes.addition.query import SumAnswers, ask, test_sum
from deepprooflog.recipes.addition.task import program
from deepprooflog.repl.completion import in_order
from deepprooflog.repl.console import Console
from deepprooflog.repl.settings import TopLevelSettings
from deepprooflog.repl.top_level import TopLevel, TopLevelCommand


class SumsTopLevel(TopLevel):
    """An addition run; `test(0)` and `train(0)` name pictures, `test(3..0)` a list of them."""

    used = ("seconds", "memory", "top")

    def __init__(self, folder: str, settings: TopLevelSettings) -> None:
        self.folder = folder
        self.settings = settings
        self.reload()

    def reload(self) -> str:
        self.run = open_run(Path(self.folder))
        return self.greeting()

    def greeting(self) -> str:
        options = self.run.config()["options"]
        first = test_sum(self.run, 0)
        return f"{self.folder}: sums of {options['n']} digits of {options['data']}, such as {first}"

    def questions(self) -> Sequence[TopLevelCommand]:
        return [
            TopLevelCommand("answers", "QUERY", "the same", self.ask),
            TopLevelCommand("prove", "QUERY", "the best answer with its proof", self._prove),
            TopLevelCommand("explain", "QUERY", "the same", self._prove),
        ]

    def ask(self, console: Console, query: str) -> None:
        """the most probable sums of the pictures that it names"""
        found = self._answers(query, self.settings.top)
        lines = [f"{_bindings(one.bindings)}  {number(one.probability)}" for one in found.answers]
        self._reply(console, "\n".join(lines) or "false", found)

    def _prove(self, console: Console, query: str) -> None:
        found = self._answers(query, 1)
        lines = [
            f"{_bindings(one.bindings)}  {number(one.probability)}\n{one.proof}"
            for one in found.answers
        ]
        self._reply(console, "\n".join(lines) or "false", found)

    def _answers(self, query: str, top: int) -> SumAnswers:
        with watched(self.settings.budget()):
            return ask(self.run, query, top=top)

    def _reply(self, console: Console, text: str, found: SumAnswers) -> None:
        console.reply(text, found.to_dict())
        for note in found.notes:
            console.note(note)

    def goals_and_names(self) -> tuple[Sequence[str], Sequence[str]]:
        names = {functor.name for functor in program().predicates}
        return in_order(f"{name}(" for name in names), ("test(", "train(")


def _bindings(bindings: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {text}" for name, text in bindings.items()) or "true"
