"""JSON: the documented keys, the round trip, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from deepprooflog.errors import ProofLogError, SyntaxProblem
from deepprooflog.proof import Proof

from .conftest import proofs


def test_keys_and_values(small: Proof) -> None:
    record = json.loads(small.to_json())
    assert list(record) == ["query", "bindings", "probability", "log_probability", "nodes"]
    assert record["query"] == "even(I), name(N, M), likes(ann, N)"
    assert record["bindings"] == {"N": "4", "M": "'four & \"IV\"'"}
    assert record["probability"] == pytest.approx(0.27)
    assert record["log_probability"] == pytest.approx(math.log(0.27))
    assert [step["parent"] for step in record["nodes"]] == [None, 0, 0, 0, None, None, 5]
    digit = record["nodes"][1]
    assert digit["probability"] == pytest.approx(0.5)
    del digit["probability"], digit["log_probability"]
    assert digit == {
        "id": 1,
        "parent": 0,
        "atom": "digit(<tensor 0>, 4)",
        "kind": "neural",
        "reason": "lenet(<tensor 0>) = 4",
        "place": "even.pl:1",
    }


@given(proofs())
def test_round_trip(proof: Proof) -> None:
    text = proof.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert Proof.from_json(text) == proof


def test_lone_surrogate_round_trip(small: Proof) -> None:
    proof = replace(small, query="p('\ud800')")
    text = proof.to_json()
    text.encode()
    assert Proof.from_json(text) == proof


def test_deep_round_trip(deep: Proof) -> None:
    assert Proof.from_json(deep.to_json()) == deep


def test_impossible_and_tiny_probabilities() -> None:
    record = json.loads(Proof("p", {}, -math.inf, ()).to_json())
    assert record["probability"] == 0
    assert record["log_probability"] is None
    tiny = Proof.from_json(Proof("p", {}, -5000.0, ()).to_json())
    assert tiny.probability == 0.0
    assert tiny.log_prob == -5000.0


def test_loaded_proof_cannot_be_checked(small: Proof) -> None:
    loaded = Proof.from_json(replace(small, checker=lambda: True).to_json())
    with pytest.raises(ProofLogError, match="loaded without its program"):
        loaded.check()


def test_not_json_gives_the_place() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        Proof.from_json('{"query": "p",\n "nodes": }')
    assert (caught.value.line, caught.value.column) == (2, 11)
    assert str(caught.value).endswith('     "nodes": }\n              ^')


DROP = object()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["query"], DROP, "no 'query'"),
        (["query"], 3, "'query' is not a JSON string"),
        (["bindings"], [], "'bindings' is not a JSON object"),
        (["bindings", "N"], 4, "not all text"),
        (["nodes"], {}, "'nodes' is not a JSON array"),
        (["nodes", 1], "p", "node 1 .* not a JSON object"),
        (["nodes", 1, "id"], 7, "node 1 has id 7"),
        (["nodes", 1, "parent"], 1, "node 1 has parent 1"),
        (["nodes", 1, "parent"], -1, "node 1 has parent -1"),
        (["nodes", 1, "parent"], True, "'parent' is not a JSON integer"),
        (["nodes", 1, "parent"], DROP, "no 'parent'"),
        (["nodes", 4, "parent"], 1, "in preorder"),
        (["nodes", 6, "parent"], 0, "in preorder"),
        (["nodes", 1, "kind"], "magic", "kind 'magic'"),
        (["nodes", 1, "log_probability"], "x", "not a JSON number"),
        (["nodes", 1, "log_probability"], DROP, "no log_probability"),
        (["nodes", 1, "log_probability"], 3.0, "not a log-probability"),
        (["log_probability"], math.nan, "not a log-probability"),
    ],
)
def test_malformed(small: Proof, path: list[Any], value: Any, message: str) -> None:
    record = json.loads(small.to_json())
    holder = record
    for key in path[:-1]:
        holder = holder[key]
    if value is DROP:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    with pytest.raises(ProofLogError, match=message):
        Proof.from_json(json.dumps(record))


@pytest.mark.parametrize("text", ["[]", "3", '"p"', "[" * 200_000])
def test_other_json(text: str) -> None:
    with pytest.raises(ProofLogError):
        Proof.from_json(text)
