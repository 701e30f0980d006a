"""Train walks on a knowledge graph and rank its test triples in full.

    python scripts/walks.py --data FOLDER --device cuda --hops 6 --states 8 --seconds 300 --out DIR

`--train-graph A --data B` trains on A and asks about B, a graph with the same relations and other
entities: B's training triples are what is known, its test triples are asked. Needs numpy, torch and
jaxtyping only.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch

from deepprooflog.device import find_device
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.walk.model import walk_graph
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.rank import rank_open
from deepprooflog.kg.walk.refit import refit_suits
from deepprooflog.kg.walk.training import train_walks


def add_options(parser: argparse.ArgumentParser, options: type) -> None:
    """One argument for each field of an options class."""
    for f in fields(options):
        if any(action.dest == f.name for action in parser._actions):
            continue
        kind: Any = {"int": int, "float": float, "str": str, "bool": as_bool}[str(f.type)]
        parser.add_argument(f"--{f.name.replace('_', '-')}", type=kind, default=f.default,
                            help=f"{f.metadata['about']} (default {f.default})")  # fmt: skip


def as_bool(text: str) -> bool:
    """true or false."""
    return {"true": True, "false": False}[text.lower()]


def chosen(arguments: argparse.Namespace, options: type) -> Any:
    """The options object that the arguments ask for."""
    return options(**{f.name: getattr(arguments, f.name) for f in fields(options)})


def show(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="a folder with train, valid and test")
    parser.add_argument("--train-graph", help="another graph to train on")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", help="a folder for weights.pt and figures.json")
    parser.add_argument("--precision", default="highest", choices=("highest", "high"),
                        help="of products of float32 matrices: high is TF32")  # fmt: skip
    parser.add_argument("--rank-batch", type=int, help="queries ranked at once (default: --batch)")
    add_options(parser, WalkOptions)
    parser.add_argument("--validation-size", type=int, help="triples in a look (default: all)")
    arguments = parser.parse_args()
    device = find_device(arguments.device)
    torch.set_float32_matmul_precision(arguments.precision)
    options = chosen(arguments, WalkOptions)
    began = time.perf_counter()
    graph = read_graph(arguments.train_graph or arguments.data)
    show(f"read {graph.name} in {time.perf_counter() - began:.1f} s on {device}")
    path = Path(arguments.out) / "checkpoint.pt" if arguments.out else None
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    trained = train_walks(
        graph, options, validation_size=arguments.validation_size, device=device, path=path,
        on_row=show_row,
    )  # fmt: skip
    if device.type == "cuda":
        show(f"most memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
    refit = refit_suits(trained.model, trained.facts, graph, batch=options.batch)
    show(f"refit on validation lists: mrr {refit.before:.4f}, {refit.after:.4f}; kept {refit.kept}")
    asked = read_graph(arguments.data) if arguments.train_graph else graph
    facts = walk_graph(asked, trained.model.relations, device=device)
    figures: dict[str, Any] = {"data": arguments.data, "device": str(device)}
    figures |= {
        "train_graph": arguments.train_graph,
        "train_seconds": round(trained.learned.seconds, 1),
    }
    size = arguments.rank_batch or options.batch
    for split in ("valid", "test"):
        ranking = rank_open(trained.model, facts, asked, asked.split(split), batch=size)
        half = len(ranking.better) // 2
        values = {k: round(v, 4) for k, v in ranking.means().items()}
        values["mrr_tails"] = round(float((1 / ranking.ranks()[:half]).mean()), 4)
        values["mrr_heads"] = round(float((1 / ranking.ranks()[half:]).mean()), 4)
        values["lists"], values["seconds"] = len(ranking.better), round(ranking.seconds, 2)
        figures[split] = values
        show(f"{split:5} " + "  ".join(f"{k} {v}" for k, v in values.items()))
    figures |= {"options": asdict(options),
                "history": trained.learned.history}  # fmt: skip
    if arguments.out:
        folder = Path(arguments.out)
        saved = {"relations": trained.model.relations, "options": asdict(options),
                 "weights": trained.model.state_dict()}  # fmt: skip
        torch.save(saved, folder / "weights.pt")
        (folder / "figures.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")


def show_row(row: dict[str, float]) -> None:
    show("  ".join(f"{k} {v:.4g}" for k, v in row.items()))


if __name__ == "__main__":
    main()
