"""Choose the main defaults of walks on the validation triples of several graphs.

    python scripts/choose_walks.py --data village umls FOLDER … --epochs 4
    python scripts/choose_walks.py --data FOLDER --set hops=6 states=8 --try lr=0.002,0.01 hide=0.3

Each option is tried alone, the others as they are or as `--set` says; a row has the validation MRR
of every graph (full ranking, filtered by train and valid, average ties), their mean, and the CPU
seconds. Test triples are not looked at: they are taken from the graphs before anything is trained.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import torch

from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.training import train_walks

TRIED: dict[str, tuple[Any, ...]] = {
    "hops": (2, 3, 4, 6),
    "states": (2, 4, 8, 16),
    "hide": (0.0, 0.1, 0.2, 0.3),
    "lr": (0.002, 0.005, 0.01, 0.02),
}


def split(text: str) -> tuple[str, str]:
    """KEY=VALUE, as two."""
    key, _, value = text.partition("=")
    return key, value


def value_of(key: str, text: str) -> Any:
    """An option's value, of the kind that its default is of."""
    kind = type(getattr(WalkOptions(), key))
    return text == "true" if kind is bool else kind(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["village"], help="folders or names")
    parser.add_argument("--only", nargs="*", default=list(TRIED), help="which options to try")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", dest="base")
    parser.add_argument("--try", nargs="*", metavar="KEY=VALUE,VALUE", dest="tried",
                        help="what to try instead; none: nothing")  # fmt: skip
    parser.add_argument("--epochs", type=float, default=4.0)
    parser.add_argument("--validation-size", type=int, default=300)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    graphs = [read_graph(name) for name in arguments.data]
    graphs = [replace(graph, test=graph.test[:0]) for graph in graphs]
    given = {key: value_of(key, text) for key, text in map(split, arguments.base)}
    base = replace(WalkOptions(epochs=arguments.epochs, seconds=0, validations=2), **given)
    names = "".join(f"{graph.name:>14}" for graph in graphs)
    print(f"{'':<14}{names}{'mean':>8}{'CPU s':>8}", flush=True)
    every = [(key, value) for key in arguments.only for value in TRIED[key]]
    if arguments.tried is not None:
        every = [(key, value_of(key, text)) for key, texts in map(split, arguments.tried)
                 for text in texts.split(",")]  # fmt: skip
    for key, value in [("", 0.0), *every]:
        changed: dict[str, Any] = {key: value} if key else {}
        if key and value == getattr(base, key):
            continue
        began, found = time.process_time(), []
        for graph in graphs:
            trained = train_walks(
                graph, replace(base, **changed), validation_size=arguments.validation_size
            )
            found.append(trained.learned.best)
        name = f"{key}={value}" if key else "as they are"
        row = "".join(f"{mrr:>14.4f}" for mrr in found)
        mean, seconds = sum(found) / len(found), time.process_time() - began
        print(f"{name:<14}{row}{mean:>8.4f}{seconds:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
