"""Which embedding a graph gets: a schedule that can be worked out by hand, and ranks by `rank`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from deepprooflog.data.whole import read_json
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.evaluation.ranking import rank
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.table import make_model
from deepprooflog.kg.learn import prior_choice
from deepprooflog.kg.learn.options import PriorOptions
from deepprooflog.kg.learn.prior_choice import PriorSearch, validation_mrr
from deepprooflog.kg.training import train_graph

OPTIONS = PriorOptions(dimension=2, n3=0.5, seconds=1e6)
Tried = list[tuple[int, float, int]]


def small() -> Graph:
    rng = np.random.default_rng(0)
    names = [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rng.integers(0, (9, 2, 9), size=(60, 3))]
    return graph_of(names[:40], names[40:50], names[50:])


def quality(options: PriorOptions) -> float:
    """Twice the dimension and a tenth of n3 are best; steps help up to 4,000."""
    best = options.dimension == 4 and options.n3 < 0.1
    return 0.3 + 0.1 * best + 0.01 * min(options.steps, 4000) / 500


class Scripted:
    """Trains nothing: embeddings are as good as `quality` says, 500 steps take a second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails_at: int = 0) -> None:
        self.tried: Tried = []
        self.kept: set[PriorOptions] = set()
        self.fails_at = fails_at
        self.of: dict[Kge, float] = {}
        monkeypatch.setattr(prior_choice, "validation_mrr", self.mrr)

    def trial(self, own: PriorOptions) -> tuple[Kge, float]:
        if len(self.tried) + 1 == self.fails_at:
            raise KeyboardInterrupt
        self.tried.append((own.dimension, own.n3, own.steps))
        self.kept.add(own)
        model = make_model(replace(own, kind="complex"), 9, 2)
        self.of[model] = quality(own)
        return model, own.steps / 500

    def forget(self, own: PriorOptions) -> None:
        self.kept.discard(own)

    def mrr(self, model: Kge, *_: object) -> float:
        return self.of[model]


FIRST_ROUND: Tried = [(d, n3, 500) for d in (2, 4) for n3 in (0.5, 0.05, 2.0)]


def test_halves_then_doubles_while_validation_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Scripted(monkeypatch)
    _, choice = PriorSearch(OPTIONS, small(), training, None).run()
    second = [(4, 0.05, 1000), (2, 0.5, 1000), (2, 0.05, 1000)]
    alone = [(4, 0.05, steps) for steps in (2000, 4000, 8000)]
    assert training.tried == FIRST_ROUND + second + alone
    # 8,000 steps are no better than 4,000.
    assert choice.best.options.steps == 4000
    assert choice.best.mrr == pytest.approx(0.48)
    assert not choice.out_of_time
    assert str(choice) == (
        "prior: complex, dimension 4 n3 0.05 steps 4000 (validation MRR 0.4800, the best of 12 "
        "tried in 40 s; validation rose no more)"
    )


@pytest.mark.parametrize(("seconds", "trials"), [(0.5, 1), (3.0, 3), (12.0, 9)])
def test_begins_nothing_that_would_not_end_in_time(
    seconds: float, trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training of twice the dimension is expected to take twice as long."""
    training = Scripted(monkeypatch)
    _, choice = PriorSearch(replace(OPTIONS, seconds=seconds), small(), training, None).run()
    assert choice.out_of_time
    assert len(training.tried) == trials
    assert "time ran out" in str(choice)


def test_goes_on_after_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = PriorSearch(OPTIONS, small(), Scripted(monkeypatch), None).run()[1]
    broken = Scripted(monkeypatch, fails_at=8)
    with pytest.raises(KeyboardInterrupt):
        PriorSearch(OPTIONS, small(), broken, tmp_path).run()
    assert [own.n3 for own in broken.kept] == [0.05]
    again = Scripted(monkeypatch)
    _, choice = PriorSearch(OPTIONS, small(), again, tmp_path).run()
    assert broken.tried + again.tried == [
        (t.options.dimension, t.options.n3, t.options.steps) for t in whole.trials
    ]
    assert choice == whole


def test_the_choice_is_kept_in_the_record_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prior_choice, "FIRST", 2)
    model = train_graph(
        small(), "r0(X, Y) :- r1(Y, X).", {"kind": "complex", "dimension": 2, "batch": 8},
        out=tmp_path / "run", exact={"steps": 1}, threads=1,
    )  # fmt: skip
    kept = model.result["prior_choice"]
    assert {(t["dimension"], t["steps"]) for t in kept["trials"]} >= {(2, 2), (4, 2)}
    mrrs = [t["validation_mrr"] for t in kept["trials"]]
    assert mrrs[kept["best"]] == max(mrrs)
    assert kept["note"].startswith("prior: complex, dimension")
    assert read_json(tmp_path / "run" / "result.json")["prior_choice"] == kept


@pytest.mark.parametrize("kind", ["complex", "rotate"])
def test_validation_is_full_filtered_ranking(kind: str) -> None:
    graph = small()
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = make_model(replace(OPTIONS, kind=kind), len(graph.entities), len(graph.relations))
    found = rank(graph, lambda x: model.score(*x.unbind(1)), graph.valid, protocol="full")
    ranked = found.ranked
    expected = (1 / (1 + ranked.better + ranked.equal / 2)).mean()
    assert validation_mrr(model, graph, graph.valid) == pytest.approx(expected, abs=1e-12)
