"""Two processes that begin a run in one folder at the same moment."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

from deepprooflog.errors import DataError
from deepprooflog.learn.run.folder import create, open_run
from fuzz.rounds import Rounds, Tally

PROMISE = "of two processes that begin in one folder, one trains and one is told so"
QUICK = 20
SECONDS = 60.0


def attack(rounds: Rounds) -> Tally:
    """Start both at a barrier in each case; the winner trains until the other has been told."""
    tally = Tally()
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    pipes = [context.Pipe() for _ in range(2)]
    workers = [context.Process(target=_begin, args=(pipes[i][1], barrier, i)) for i in range(2)]
    for worker in workers:
        worker.start()
    try:
        with tempfile.TemporaryDirectory() as base:
            for number, draw in enumerate(rounds):
                out = Path(base) / str(number)
                if draw.random() < 0.5:
                    out.mkdir()
                for ours, _ in pipes:
                    ours.send((str(out), draw.choice((0.0, 0.0, 0.0001, 0.001))))
                told = [ours.recv() if ours.poll(SECONDS) else "silent" for ours, _ in pipes]
                winners = [i for i in range(2) if told[i] == "won"]
                config = open_run(out).config() if len(winners) == 1 else {}
                held = len(winners) == 1 and config["options"] == {"worker": winners[0]}
                held = held and "another process" in told[1 - winners[0]]
                tally.record(held, f"{told}")
    finally:
        for ours, _ in pipes:
            ours.send(None)
        for worker in workers:
            worker.join(SECONDS)
    return tally


def _begin(pipe: multiprocessing.connection.Connection, barrier: Barrier, number: int) -> None:
    while (asked := pipe.recv()) is not None:
        out, later = asked
        config = {"recipe": "kg", "task": "kg", "options": {"worker": number}}
        barrier.wait(SECONDS)
        if number:
            time.sleep(later)
        try:
            with create(Path(out), config):
                told = "won"
                barrier.wait(SECONDS)  # held until the other has tried
        except DataError as error:
            told = error.message
            barrier.wait(SECONDS)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        pipe.send(told)
