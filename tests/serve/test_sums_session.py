"""An addition run's session: what `dprl query` answers, the run's curves, and what it has not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepprooflog.cli import main
from deepprooflog.data.digits import small_digits
from deepprooflog.serve.service import Service, ServiceLimits
from deepprooflog.serve.source import find_source
from deepprooflog.serve.sum_asks import SUM_ASKS
from serve.conftest import Client, client_of

GOAL = "add([test(1)], [test(0)], Z, 0)"


@pytest.fixture(scope="session")
def sums_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of sums of 8 × 8 pictures, of one epoch."""
    folder = tmp_path_factory.mktemp("sums") / "run"
    options = ["n=1", "training.epochs=1", "training.average=0", "sums=60", "threads=1"]
    asked = [word for option in options for word in ("--set", option)]
    assert main(["train", "digits-addition", *asked, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def service(sums_folder: Path) -> Iterator[Service]:
    service = Service(find_source(str(sums_folder)), ServiceLimits(jobs=1))
    service.start()
    yield service
    service.close()


@pytest.fixture
def client(service: Service) -> Client:
    return client_of(service)


def test_the_session_says_which_sums_can_be_asked_for(client: Client) -> None:
    session = client.get("/api/session").json()
    train, test = small_digits()
    assert session["kind"] == "run"
    assert session["sums"]["pictures"] == {"train": len(train), "test": len(test)}
    assert session["sums"]["examples"][0] == "add(test(0..0), test(1..1), Z, 0)"
    found = client.get("/api/complete?prefix=a").json()["items"]
    assert {"text": "add", "kind": "predicate"} in found


def test_answers_are_those_of_the_command(
    client: Client, sums_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = client.result("query", query=GOAL, top=3)
    assert main(["query", str(sums_folder), GOAL, "--top", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for one, other in zip(found["answers"], told["answers"], strict=True):
        assert one["bindings"] == other["bindings"]
        assert one["probability"] == pytest.approx(other["probability"])
        assert one["proof"]["nodes"] == other["proof"]["nodes"]
    # The pictures are the data set's, the brightest pixel is 255.
    _, test = small_digits()
    assert found["pictures"] == {f"test({i})": int(test.labels[i]) for i in (1, 0)}
    shown = found["shown"]["test(1)"]
    assert (len(shown), len(shown[0])) == test.images.shape[1:]
    assert max(map(max, shown)) == 255 and min(map(min, shown)) == 0
    brightest = test.images[1].argmax()
    assert shown[brightest // 8][brightest % 8] == 255


def test_the_run_s_curves_and_figures(client: Client, sums_folder: Path) -> None:
    found = client.get("/api/run").json()
    rows = (sums_folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(found["curves"]["loss"]) == len(rows)
    result = json.loads((sums_folder / "result.json").read_text(encoding="utf-8"))
    assert found["test"]["sum_accuracy"] == result["sum_accuracy"]


def test_what_it_has_not_is_refused(client: Client) -> None:
    wrong = client.ask("query", query="add([test(100000)], [test(0)], Z, 0)")
    assert wrong["state"] == "failed" and "no test(100000)" in wrong["error"]["message"]
    assert set(SUM_ASKS) == {"describe", "query", "run"}
    failed = client.ask("why_not", query=GOAL)
    assert "cannot be asked for why_not" in failed["error"]["message"]
    refused = client.post("/api/facts", json={"added": ["digit(a,b)"]})
    assert refused.status_code == 400 and "no facts" in refused.json()["error"]["message"]
    assert client.result("query", query=GOAL, top=1)["answers"]
