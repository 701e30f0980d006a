"""Models of PyKEEN, imported, score as PyKEEN scores."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.kge.pykeen import from_pykeen, read_pykeen

pykeen_models = pytest.importorskip("pykeen.models", reason="pykeen is not installed")
pykeen_triples = pytest.importorskip("pykeen.triples", reason="pykeen is not installed")

LABELS = [("zoe", "knows", "bob"), ("bob", "likes", "ann"), ("ann", "knows", "zoe"),
          ("cid", "likes", "zoe"), ("ann", "fears", "cid")]  # fmt: skip


def factory(inverse: bool = False) -> Any:
    import numpy as np

    return pykeen_triples.TriplesFactory.from_labeled_triples(
        np.array(LABELS), create_inverse_triples=inverse
    )


def model(name: str, triples: Any, **more: Any) -> Any:
    size = 7 if name in ("TransE", "DistMult") else 6  # real vectors of any length
    make = getattr(pykeen_models, name)
    built = make(triples_factory=triples, embedding_dim=size, random_seed=0, **more)
    return built.eval()


@pytest.mark.parametrize("name", ["RotatE", "ComplEx", "TransE", "DistMult"])
def test_scores_are_pykeens(name: str) -> None:
    """Triples, all tails and all heads."""
    triples = factory()
    theirs = model(name, triples)
    ours = from_pykeen(theirs)
    every = torch.cartesian_prod(torch.arange(4), torch.arange(3), torch.arange(4))
    with torch.no_grad():
        expected = theirs.score_hrt(every)[:, 0]
        tails, heads = theirs.score_t(every[:, :2]), theirs.score_h(every[:, 1:])
        torch.testing.assert_close(ours.score(*every.unbind(1)), expected)
        torch.testing.assert_close(ours.all_tails(every[:, 0], every[:, 1]), tails)
        torch.testing.assert_close(ours.all_heads(every[:, 1], every[:, 2]), heads)


@pytest.mark.parametrize("name", ["RotatE", "ComplEx", "TransE", "DistMult"])
def test_rows_follow_the_labels_given(name: str) -> None:
    """Our numbers are by first occurrence, PyKEEN's by sorted label."""
    triples = factory()
    theirs = model(name, triples)
    entities, relations = ["zoe", "bob", "ann", "cid"], ["knows", "likes", "fears"]
    ours = from_pykeen(theirs, triples, entities=entities, relations=relations)
    rows = [(entities.index(h), relations.index(r), entities.index(t)) for h, r, t in LABELS]
    numbers = [
        (triples.entity_to_id[h], triples.relation_to_id[r], triples.entity_to_id[t])
        for h, r, t in LABELS
    ]
    assert rows != numbers
    with torch.no_grad():
        expected = theirs.score_hrt(torch.tensor(numbers))[:, 0]
        torch.testing.assert_close(ours.score(*torch.tensor(rows).unbind(1)), expected)


def test_a_saved_pipeline_is_read(tmp_path: Path) -> None:
    triples = factory()
    theirs = model("ComplEx", triples)
    torch.save(theirs, tmp_path / "trained_model.pkl")
    triples.to_path_binary(tmp_path / "training_triples")
    ours = read_pykeen(tmp_path, entities=["cid", "ann"], relations=["fears"], trusted=True)
    pair = [[triples.entity_to_id["ann"], triples.relation_to_id["fears"],
             triples.entity_to_id["cid"]]]  # fmt: skip
    with torch.no_grad():
        expected = theirs.score_hrt(torch.tensor(pair))[0, 0]
        found = ours.score(torch.tensor(1), torch.tensor(0), torch.tensor(0))
    torch.testing.assert_close(found, expected)


def test_what_cannot_be_imported_is_named(tmp_path: Path) -> None:
    triples = factory()
    with pytest.raises(ModelError, match="HolEInteraction cannot be imported"):
        from_pykeen(model("HolE", triples))
    with pytest.raises(ModelError, match="has the norm 2"):
        from_pykeen(model("TransE", triples, scoring_fct_norm=2))
    with pytest.raises(ModelError, match="inverse triples"):
        from_pykeen(model("RotatE", factory(inverse=True)))
    with pytest.raises(DataError, match=r"no entity 'dan' \(and 1 more\)"):
        from_pykeen(model("RotatE", triples), triples, entities=["dan", "eve"])
    with pytest.raises(ModelError, match="pass the triples factory"):
        from_pykeen(model("RotatE", triples), SimpleNamespace(), relations=["knows"])
    loose = model("RotatE", triples)
    with torch.no_grad():
        for parameter in loose.relation_representations[0].parameters():
            parameter.mul_(1.5)
    with pytest.raises(ModelError, match="not rotations"):
        from_pykeen(loose)
    with pytest.raises(DataError, match=r"no trained_model\.pkl"):
        read_pykeen(tmp_path)
    (tmp_path / "trained_model.pkl").write_bytes(b"not a pickle")
    with pytest.raises(DataError, match="cannot be read"):
        read_pykeen(tmp_path, trusted=True)


class Opener:
    """An object whose pickle, read, makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self.path,)


def test_a_pickle_runs_nothing_unless_it_is_trusted(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    (tmp_path / "trained_model.pkl").write_bytes(pickle.dumps(Opener(opened)))
    with pytest.raises(DataError, match="runs the code of whoever made it") as found:
        read_pykeen(tmp_path)
    assert "trusted=True" in str(found.value.hint)
    assert not opened.exists()
