"""A process that reads programs and asks about them: one JSON line in, one out.

It lives by itself, so that a case without an end can be ended from outside.
"""

from __future__ import annotations

import inspect
import io
import itertools
import json
import random
import resource
import sys
import traceback
import warnings
from collections.abc import Callable

import deepprooflog as dpl

BUDGET = dpl.Budget(max_goals=500, max_steps=5000, max_seconds=1)
MEMORY = 8 * 2**30


def questions(program: dpl.Program, query: str) -> dict[str, Callable[[], object]]:
    """Every way of asking a query, by name."""

    made: list[dpl.Model] = []

    def model() -> dpl.Model:
        if not made:
            made.append(dpl.Model(program))
        return made[0]

    return {
        "prob": lambda: dpl.prob(program, query, budget=BUDGET),
        "answers": lambda: dpl.answers(program, query, budget=BUDGET),
        "bounds": lambda: dpl.bounds(program, query, BUDGET),
        "provable": lambda: dpl.provable(program, query, budget=BUDGET),
        "exact": lambda: dpl.exact_fraction(program, query, budget=BUDGET),
        "solve": lambda: list(itertools.islice(dpl.solve(program, query, budget=BUDGET), 50)),
        "prove": lambda: model().best_proof(query, BUDGET).to_json(),
        "log_prob": lambda: model().log_prob([query], BUDGET).tolist(),
        "predict": lambda: model().predict(query, budget=BUDGET, steps=200),
        **(
            {"sample": lambda: model().sample(query, max_depth=50, seed=0, budget=BUDGET)}
            if "budget" in inspect.signature(dpl.Model.sample).parameters
            else {}
        ),
    }


def tried(text: str, queries: list[str], draw: float) -> list[str]:
    """What went wrong: any exception that is not the library's own.

    Each query is asked in three ways; `draw`, from 0 to 1, says which.
    """
    broken: list[str] = []

    def attempt(name: str, do: Callable[[], object]) -> object:
        try:
            return do()
        except dpl.ProofLogError as error:
            # What an error says must be printable too, wherever it is shown.
            str(error).encode("utf-8", "backslashreplace")
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{last.filename.rpartition('deepprooflog/')[2]}:{last.lineno}"
            broken.append(f"{name}: {type(error).__name__}: {str(error)[:200]} at {place}")
        return None

    program = attempt("read", lambda: dpl.Program(text))
    if isinstance(program, dpl.Program):
        for query in queries:
            ways = list(questions(program, query).items())
            for name, ask in random.Random(draw).sample(ways, 3):
                attempt(name, ask)
    return broken


def main() -> None:
    """Answer line by line until the input ends."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    out = sys.stdout
    for line in sys.stdin:
        case = json.loads(line)
        sys.stdout = io.StringIO()  # what programs write
        broken = tried(case["text"], case["queries"], case["draw"])
        sys.stdout = out
        print(json.dumps(broken), flush=True)


if __name__ == "__main__":
    main()
