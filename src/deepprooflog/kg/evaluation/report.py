"""The figures of an evaluation, typed, shown as a table, or as plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

from deepprooflog.kg.evaluation.figure_table import figure_table, figures_html
from deepprooflog.kg.evaluation.metrics import HITS

SHOWN = ("mrr", "hits@1", "hits@3", "hits@10", "auc_pr")


@dataclass(frozen=True)
class Figures:
    """How well test triples are ranked: overall, on each side, for each relation.

    >>> means = {"mrr": 0.75, "hits@1": 0.5, "hits@3": 1.0, "hits@10": 1.0}
    >>> found = Figures({**means, "auc_pr": 0.8, "relations": {"knows": {"lists": 2, **means}}})
    >>> found.mrr, found.hits[1], found.by_relation["knows"].mrr
    (0.75, 0.5, 0.75)
    """

    record: Mapping[str, Any] = field(repr=False)
    """All of them, as `to_dict` gives them."""

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank, ties averaged."""
        return float(self.record["mrr"])

    @property
    def hits(self) -> dict[int, float]:
        """The shares of ranks that are at most 1, 3 and 10."""
        return {k: float(self.record[f"hits@{k}"]) for k in HITS}

    @property
    def auc_pr(self) -> float | None:
        """The area under the precision-recall curve of all scores together."""
        return self.record.get("auc_pr")

    @property
    def queries(self) -> int:
        """How many triples were ranked."""
        return int(self.record["queries"])

    @property
    def by_side(self) -> dict[str, Figures]:
        """The figures of heads and of tails."""
        return {side: Figures(self.record[side]) for side in self.record["sides"]}

    @property
    def by_relation(self) -> dict[str, Figures]:
        """The figures of each relation."""
        return {name: Figures(found) for name, found in self.record["relations"].items()}

    @property
    def by_depth(self) -> dict[str, Figures]:
        """The figures by the steps of the shortest proof, `none` without one."""
        return {name: Figures(found) for name, found in self.record.get("depths", {}).items()}

    @property
    def strata(self) -> dict[str, Figures]:
        """The figures by which halves of a triple r(h, t) are known: `both` r(h, ·) and r(·, t) are
        in train, the `head`'s r(h, ·) alone, the `tail`'s r(·, t) alone, `none`."""
        return {name: Figures(found) for name, found in self.record.get("strata", {}).items()}

    @property
    def walks(self) -> Figures | None:
        """The figures of walks alone, where proofs are walks."""
        return self._beside("walks")

    @property
    def rules(self) -> Figures | None:
        """The figures of rules alone, where they are read beside walks."""
        return self._beside("rules")

    @property
    def prior(self) -> Figures | None:
        """The figures of the embedding alone."""
        return self._beside("prior")

    @property
    def belief(self) -> Figures | None:
        """The figures of belief alone, where it weighs facts beside the embedding's score."""
        return self._beside("belief")

    @property
    def readings(self) -> dict[str, Figures]:
        """The figures of the readings of rules, where all were asked for."""
        return {name: Figures(found) for name, found in self.record.get("readings", {}).items()}

    @property
    def late_fusion(self) -> Figures | None:
        """The figures of the prior's and the proofs' scores added at the end."""
        return self._beside("late_fusion")

    def _beside(self, name: str) -> Figures | None:
        found = self.record.get(name)
        return Figures(found) if isinstance(found, Mapping) else None

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return dict(self.record)

    def to_frame(self) -> Any:
        """The figures as a `pandas.DataFrame`: a row for all lists and for each group of them.

        >>> means = {"mrr": 0.75, "hits@1": 0.5, "hits@3": 1.0, "hits@10": 1.0}
        >>> Figures(means).to_frame()[["score", "by", "mrr"]].values.tolist()
        [['p_success', 'all', 0.75]]
        """
        return figure_table(self.record).to_frame()

    def _repr_html_(self) -> str:
        return figures_html(self.record)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{key}={self.record[key]:.4f}" for key in SHOWN if self.record.get(key) is not None
        )
        return f"Figures({shown})"

    def __str__(self) -> str:
        return table(self.record) if "queries" in self.record else repr(self)


def table(record: Mapping[str, Any]) -> str:
    """The figures for people: a row for p_success or a system, for each reading, for the prior."""
    many = f"{record['negatives']} negatives a side" if record["negatives"] else "all entities"
    many = f"among {record['among']}" if record.get("among") else many
    sides = "both sides" if len(record["sides"]) == 2 else f"{record['sides'][0]}s"
    lines = [
        f"{record['queries']:,} test triples, {sides}, {many}, average ties",
        f"{'':<14}" + "".join(f"{name:>9}" for name in SHOWN),
    ]
    of_walks = record.get("walks") is not None
    first = "both" if of_walks else record.get("system", record.get("reading", "p_success"))
    beside = {first: record, **record.get("readings", {}), "walks alone": record.get("walks"),
              "rules alone": record.get("rules"), "late fusion": record.get("late_fusion"),
              "belief alone": record.get("belief"), "prior alone": record.get("prior")}  # fmt: skip
    for name, found in beside.items():
        if isinstance(found, Mapping):
            lines.append(f"{name:<14}" + "".join(f"{found[key]:>9.4f}" for key in SHOWN))
            if more := found.get("with_belief"):
                cells = (f"{more[key]:>9.4f}" for key in SHOWN if key in more)
                lines.append("  and belief".ljust(14) + "".join(cells))
    lines += _strata(record.get("strata", {}))
    score = record.get("score")
    if score is not None:
        tried = ", ".join(f"{name} {mrr:.4f}" for name, mrr in score["validation"].items())
        told = f"weighed: {score['weighed']}, by the MRR of {score['lists']:,} validation lists: "
        lines += wrap(told + tried, 79, subsequent_indent="  ")
    return "\n".join(lines)


HALVES = {"both": "r(h,·), r(·,t)", "head": "r(h,·) alone", "tail": "r(·,t) alone",
          "none": "neither"}  # fmt: skip


def _strata(found: Mapping[str, Any]) -> list[str]:
    """A row for each stratum: which facts like half of the triple train has."""
    if not found:
        return []
    rows = [
        f"{HALVES[name]:<14}" + "".join(f"{row[key]:>9.4f}" for key in SHOWN[:-1])
        + f"{row['lists']:>9,}"
        for name, row in found.items()
    ]  # fmt: skip
    return [
        f"{'known in train':<14}" + "".join(f"{key:>9}" for key in (*SHOWN[:-1], "lists")),
        *rows,
    ]
