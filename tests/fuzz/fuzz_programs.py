"""Damaged programs and queries: read and asked in every way, they end in an answer or a message.

Only the library's own errors may come out, within a time well above the budget.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path

from fuzz.mutate import corpus, mutated, queries
from fuzz.rounds import Rounds, Tally

PROMISE = "a damaged program or query gives an answer or a ProofLogError, never another exception"
QUICK = 100

# Three questions of a second each for up to three queries; what takes longer has no end.
PATIENCE = 60.0


class Worker:
    """A process that takes cases, started anew after one that did not end."""

    def __init__(self) -> None:
        self.process = self._start()

    def ask(self, case: dict[str, object]) -> list[str]:
        """What broke in a case."""
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(case).encode() + b"\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if ready.select(PATIENCE) else None
        if line:
            broken: list[str] = json.loads(line)
            return broken
        status = process.poll() if line is not None else None
        self.close()
        self.process = self._start()
        return [f"no end within {PATIENCE:g} s" if line is None else f"the process died: {status}"]

    def close(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()

    @staticmethod
    def _start() -> subprocess.Popen[bytes]:
        here = Path(__file__).parent.parent
        paths = os.pathsep.join([str(here), *sys.path])
        return subprocess.Popen(
            [sys.executable, "-m", "fuzz.program_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=here,
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )


def attack(rounds: Rounds) -> Tally:
    """Mutated programs, one after another."""
    tally, texts, worker = Tally(), corpus(), Worker()
    try:
        for number, rng in enumerate(rounds):
            text = mutated(rng.choice(texts), rng)
            asked = queries(text, rng)
            broken = worker.ask({"text": text, "queries": asked, "draw": rng.random()})
            tally.record(
                not broken,
                f"case {number} of seed {rounds.seed}: {broken[:3]} by {asked} of {text[:300]!r}",
            )
    finally:
        worker.close()
    return tally
