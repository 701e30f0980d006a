"""Knowledge graphs: steps of the proof environment, exact scores of candidates, indexes of facts.

Run with `python benchmarks/kg.py --data family --device cpu`; the folder of data sets is named by
DEEPPROOFLOG_DATA. On a CPU one thread is used and CPU time is counted, on a GPU the clock on the
wall, once the device is done. Each figure is the median of several repetitions after one that is
not counted. `waits` counts how often the host waits for the GPU, in a rollout of 16 steps of all
episodes or in scoring one batch of candidates.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.rules import Rules, read_rules
from deepprooflog.kg.data.triples import SIDES, Graph
from deepprooflog.kg.kge.negatives import corruptions, training_negatives
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.learn.rollout import collect
from deepprooflog.logic.program import Program
from deepprooflog.mdp.environment import Environment, Process, Queries, reset
from deepprooflog.mdp.policy import Policy
from deepprooflog.relational.index import build_index, gather_facts
from deepprooflog.relational.layers import explore
from deepprooflog.relational.sweep import provable
from deepprooflog.score.embedding.embedding import Embedding

SECTIONS = ("steps", "candidates", "goals", "facts")
DIMENSION = 64  # the paper's
MAX_DEPTH = 20
SIZES = {"cpu": (256, 1024), "cuda": (32768, 32768)}  # episodes; candidates in a batch
RELATIONS, ENTITIES = 20, 200_000  # of the random facts

Row = dict[str, object]


@dataclass(frozen=True)
class Setting:
    """What is measured, and where."""

    graph: Graph
    rules: Rules
    program: Program
    device: torch.device
    repeat: int

    def policy(self, constants: str, *, false_action: bool, seed: int = 0) -> Embedding:
        """An untrained policy of the paper's size."""
        made = Embedding(
            self.program, DIMENSION, "mlp", "mean", constants=constants, numbers="symbols",
            false_action=false_action, seed=seed,
        )  # fmt: skip
        return made.to(self.device)

    def seconds(self, run: Callable[[], object]) -> float:
        """The median time of some runs, after one to warm up."""
        times = []
        for _ in range(1 + self.repeat):
            begin = self.clock()
            run()
            times.append(self.clock() - begin)
        return statistics.median(times[1:])

    def clock(self) -> float:
        """Seconds of this process on a CPU, of the wall on a GPU that has nothing left to do."""
        if self.device.type == "cpu":
            return time.process_time()
        torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def waits(self, run: Callable[[], object]) -> int | str:
        """How often the host waits for the GPU in a run."""
        if self.device.type == "cpu":
            return "no GPU"
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            run()
            torch.cuda.set_sync_debug_mode("default")
        return sum("synchroniz" in str(one.message) for one in seen)


# -- rollouts --------------------------------------------------------------------------------------


def steps(setting: Setting, rows: list[Row], episodes: int) -> None:
    """Choose and take resolution steps: successors, policy, draw, memory, rewards."""
    for nesting in (2, None):
        database = database_of(setting.graph, setting.rules, nesting=nesting, device=setting.device)
        positives = setting.graph.train
        drawn = training_negatives(setting.graph, positives)
        triples = torch.from_numpy(np.concatenate([positives, drawn.triples])).to(setting.device)
        goals = database.triples(triples[:, 1], triples[:, [0, 2]], leave_out=True)
        label = (torch.arange(len(triples), device=setting.device) < len(positives)).long()
        queries = Queries(goals, label)
        environment = Environment(database, Process(MAX_DEPTH, false_action=True, memory=True))
        for constants, critic in (("own", False), ("own", True), ("shared", True)):
            actor = setting.policy(constants, false_action=True)
            other = setting.policy(constants, false_action=True, seed=1) if critic else None
            policy = Policy(actor, database, other).to(setting.device)
            row = rolled_out(setting, environment, policy, queries, episodes)
            limit = "unlimited" if nesting is None else nesting
            case = f"steps, nesting {limit}, constants {constants}"
            show(rows, {"case": case + (", with V" if critic else ""), **row})


def rolled_out(
    setting: Setting, environment: Environment, policy: Policy, queries: Queries, episodes: int
) -> Row:
    """The rate of one policy; episodes are well under way when the clock starts."""
    generator = torch.Generator(setting.device).manual_seed(0)
    length = 16
    first = torch.randint(len(queries), (episodes,), generator=generator, device=setting.device)
    state = reset(environment, queries, first)
    _, state = collect(environment, policy, state, queries, 8, generator)
    found = {}

    def run() -> None:
        nonlocal state
        found["rollout"], state = collect(environment, policy, state, queries, length, generator)

    seconds = setting.seconds(run)
    rollout = found["rollout"]
    return {
        "steps_per_s": rollout.tally.steps / seconds,
        "episodes": episodes,
        "successors_a_step": len(rollout.choices.successors) / max(rollout.tally.steps, 1),
        "waits": setting.waits(run),
        "steps_an_episode": rollout.tally.steps / max(rollout.tally.episodes, 1),
    }


# -- exact scores ----------------------------------------------------------------------------------


