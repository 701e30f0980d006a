"""Figure 1 as a table: one program and one prior under three transition models.

    scalar    a number for each clause (stochastic logic programs)         policy=clause
    term      a network on the leftmost atom (DeepStochLog)                policy=term
    goal      a network on the whole goal (DeepProofLog)                   policy=goal

    python scripts/figure1.py --out FOLDER [--recipe kg] [--set key=value]...

Each is trained by `dprl train` into a folder of its own; the prior is trained once. A folder that
has a result is read, not trained again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from deepprooflog.errors import ProofLogError
from deepprooflog.learn.run.settings import assignments
from deepprooflog.recipes.graph import train

KINDS = {"scalar": "clause", "term": "term", "goal": "goal"}
FIGURES = ("mrr", "hits@1", "hits@3", "hits@10", "auc_pr")


def trained(recipe: str, given: dict[str, object], out: Path) -> dict[str, Any]:
    """The result of a run, which is trained where it is not there."""
    if (out / "result.json").exists():
        result: dict[str, Any] = json.loads((out / "result.json").read_text(encoding="utf-8"))
        return result
    return train(recipe, given, out, resume=(out / "config.json").exists(), progress=False)


def row(name: str, figures: dict[str, Any], seconds: str = "") -> str:
    """A row of the table."""
    shown = (f"{figures[key]:.4f}".removeprefix("0") for key in FIGURES)
    return f"| {name} | {' | '.join(shown)} | {seconds} |"


def main() -> int:
    """Train three times and print the table."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, required=True, help="a folder for the three runs")
    parser.add_argument("--recipe", default="kg", help="whose options hold for all three")
    parser.add_argument("--set", action="append", default=[], metavar="key=value")
    asked = parser.parse_args()
    given: dict[str, object] = dict(assignments(asked.set))
    print(f"| | {' | '.join(FIGURES)} | seconds of learning |\n|---|{'---|' * (len(FIGURES) + 1)}")
    result: dict[str, Any] = {}
    for name, kind in KINDS.items():
        own = {**given, "policy.kind": kind}
        if kind != "clause" and result.get("prior") != "none":
            own["prior.from_run"] = str(asked.out / "scalar")
        result = trained(asked.recipe, own, asked.out / name)
        seconds = result["seconds"]["train"] - result["seconds"]["prior"]
        print(row(f"{name} (`policy={kind}`)", result["test"], f"{seconds:.0f}"), flush=True)
    if "prior" in result["test"]:
        print(row("the prior alone", result["test"]["prior"]))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ProofLogError as error:
        sys.exit(f"error: {error}")
