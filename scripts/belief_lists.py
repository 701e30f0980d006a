"""Belief weighed by examples and by whole lists, beside the embedding alone: MRR of test triples.

    python scripts/belief_lists.py --data village umls FOLDER … --steps 300

For each graph a ComplEx is trained; its score alone, with facts weighed by a classifier of sampled
examples, and with facts weighed by a softmax over validation lists are ranked in full and among 100
negatives a side. What lists weigh is chosen on validation triples.
"""

from __future__ import annotations

import argparse

import torch

from deepprooflog.kg.belief.prior import belief_by_lists, calibrate_belief
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.evaluation.figures import mrr
from deepprooflog.kg.evaluation.scores import BeliefScore
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.kge.training import train_kge


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["village"], help="folders or names")
    parser.add_argument("--dimension", type=int, default=64)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.data:
        graph = read_graph(name)
        options = KgeOptions(
            kind="complex", dimension=arguments.dimension, steps=arguments.steps, seed=0
        )
        kge = train_kge(
            torch.from_numpy(graph.train), entities=len(graph.entities),
            relations=len(graph.relations), options=options,
        ).model  # fmt: skip
        examples = calibrate_belief(kge, graph)
        lists, chosen = belief_by_lists(examples, graph)
        beliefs = {
            "score": calibrate_belief(kge, graph, evidence="score"), "examples": examples,
            f"lists ({chosen.weights.text})": lists,
        }  # fmt: skip
        print(f"{graph.name}: full, sampled", flush=True)
        for what, belief in beliefs.items():
            score = BeliefScore(belief, len(graph.entities))
            found = [
                mrr(Ranker(graph, protocol=protocol).rank(score, graph.test))
                for protocol in ("full", "sampled")
            ]
            print(f"  {what:<24}" + "".join(f"{value:>8.4f}" for value in found), flush=True)


if __name__ == "__main__":
    main()
