"""A trained graph at the top level: ranked answers, and the proofs behind a triple."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from deepprooflog.errors import DataError
from deepprooflog.kg.ground.model import GroundedModel
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.prove.answers import Answer, Answers
from deepprooflog.kg.prove.question import read_question
from deepprooflog.learn.run.folder import open_run
from deepprooflog.logic.limits.watch import watched
from deepprooflog.proof.render.answers import number
from deepprooflog.recipes.tasks import run_kind
from deepprooflog.repl.completion import in_order
from deepprooflog.repl.console import Console
from deepprooflog.repl.settings import TopLevelSettings
from deepprooflog.repl.top_level import TopLevel, TopLevelCommand
from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term


class RunTopLevel(TopLevel):
    """A run of a graph, opened once."""

    used = ("seconds", "memory", "top", "proofs")

    def __init__(self, folder: str, settings: TopLevelSettings) -> None:
        self.folder = folder
        self.settings = settings
        self.reload()

    def reload(self) -> str:
        run = open_run(Path(self.folder))
        model = run_kind(run).open(run)
        if not isinstance(model, GraphModel | GroundedModel):
            raise DataError(
                "only runs of graphs and of addition are asked line by line", file=self.folder,
                hint="dprl query RUN QUERY",
            )  # fmt: skip
        self.model = model
        self.__dict__.pop("_names", None)
        return self.greeting()

    def greeting(self) -> str:
        graph = self.model.graph
        return (
            f"{self.folder}: {len(graph.entities):,} entities, {len(graph.relations):,} relations, "
            f"{len(graph.train):,} facts"
        )

    def questions(self) -> Sequence[TopLevelCommand]:
        return [
            TopLevelCommand("answers", "QUERY", "the same", self.ask),
            TopLevelCommand("prob", "TRIPLE", "how probable it is", self._prob),
            TopLevelCommand("explain", "TRIPLE", "why, with its best proofs", self._explain),
            TopLevelCommand("prove", "TRIPLE", "the same", self._explain),
        ]

    def ask(self, console: Console, query: str) -> None:
        """the most probable answers, by proofs and by the prior"""
        with watched(self.settings.budget()):
            found = self._query(query, self.settings.top)
        console.reply(str(found) if len(found) else "false", found.to_dict())
        for note in found.notes:
            console.note(note)

    def _query(self, query: str, top: int) -> Answers:
        if isinstance(self.model, GraphModel):
            return self.model.query(query, top, proofs=0)
        return self.model.query(query, top)

    def _one(self, query: str, proofs: int) -> Answer:
        if self._is_open(query):
            raise DataError(f"{query} is open", hint=f":answers {query}")
        with watched(self.settings.budget()):
            found = self.model.explain(query, proofs)
        return found if isinstance(found, Answer) else found[0]

    def _is_open(self, query: str) -> bool:
        if isinstance(self.model, GraphModel):
            return self.model.is_open(query)
        return read_question(self.model.graph, query).is_open

    def _prob(self, console: Console, query: str) -> None:
        one = self._one(query, 0)
        record = {"query": query, "probability": one.probability, "upper": one.upper}
        console.reply(number(one.probability), record)

    def _explain(self, console: Console, query: str) -> None:
        one = self._one(query, self.settings.proofs)
        console.reply(str(one), {"query": query, **one.to_dict()})
        if not one.proofs:
            console.note("there is no proof within the limits")
        if one.upper > one.probability:
            console.note(f"goals were left open: up to {number(one.upper)}")

    def goals_and_names(self) -> tuple[Sequence[str], Sequence[str]]:
        return self._names

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        graph = self.model.graph
        return (
            in_order(write_term(Atom(name)) + "(" for name in graph.relations),
            in_order(graph.entity_text(entity) for entity in range(len(graph.entities))),
        )
