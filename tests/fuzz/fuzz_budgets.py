"""Budgets: every question ends within its seconds and memory, by a result or one error.

Each attack runs in a process of its own, forked from one in which the library is loaded. The clock
is the smaller of wall time and the time the process had a processor: a busy machine is not the
library's fault.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import select
import signal
import time
import traceback
from pathlib import Path

import deepprooflog as dpl
from fuzz.budget_attacks import ATTACKS, Attack
from fuzz.rounds import Rounds, Tally

PROMISE = "max_seconds and max_memory hold, to 1 s and 200 MB, whatever is asked"
QUICK = 12

SECONDS = (0.2, 0.3, 0.5)
MEMORY = (100_000_000, 300_000_000)
OVERRUN_SECONDS = 1.0
OVERRUN_BYTES = 200_000_000
# A process that does not end by itself is killed.
PATIENCE = 30.0


def attack(rounds: Rounds) -> Tally:
    """Ask every question in turn, in an order drawn from the seed, each under a drawn budget."""
    import deepprooflog.model  # noqa: F401 (loaded before processes are forked)

    tally = Tally()
    order = list(ATTACKS)
    random.Random(rounds.seed).shuffle(order)
    for number, rng in enumerate(rounds):
        one = order[number % len(order)]
        budget = dpl.Budget(max_seconds=rng.choice(SECONDS), max_memory=rng.choice(MEMORY))
        if one.hungry:
            budget = dpl.Budget(max_seconds=10.0, max_memory=60_000_000)
        wrong = judge(one, budget)
        tally.record(
            wrong is None,
            f"{one} in {budget.max_seconds} s and {budget.max_memory:,} bytes: {wrong}",
        )
    return tally


def judge(one: Attack, budget: dpl.Budget) -> str | None:
    """What is wrong with how a question ended; None when nothing is."""
    report = ask_apart(one, budget)
    if report is None:
        return f"it did not end within {PATIENCE:g} s"
    assert budget.max_seconds is not None and budget.max_memory is not None
    if report["error"] is not None:
        return str(report["error"])
    if report["seconds"] > budget.max_seconds + OVERRUN_SECONDS:
        return f"it took {report['seconds']:.2f} s"
    if report["bytes"] > budget.max_memory + OVERRUN_BYTES:
        return f"it took {report['bytes'] / 1e6:.0f} MB"
    return None


def ask_apart(one: Attack, budget: dpl.Budget) -> dict[str, float] | None:
    """Ask in a forked process; its report, or None when it had to be killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            os.write(writing, json.dumps(ask_here(one, budget)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], PATIENCE)
        text = os.read(reading, 1 << 16) if ready else b""
        if not text:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return json.loads(text) if text else None
    finally:
        os.close(reading)
        os.waitpid(child, 0)


def ask_here(one: Attack, budget: dpl.Budget) -> dict[str, object]:
    """Ask, and report seconds, growth of memory, and an error that is not the library's own."""
    # The memory that the process had before it was forked is not counted.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    before = _memory("VmRSS")
    wall, busy = time.perf_counter(), time.process_time()
    error: str | None = None
    outcome = "done"
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            one.run(budget)
    except dpl.ProofLogError as problem:
        outcome = f"{type(problem).__name__}: {problem.message[:200]}"
    except BaseException:
        error = traceback.format_exc(limit=-3)
    seconds = min(time.perf_counter() - wall, time.process_time() - busy)
    grown = _memory("VmHWM") - before
    return {"seconds": seconds, "bytes": grown, "error": error, "outcome": outcome}


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0
