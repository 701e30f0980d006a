"""Questions to an addition run: goals in which test and training pictures are named.

    add([test(1), test(0)], [test(3), test(2)], Z, 0)        pictures one by one
    add(test(1..0), test(3..2), Z, 0)                        the same: a range is a list

Pictures are numbered in file order from 0; a range may run either way. Numbers have their least
significant digit first, so a number as one reads it from the file is a range that runs backwards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from deepprooflog.data.digits import Digits
from deepprooflog.errors import DataError
from deepprooflog.infer.answers.predict import By
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.logic.query import Query
from deepprooflog.proof.build import Prediction
from deepprooflog.proof.tree import Proof
from deepprooflog.recipes.addition.run import trained
from deepprooflog.recipes.addition.task import pictures, tensor
from deepprooflog.syntax.terms import Functor, Slot, Struct, Term, deref, make_list
from deepprooflog.syntax.writer import write_term

RANGE = Functor("..", 2)
SETS = (Functor("train", 1), Functor("test", 1))
_TENSOR = re.compile(r"<tensor (\d+)>")
# Labels of named pictures that fit in one note.
MOST_LABELS = 16


@dataclass(frozen=True)
class Pictures:
    """A data set's pictures by name, and the slots of those that a goal names."""

    train: Digits
    test: Digits
    slots: dict[tuple[str, int], int]

    def term(self, named: Struct) -> Term:
        """The tensor, or the list of tensors, that `test(I)` or `test(I..J)` stands for."""
        which = deref(named.args[0])
        if type(which) is Struct and which.functor is RANGE:
            first, last = (deref(a) for a in which.args)
            if type(first) is int and type(last) is int:
                self._check(named.name, first)
                self._check(named.name, last)
                step = 1 if first <= last else -1
                return make_list(self._slot(named.name, i) for i in range(first, last + step, step))
        if type(which) is not int:
            raise DataError(
                f"{write_term(named)} names no picture", hint=f"{named.name}(0), {named.name}(3..0)"
            )
        self._check(named.name, which)
        return self._slot(named.name, which)

    def _check(self, name: str, number: int) -> None:
        count = len(self._set(name))
        if not 0 <= number < count:
            raise DataError(f"there is no {name}({number}): the pictures are 0 to {count - 1}")

    def _slot(self, name: str, number: int) -> Slot:
        return Slot(self.slots.setdefault((name, number), len(self.slots)))

    def _set(self, name: str) -> Digits:
        return self.test if name == "test" else self.train

    @property
    def names(self) -> list[str]:
        return [f"{name}({number})" for name, number in self.slots]

    @property
    def labels(self) -> dict[str, int]:
        """What the named pictures show, by the data set's labels."""
        return {f"{name}({i})": int(self._set(name).labels[i]) for name, i in self.slots}

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        whole = {name: tensor(self._set(name)) for name in {name for name, _ in self.slots}}
        return tuple(whole[name][number] for name, number in self.slots)


@dataclass(frozen=True)
class SumAnswers:
    """The most probable answers of a goal, and what the pictures it names show."""

    query: str
    answers: tuple[Prediction, ...]
    pictures: Mapping[str, int] = field(hash=False)  # labels by name

    @property
    def notes(self) -> list[str]:
        """What to say beside the answers."""
        notes = [
            f"another answer may be more probable than {_bindings(one)} (up to {one.others:.10g})"
            for one in self.answers
            if not one.certain
        ]
        if len(self.pictures) > MOST_LABELS:
            notes.append(f"--json has the data set's labels of the {len(self.pictures)} pictures")
        elif self.pictures:
            shown = ", ".join(f"{name} = {label}" for name, label in self.pictures.items())
            notes.append(f"by the data set's labels, {shown}")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "query": self.query,
            "answers": [_answer(one) for one in self.answers],
            "pictures": dict(self.pictures),
        }


def ask(
    run: RunFolder,
    text: str,
    *,
    top: int = 1,
    by: By = "answer",
    device: str | None = None,
    data: str | None = None,
) -> SumAnswers:
    """The most probable answers of a goal."""
    model, options = trained(run, device, data)
    model.eval()
    query, named = with_pictures(model.program.query(text), Pictures(*pictures(options.data), {}))
    names = named.names
    found = tuple(
        replace(one, proof=with_names(one.proof, names)) for one in model.predict(query, top, by=by)
    )
    return SumAnswers(text, found, named.labels)


def test_sum(run: RunFolder, number: int) -> str:
    """The goal of a run's test sum, in file order, with the sum left open."""
    options = run.config()["options"]
    n = int(options["n"])
    _, test = pictures(str(options["data"]))
    count = len(test) // (2 * n)
    if not 0 <= number < count:
        raise DataError(f"there is no test sum {number}: they are 0 to {count - 1}")
    begin = 2 * n * number
    return f"add(test({begin + n - 1}..{begin}), test({begin + 2 * n - 1}..{begin + n}), Z, 0)"


def with_pictures(query: Query, named: Pictures) -> tuple[Query, Pictures]:
    """The query with tensors where it names pictures."""
    atoms = tuple(_replaced(atom, named) for atom in query.atoms)
    return Query(atoms, query.variables, named.tensors), named


def _replaced(root: Term, named: Pictures) -> Term:
    done: list[Term] = []
    todo: list[tuple[Term, bool]] = [(root, False)]
    while todo:
        term, entered = todo.pop()
        term = deref(term)
        if type(term) is not Struct:
            done.append(term)
        elif term.functor in SETS:
            done.append(named.term(term))
        elif entered:
            args = tuple(done[-term.functor.arity :])
            del done[-term.functor.arity :]
            done.append(Struct(term.functor, args))
        else:
            todo.append((term, True))
            todo.extend((a, False) for a in reversed(term.args))
    return done[0]


def with_names(proof: Proof, names: Sequence[str]) -> Proof:
    """The proof with the pictures' names where it shows tensors.

    >>> from deepprooflog.proof.tree import Node
    >>> step = Node("digit(<tensor 0>,7)", "neural", "lenet(<tensor 0>) = 7", None, -0.1, -1, 0)
    >>> with_names(Proof("digit(<tensor 0>,D)", {"D": "7"}, -0.1, (step,)), ["test(3)"]).query
    'digit(test(3),D)'
    """

    def named(text: str) -> str:
        return _TENSOR.sub(lambda match: names[int(match[1])], text)

    nodes = (replace(n, atom=named(n.atom), reason=named(n.reason)) for n in proof.nodes)
    bindings = {name: named(text) for name, text in proof.bindings.items()}
    return replace(proof, query=named(proof.query), bindings=bindings, nodes=tuple(nodes))


def _bindings(one: Prediction) -> str:
    return ", ".join(f"{name} = {text}" for name, text in one.bindings.items()) or "true"


def _answer(one: Prediction) -> dict[str, Any]:
    return {
        "bindings": dict(one.bindings),
        "probability": one.probability,
        "log_probability": one.log_prob,
        "certain": one.certain,
        "others": one.others,
        "proof": one.proof.to_dict(),
    }
