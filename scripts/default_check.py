"""Whether the default mixture holds on several graphs: p_success beside its parts and late fusion.

    python scripts/default_check.py --out FOLDER                    # every graph that is there
    python scripts/default_check.py --out FOLDER --graphs village umls --seeds 0 1 2

Each graph is trained as `dprl train kg --set data=GRAPH` does, with the options in `SETTINGS`, and
its test triples are ranked by p_success, by belief and by the embedding alone, by proofs alone and
by late fusion. A row is kept in FOLDER/GRAPH-SEED.json: what is there is not trained anew. A line
marked `<` is one where late fusion is ahead of p_success by more than 0.002.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.data.folder import find_graph, read_graph
from deepprooflog.kg.evaluation.evaluate import CPU_BATCH, Ranker
from deepprooflog.kg.evaluation.metrics import means, ranks
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.training import train_graph

GRAPHS = (
    "village", "family", "umls", "countries_s1", "countries_s2", "countries_s3",
    "grail/WN18RR_v1", "grail/fb237_v1",
)  # fmt: skip
SETTINGS: dict[str, Any] = {"prior": {"kind": "complex", "steps": 500}, "threads": 1}
TEST_SIZE = 600
ALLOWED = 0.002
FIGURES = ("p_success", "late fusion", "belief", "prior", "proofs")
COLUMNS = (*FIGURES, "sharpness", "shift", "valid", "CPU s")


def proofs_alone(model: GraphModel) -> float:
    """The MRR of what clauses prove, of the same candidates."""
    prover = model.prover

    def score(triples: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = prover(triples).proof
            return found

    ranked = Ranker(model.graph, model.theory.candidates).rank(score, model.queries(), CPU_BATCH)
    return float(means(ranks(ranked.ranked.better, ranked.ranked.equal))["mrr"])


def measured(name: str, seed: int) -> dict[str, Any]:
    """Train on a graph, and rank its test triples in each way."""
    began = time.process_time()
    evaluation = {"test_size": TEST_SIZE}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = read_graph(str(find_graph(name)))
        model = train_graph(graph, learner="auto", seed=seed, evaluation=evaluation, **SETTINGS)
    seconds = time.process_time() - began
    found = model.evaluate().to_dict()
    return {
        "graph": name, "seed": seed, "p_success": found["mrr"],
        "late fusion": found["late_fusion"]["mrr"],
        "belief": found.get("belief", found["prior"])["mrr"], "prior": found["prior"]["mrr"],
        "proofs": proofs_alone(model), "sharpness": model.trust.sharpness,
        "shift": model.trust.shift, "valid": len(graph.valid),
        "CPU s": round(seconds, 1),
    }  # fmt: skip


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    figures = [f"{row[c]:.4f}" if c in FIGURES else f"{row[c]:g}" for c in COLUMNS]
    mark = "<" if row["late fusion"] > row["p_success"] + ALLOWED else ""
    return f"| {row['graph']} | {row['seed']} | {' | '.join(figures)} | {mark} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    print(f"| graph | seed | {' | '.join(COLUMNS)} | |\n|{'---|' * (len(COLUMNS) + 3)}")
    for name in given.graphs:
        for seed in given.seeds:
            path = given.out / f"{name.replace('/', '-')}-{seed}.json"
            if not path.exists():
                try:
                    path.write_text(json.dumps(measured(name, seed)), encoding="utf-8")
                except DataError as error:
                    print(f"{name}: {error}")
                    continue
            print(line(json.loads(path.read_text(encoding="utf-8"))), flush=True)


if __name__ == "__main__":
    main()
