"""`mine`: rules from the training triples of a graph."""

from __future__ import annotations

from collections.abc import Callable

from deepprooflog.errors import DataError
from deepprooflog.kg.data.notice import DataNotice, plural
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.mining.adjacency import directed_graph
from deepprooflog.kg.mining.clauses import rules_of
from deepprooflog.kg.mining.options import MineOptions
from deepprooflog.kg.mining.search import RuleSearch
from deepprooflog.learn.run.progress import Progress

PARTS = 1000


def mine(
    graph: Graph,
    *,
    seconds: float | None = MineOptions.seconds,
    max_length: int = MineOptions.max_length,
    min_support: int = MineOptions.min_support,
    min_confidence: float = MineOptions.min_confidence,
    constants: bool = MineOptions.constants,
    constant_length: int = MineOptions.constant_length,
    identity: bool = MineOptions.identity,
    guards: bool = MineOptions.guards,
    most: int | None = MineOptions.most,
    most_of_constant: int | None = MineOptions.most_of_constant,
    most_with_constants: int | None = MineOptions.most_with_constants,
    facts: int | None = MineOptions.facts,
    seed: int = MineOptions.seed,
    progress: bool = False,
    stop: Callable[[], bool] | None = None,
) -> Rules:
    """Rules that hold in the training triples, with what was counted of each.

    Every count is exact. `stop` is asked between steps: when it says so, or `seconds` are over, the
    rules found so far are returned, with a notice of how far the search came.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "parent", "bob"), ("bob", "child", "ann"),
    ...                   ("eve", "parent", "dan"), ("dan", "child", "eve")])
    >>> for rule in mine(graph, min_support=2, constants=False):
    ...     print(rule.weight, rule, rule.counts.support, rule.counts.example)
    1.0 parent(A,B) :- child(B,A). 2 parent(ann,bob)
    1.0 child(A,B) :- parent(B,A). 2 child(bob,ann)
    """
    options = MineOptions(
        seconds, max_length, min_support, min_confidence, constants, constant_length, identity,
        guards, most, most_of_constant, most_with_constants, facts, seed,
    )  # fmt: skip
    if not len(graph.train):
        raise DataError(f"the graph {graph.name} has no training triples")
    edges = directed_graph(graph, identity)
    search = RuleSearch(edges, options, stop or _never)
    bar = Progress(PARTS)
    bar.live = bar.live and progress
    try:
        for done, text in search.run():
            bar.update(int(PARTS * done), f"{text}, {plural(len(search), 'rule')}")
        bar.update(PARTS, plural(len(search), "rule"))
    finally:
        bar.close()
    rules = rules_of(graph, edges, search.found(), guards)
    return Rules(tuple(rules), tuple(_notices(graph, search, len(rules))))


def _never() -> bool:
    return False


def _notices(graph: Graph, search: RuleSearch, rules: int) -> list[DataNotice]:
    notices: list[DataNotice] = []
    if search.cut is not None:
        notices.append(DataNotice(f"the search was cut short while {search.cut}"))
    least, sure = search.options.min_support, search.options.min_confidence
    facts = [len(a) for a in search.edges.by_relation[: len(graph.relations)]]
    scarce = sum(count < least for count in facts)
    if scarce:
        told = f"{plural(scarce, 'relation')} with fewer than {least} facts can have no rule"
        notices.append(DataNotice(told, count=scarce))
    if not rules:
        told = f"no rule has a support of {least} and a confidence of {sure:g}"
        notices.append(DataNotice(told))
    return notices