def candidates(setting: Setting, rows: list[Row], batch: int) -> None:
    """p_success of test triples and 100 corruptions of each side, as a ranking asks for them."""
    order = np.random.default_rng(0).permutation(len(setting.graph.test))
    queries = setting.graph.test[order[: max(1, batch // 202)]]
    parts = []
    for side in SIDES:
        made = corruptions(setting.graph, queries, side, 100)
        parts += [queries, made.triples(queries)[made.present]]
    triples = torch.from_numpy(np.concatenate(parts)).to(setting.device)
    database = database_of(setting.graph, setting.rules, nesting=2, device=setting.device)
    for constants in ("own", "shared"):
        policy = setting.policy(constants, false_action=False)
        prover = Prover(database, policy, None, ExploreLimits(depth=40)).to(setting.device)
        with torch.no_grad():
            layers = explore(database, prover.goals(triples), max_depth=prover.limits.depth)
            explored = setting.seconds(lambda p=prover: p.explore(p.goals(triples)))
            total = setting.seconds(lambda p=prover: p(triples))
        row: Row = {
            "case": f"candidates, nesting 2, constants {constants}",
            "ms_a_candidate": 1e3 * total / len(triples),
            "explore_ms": 1e3 * explored / len(triples),
            "goals_a_candidate": layers.size / len(triples),
            "cut": bool(layers.cut),
            "batch": len(triples),
            "waits": setting.waits(lambda p=prover: p(triples)),
        }
        show(rows, row)


# -- facts -----------------------------------------------------------------------------------------


def goals(setting: Setting, rows: list[Row], nestings: tuple[int, ...]) -> None:
    """How many goals the test triples have, and how many of these are proved."""
    test = torch.from_numpy(setting.graph.test).to(setting.device)
    for nesting in nestings:
        database = database_of(setting.graph, setting.rules, nesting=nesting, device=setting.device)
        layers = explore(database, database.triples(test[:, 1], test[:, [0, 2]]), max_depth=60)
        proved = int(provable(layers).sum())
        case = f"goals of {len(test):,} test triples, nesting {nesting}"
        show(rows, {"case": case, "goals": layers.size, "proved": proved, "cut": bool(layers.cut)})


def facts(setting: Setting, rows: list[Row], counts: tuple[int, ...]) -> None:
    """Index random facts of a binary relation by either argument and by both."""
    bound = {(2, 0), (2, 1), (2, 2), (2, 3)}
    for count in counts:
        generator = torch.Generator().manual_seed(0)
        columns = {
            relation: torch.randint(
                ENTITIES, (count // RELATIONS, 2), generator=generator, dtype=torch.int32
            ).to(setting.device)
            for relation in range(RELATIONS)
        }

        def build(columns: dict[int, torch.Tensor] = columns) -> object:
            gathered = gather_facts(columns, RELATIONS, ENTITIES, widest=2, device=setting.device)
            return build_index(gathered, bound, RELATIONS, ENTITIES)

        seconds = setting.seconds(build)
        show(rows, {"case": f"index {count:,} facts", "s": seconds, "peak_mb": peak_mb(setting)})


def peak_mb(setting: Setting) -> float:
    if setting.device.type == "cuda":
        return torch.cuda.max_memory_allocated(setting.device) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(rows: list[Row], row: Row) -> None:
    rows.append(row)
    parts = [f"{row['case']:<46}"]
    for key, value in row.items():
        if key != "case":
            parts.append(f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}")
    print("  ".join(parts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="family", help="family, wn18rr, village, or a folder")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sections", nargs="+", default=SECTIONS, choices=SECTIONS)
    parser.add_argument("--episodes", type=int, help="side by side; 256, on a GPU 32768")
    parser.add_argument("--batch", type=int, help="candidates; 1024, on a GPU 32768")
    parser.add_argument("--facts", nargs="+", type=int, default=(1_000_000, 10_000_000))
    parser.add_argument("--nestings", nargs="+", type=int, default=(1, 2), help="of goals")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="write all figures to a file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    device = torch.device(options.device)
    try:
        graph = read_graph(options.data)
        if graph.rules is None:
            parser.error(f"{options.data} has no rules")
        rules = read_rules(graph.rules)
    except DataError as error:
        parser.error(str(error))
    setting = Setting(graph, rules, program_of(graph, rules), device, options.repeat)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    print(f"{graph.name}, {len(graph.train):,} facts, {len(rules)} rules; {name}, "
          f"torch {torch.__version__}")  # fmt: skip
    episodes, batch = SIZES[device.type]
    rows: list[Row] = []
    if "steps" in options.sections:
        steps(setting, rows, options.episodes or episodes)
    if "candidates" in options.sections:
        candidates(setting, rows, options.batch or batch)
    if "goals" in options.sections:
        goals(setting, rows, tuple(options.nestings))
    if "facts" in options.sections:
        facts(setting, rows, tuple(options.facts))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"data": graph.name, "device": name, "torch": torch.__version__,
                       "rows": rows}, file, indent=1)  # fmt: skip


if __name__ == "__main__":
    main()
