"""The parts of a run from its options: graph and rules, theory, policy, prover, splits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from jaxtyping import Int64

from deepprooflog.data.places import is_file
from deepprooflog.device import find_device
from deepprooflog.errors import DataError
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.data.domains import ANYONE, FILE, Candidates, domain_of, parse_domains
from deepprooflog.kg.data.folder import find_graph, read_graph
from deepprooflog.kg.data.held_out import with_splits
from deepprooflog.kg.data.notice import DataNotice
from deepprooflog.kg.data.reading import SHIPPED, read_text
from deepprooflog.kg.data.rules import MINED, Rules, read_rules
from deepprooflog.kg.data.snapshot import Snapshot, snapshot_of
from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import SIDES, Graph
from deepprooflog.kg.learn.mined import MiningOptions, every_mined_rule, mined_rules
from deepprooflog.kg.learn.options import NO_PRIOR, NO_RULES, GraphOptions, SharedOptions
from deepprooflog.kg.learn.policies import POLICIES
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.prove.hiding import hiding_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.kg.walk.options import WALKS
from deepprooflog.relational.database import Believe
from deepprooflog.score.scorer import Scorer


def read_sources(options: SharedOptions) -> Snapshot:
    """The graph, the rules and the domains that the options name; rules to mine are not there."""
    graph, told = with_splits(read_graph(options.data), options.seed, test=True)
    if told:
        graph = replace(graph, notices=(*graph.notices, DataNotice(told)))
    path = None
    if options.rules == NO_RULES or not options.uses_rules:
        rules = Rules(())
    elif options.rules == MINED or (not options.rules and graph.rules is None):
        rules = Rules((), file=MINED)
    else:
        path = rules_path(options.rules) if options.rules else graph.rules
        assert path is not None
        rules = read_rules(path)
    return snapshot_of(graph, rules, path, domains_text(options, graph))


def with_mined(kept: Snapshot, options: SharedOptions, progress: bool = False) -> Snapshot:
    """What was read, with the rules that the options ask to be mined."""
    if kept.rules.file != MINED:
        return kept
    mining = rules_to_mine(options)
    return replace(kept, rules=mining(kept.graph, options.mine, options.seed, progress))


def rules_to_mine(options: SharedOptions) -> Callable[[Graph, MiningOptions, int, bool], Rules]:
    """How a run mines its rules: walks read all of them, a policy weighs few."""
    of_walks = isinstance(options, GraphOptions) and options.learner == WALKS
    return every_mined_rule if of_walks else mined_rules


def nesting_of(options: GraphOptions, rules: Rules) -> int:
    """How deep rules stand inside one another in a run."""
    return options.mine.nesting if rules.file == MINED else options.search.nesting


def rules_path(name: str) -> Path:
    """A file of rules, or those of a graph that ships with the package."""
    shipped = SHIPPED / name / "rules.pl"
    return shipped if not is_file(Path(name)) and is_file(shipped) else Path(name)


def domains_text(options: SharedOptions, graph: Graph) -> tuple[str, str] | None:
    """The file of domains and its text, where the run has candidates."""
    if not options.candidates:
        return None
    path = Path(options.domains) if options.domains else find_graph(options.data) / FILE
    if not options.domains and not is_file(path):
        raise DataError(
            f"candidates={options.candidates}: the folder of {graph.name} has no {FILE}",
            hint="--set domains=FILE",
        )
    return str(path), read_text(path)


def theory_of(options: GraphOptions, kept: Snapshot) -> Theory:
    """The theory of a run: where it looks for answers, and what it hides while learning."""
    graph, rules = kept.graph, kept.rules
    hidden = options.hide.replace(",", " ").split()
    hiding = hiding_of(graph, rules, hidden) if hidden else None
    candidates = candidates_of(options, graph, kept.domains)
    return Theory(graph, rules, options.prior.kind != NO_PRIOR, candidates, hiding)


def candidates_of(
    options: SharedOptions, graph: Graph, domains: tuple[str, str] | None
) -> Candidates:
    """Where the run looks for answers; every triple it is to rank must have its answer there."""
    sides: tuple[Side, ...] = SIDES if options.sides == "both" else (cast("Side", options.sides),)
    if not options.candidates:
        return Candidates(sides)
    assert domains is not None
    file, text = domains
    domain = domain_of(parse_domains(graph, text, file), options.candidates, file)
    chosen = Candidates(sides, domain)
    for split in (graph.valid, graph.test):
        outside = np.flatnonzero(~chosen.hold(split))
        if len(outside):
            raise DataError(
                f"the answer of {graph.text(split[outside[0]])} is not one of "
                f"{options.candidates} ({len(outside)} of {len(split)} triples)",
                file=file, hint="another domain, or sides=head or sides=tail",
            )  # fmt: skip
    return chosen


def untrained_policy(options: GraphOptions, theory: Theory) -> Scorer:
    """The policy of a run before it learns; its symbols are those of the theory."""
    return POLICIES[options.policy.kind](options.policy, theory, options.seed)


def make_prover(
    options: GraphOptions,
    theory: Theory,
    belief: Belief | None,
    policy: Scorer | None = None,
) -> Prover:
    """The prover of a run, with an untrained policy where none is given; walks have one of facts.

    Rules beside walks are read, and no policy weighs them.
    """
    search = options.search
    if options.learner == WALKS:
        theory = replace(theory, rules=Rules(()))
    return prover(
        theory.graph, theory.rules, belief, policy=policy or untrained_policy(options, theory),
        nesting=nesting_of(options, theory.rules), believe=cast("Believe", search.believe),
        device=find_device(options.device),
        limits=ExploreLimits(depth=search.depth, goals=search.goals or None),
    )  # fmt: skip


def splits(
    options: SharedOptions, graph: Graph, candidates: Candidates = ANYONE
) -> tuple[Int64[np.ndarray, "learn 3"], Int64[np.ndarray, "look 3"]]:
    """The triples to learn the policy from, and those that validate.

    A prior is too sure of what it was trained on: beside one, the policy learns from validation
    triples, and the share `validation_share` of these only validates. Only triples whose answers
    are candidates are learned from.
    """
    order = np.random.default_rng(options.seed).permutation(len(graph.valid))
    cut = max(1, round(options.evaluation.validation_share * len(order)))
    look = graph.valid[order[:cut]]
    from_valid = options.learn_from == "valid" or (
        options.learn_from == "auto" and options.prior.kind != NO_PRIOR
    )
    learn = graph.valid[order[cut:]] if from_valid else graph.train
    if candidates.entities is not None:
        learn = learn[candidates.hold(learn)]
    return learn, look[: options.evaluation.validation_size]


def queries_to_rank(options: SharedOptions, graph: Graph) -> Int64[np.ndarray, "queries 3"]:
    """All test triples, or as many drawn at random as the run asks for."""
    every, size = graph.test, options.evaluation.test_size
    if not size or size >= len(every):
        return every
    chosen = np.random.default_rng(options.seed).choice(len(every), size, replace=False)
    return every[np.sort(chosen)]
