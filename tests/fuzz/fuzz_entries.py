"""Checkpoints whose checksum holds and whose entries are wrong: of another type, shape or count."""

from __future__ import annotations

import copy
import random
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from deepprooflog.errors import ProofLogError
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.kge.table import make_model
from deepprooflog.kg.kge.training import kge_loop
from deepprooflog.kg.learn.exact_learner import ExactObjective, exact_loop
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.ppo_learner import PpoTrainer, ppo_loop
from deepprooflog.kg.learn.ppo_options import PpoOptions
from deepprooflog.kg.learn.setup import make_prover, read_sources, theory_of
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.learn.run.loop import Loop
from deepprooflog.learn.run.progress import Progress
from deepprooflog.learn.run.settings import options_from
from deepprooflog.recipes.addition.options import AdditionOptions
from deepprooflog.recipes.addition.task import look, objective, prepare
from deepprooflog.recipes.addition.training import Training, TrainingTask
from fuzz.rounds import Rounds, Tally

PROMISE = "a checkpoint with a wrong entry is refused, or is trained on without an error"
QUICK = 80

WRONG: list[Callable[[], Any]] = [
    lambda: None, lambda: "text", lambda: -5, lambda: 10**12, lambda: float("nan"), lambda: True,
    list, dict, lambda: [None], lambda: {"a": 1}, lambda: torch.zeros(0), lambda: torch.zeros(3, 2),
    lambda: torch.full((7,), 99), lambda: torch.zeros(2, dtype=torch.uint8), lambda: [{}],
    lambda: [{"step": "one"}], lambda: {"weights": None}, lambda: 0.5, lambda: b"bytes",
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A learner half-way: its checkpoint's state, and how it goes on from a file."""

    name: str
    state: dict[str, Any]
    go_on: Callable[[Path], object]


def attack(rounds: Rounds) -> Tally:
    """Change an entry of a checkpoint in each case, seal it again and go on from it."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as base, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(base) / "checkpoint.pt"
        cases = [_kge(path), _exact(path), _ppo(path), _digits(path)]
        for draw in rounds:
            case = draw.choice(cases)
            state = copy.deepcopy(case.state)
            where = _change(state, draw)
            checkpoint.save(path, state)
            try:
                case.go_on(path)
                held = True
            except ProofLogError:
                held = True
            except Exception as error:
                held, where = False, f"{where}: {type(error).__name__}: {error}"
            tally.record(held, f"{case.name} {where}")
    return tally


def _change(state: Any, draw: random.Random) -> str:
    """Change one entry, however deep, and say which."""
    where = ""
    while True:
        keys = list(state) if isinstance(state, dict) else list(range(len(state)))
        key = draw.choice(keys)
        inner = state[key]
        where += f"[{key!r}]"
        if isinstance(inner, dict | list) and inner and draw.random() < 0.7:
            state = inner
            continue
        if isinstance(state, dict) and draw.random() < 0.2:
            del state[key]
            return f"{where} removed"
        number = draw.randrange(len(WRONG))
        state[key] = WRONG[number]()
        return f"{where} is wrong value {number}"


class Half(Progress):
    """Progress that ends a run after some steps, as a signal would."""

    def __init__(self, after: int) -> None:
        super().__init__(after)
        self.after = after

    def update(self, done: int, text: str) -> None:
        """End the run when that many are done."""
        if done >= self.after:
            raise KeyboardInterrupt


def _half(loop: Loop, after: int) -> dict[str, Any]:
    assert loop.path is not None
    try:
        loop.run(Half(after))
    except KeyboardInterrupt:
        loop.save()
    state = checkpoint.load(loop.path, {})
    loop.path.unlink()
    return state


def _case(name: str, make: Callable[[Path], Loop], after: int, path: Path) -> Case:
    def begun(path: Path) -> Loop:
        torch.manual_seed(0)
        return make(path)

    def go_on(path: Path) -> None:
        with torch.random.fork_rng():
            loop = begun(path)
            loop.resume()
            loop.run(Progress(loop.steps))

    return Case(name, _half(begun(path), after), go_on)


def _kge(path: Path) -> Case:
    graph = read_graph("village")
    options = KgeOptions(
        kind="rotate", dimension=2, steps=4, batch=8, negatives=2, validate_every=2
    )
    triples = torch.from_numpy(graph.train)
    sizes = len(graph.entities), len(graph.relations)
    return _case(
        "kge", lambda p: kge_loop(make_model(options, *sizes), triples, options, None, p), 3, path
    )


def _prover() -> tuple[Any, Any]:
    options = options_from(
        GraphOptions, {"prior": "none", "search.nesting": 1, "policy.dimension": 2}
    )
    theory = theory_of(options, read_sources(options))
    return theory.graph, lambda: make_prover(options, theory, None)


def _exact(path: Path) -> Case:
    graph, make = _prover()
    options = ExactOptions(steps=4, batch=4, negatives=1, validate_every=2)

    def learning(path: Path) -> Loop:
        return exact_loop(ExactObjective(make(), graph, graph.valid, options), lambda _: 0.5, path)

    return _case("exact", learning, 3, path)


def _ppo(path: Path) -> Case:
    graph, make = _prover()
    options = replace(
        PpoOptions(),
        iterations=3,
        episodes=3,
        steps=2,
        positives=3,
        epochs=1,
        minibatch=8,
        validate_every=2,
    )

    def learning(path: Path) -> Loop:
        return ppo_loop(PpoTrainer(make(), graph, graph.valid, options), lambda _: 0.5, path)

    return _case("ppo", learning, 1, path)


def _digits(path: Path) -> Case:
    training = {"epochs": 2, "batch": 4, "average": 0.9}
    options = options_from(
        AdditionOptions,
        {"n": 1, "data": "digits", "sums": 12, "augment": "none", "training": training},
    )
    task = prepare(options, torch.device("cpu"))
    lesson = TrainingTask(
        task.model, objective(options, task), task.training, lambda: look(options, task), str,
        lambda share: None, False,
    )  # fmt: skip
    return _case(
        "digits", lambda p: Training(lesson, options.training, RunFolder(p.parent)).loop, 4, path
    )
