"""The figures of an evaluation as rows: one for each group of lists, by each score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deepprooflog import markup
from deepprooflog.frames import ResultTable
from deepprooflog.kg.evaluation.metrics import HITS

MEANS = ("mrr", *(f"hits@{k}" for k in HITS), "auc_pr")
COLUMNS = ("score", "by", "group", "lists", *MEANS)
_GROUPS = {"relations": "relation", "strata": "stratum", "depths": "depth"}
_BESIDE = ("walks", "rules", "late_fusion", "belief", "prior")


def figure_table(record: Mapping[str, Any]) -> ResultTable:
    """A row for all lists, then by side, relation, stratum and depth; scores beside it likewise.

    >>> means = {"mrr": 0.75, "hits@1": 0.5, "hits@3": 1.0, "hits@10": 1.0}
    >>> rows = figure_table({**means, "relations": {"knows": {"lists": 2, **means}}}).rows
    >>> [(row["score"], row["by"], row["group"], row["mrr"]) for row in rows]
    [('p_success', 'all', None, 0.75), ('p_success', 'relation', 'knows', 0.75)]
    """
    both = record.get("walks") is not None
    first = "both" if both else record.get("system", record.get("reading", "p_success"))
    scores = {str(first): record, **record.get("readings", {})}
    scores |= {name.replace("_", " "): record.get(name) for name in _BESIDE}
    rows = (
        row
        for name, found in scores.items()
        if isinstance(found, Mapping)
        for row in _rows(name, found)
    )
    return ResultTable(COLUMNS, tuple(rows))


def _rows(score: str, record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    groups = [("all", None, record)]
    groups += [("side", side, record[side]) for side in record.get("sides", ())]
    groups += [
        (by, name, found)
        for key, by in _GROUPS.items()
        for name, found in record.get(key, {}).items()
    ]
    for by, group, found in groups:
        figures = {name: found.get(name) for name in ("lists", *MEANS)}
        yield {"score": score, "by": by, "group": group, **figures}


def figures_html(record: Mapping[str, Any]) -> str:
    """The figures over all lists by each score; a click opens those of the groups."""
    rows = figure_table(record).rows
    shown = ("score", *MEANS)
    top = [tuple(row[name] for name in shown) for row in rows if row["by"] == "all"]
    parts = [markup.table(shown, top)]
    kinds = dict.fromkeys(row["by"] for row in rows if row["by"] != "all")
    main = rows[0]["score"]
    for kind in kinds:
        found = [
            (row["group"], row["lists"], *(row[name] for name in MEANS))
            for row in rows
            if row["by"] == kind and row["score"] == main
        ]
        parts.append(markup.fold(f"{main} by {kind}", markup.table((kind, "lists", *MEANS), found)))
    if "queries" in record:
        many = record["negatives"] or "all"
        about = f"{record['queries']:,} test triples, {many} negatives a side, average ties"
        parts.insert(0, markup.line(about))
    return markup.block(*parts)
