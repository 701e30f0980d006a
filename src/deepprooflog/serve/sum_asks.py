"""What can be asked of an addition run: sums of named pictures with their proofs, and the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepprooflog.errors import DataError
from deepprooflog.kg.summary import run_curves
from deepprooflog.learn.run.folder import RunFolder, open_run
from deepprooflog.proof.tree import Proof
from deepprooflog.recipes.addition.query import ask, test_sum
from deepprooflog.recipes.addition.task import pictures, program
from deepprooflog.serve.asking import Asking
from deepprooflog.serve.source import Source
from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term

# Pictures that are sent with an answer, and test sums that are offered to begin with.
MOST_PICTURES = 32
OFFERED = 6


@dataclass(frozen=True)
class SumsSubject:
    """An addition run: its network is read anew for each question, its pictures once."""

    source: Source
    run: RunFolder

    @classmethod
    def of(cls, source: Source) -> SumsSubject:
        """The run of a source; there are no facts that could be changed."""
        if source.added or source.removed:
            raise DataError("an addition run has no facts", hint="ask it for a sum")
        assert source.path is not None
        return cls(source, open_run(Path(source.path)))


def describe(subject: SumsSubject, asking: Asking) -> dict[str, Any]:
    """The sums that can be asked for, with some of the test's to begin with."""
    options = subject.run.config()["options"]
    train, test = pictures(str(options["data"]))
    there = min(OFFERED, len(test) // (2 * int(options["n"])))
    some = [test_sum(subject.run, at) for at in range(there)]
    predicates = [
        {"name": write_term(Atom(functor.name)), "arity": functor.arity, "kind": one.kind.value}
        for functor, one in program().predicates.items()
    ]
    return {
        "sums": {
            "digits": options["n"], "data": options["data"], "method": options["method"],
            "pictures": {"train": len(train), "test": len(test)}, "examples": some,
        },
        "predicates": predicates,
        "constants": ["test", "train"],
    }  # fmt: skip


def query(subject: SumsSubject, asking: Asking) -> dict[str, Any]:
    """The most probable sums of named pictures, each with its best proof; the pictures too."""
    began = time.perf_counter()
    asking.on_stage("answers")
    found = ask(subject.run, asking.text("query"), top=asking.number("top", 10))
    return {
        **found.to_dict(), "shown": _shown(subject, found.pictures),
        "seconds": round(time.perf_counter() - began, 3),
        "answers": [
            {**record, "proof": _unchecked(one.proof)}
            for record, one in zip(found.to_dict()["answers"], found.answers, strict=True)
        ],
    }  # fmt: skip


def run(subject: SumsSubject, asking: Asking) -> dict[str, Any]:
    """The run as it was trained: its curves and the figures of its test."""
    result = subject.run.read_result() if subject.run.result.exists() else {}
    curves = run_curves(subject.run)
    return {
        "curves": {name: [list(point) for point in points] for name, points in curves.items()},
        "test": {k: v for k, v in result.items() if isinstance(v, int | float | str)},
        "relations": {}, "reliability": None, "rules": [],
    }  # fmt: skip


def _unchecked(proof: Proof) -> dict[str, Any]:
    """A proof in which pictures have names: these are no terms that could be replayed."""
    return {**proof.to_dict(), "text": str(proof), "checked": None}


def _shown(subject: SumsSubject, named: Iterable[str]) -> dict[str, list[list[int]]]:
    """The pixels of pictures by name, 0 to 255; of the first ones where there are many."""
    train, test = pictures(str(subject.run.config()["options"]["data"]))
    found = {}
    for name in list(named)[:MOST_PICTURES]:
        which, number = name.rstrip(")").split("(")
        image = (test if which == "test" else train).images[int(number)]
        found[name] = (image * 255.0).round().astype(int).tolist()
    return found


SUM_ASKS: dict[str, Callable[[SumsSubject, Asking], dict[str, Any]]] = {
    "describe": describe,
    "query": query,
    "run": run,
}
