"""Sessions that the tests ask: a program, and a small run whose names are hostile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import deepprooflog as dpl
from deepprooflog.serve.service import Service, ServiceLimits
from deepprooflog.serve.source import Source, find_source
from deepprooflog.serve.web.app import guarded_app
from deepprooflog.serve.web.guard import Listening
from serve.names import HOSTILE, PROGRAM

HERE = Listening("127.0.0.1", 8765)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which the brothers of ann are the uncles of bob, whatever they are called."""
    facts = [("dan", "uncle", "bob"), ("ann", "mother", "bob"), ("cy", "brother", "ann")]
    facts += [(name, "brother", "ann") for name in HOSTILE]
    graph = dpl.kg.load(facts, valid=[("cy", "uncle", "bob")])
    rules = "uncle(X, Y) :- brother(X, Z), mother(Z, Y)."
    model = dpl.kg.train(graph, rules=rules, prior="none", exact={"steps": 1}, threads=1)
    folder = tmp_path_factory.mktemp("serve") / "run"
    model.save(folder)
    return folder


@pytest.fixture(scope="session")
def program_service() -> Iterator[Service]:
    service = Service(
        Source("program", "two.pl", text=PROGRAM), ServiceLimits(jobs=1, max_seconds=20)
    )
    service.start()
    yield service
    service.close()


@pytest.fixture(scope="session")
def run_service(run_folder: Path) -> Iterator[Service]:
    service = Service(find_source(str(run_folder)), ServiceLimits(jobs=1))
    service.start()
    yield service
    service.close()


class Client(TestClient):
    """A client that asks and waits."""

    def ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        """The job of an ask, when it has ended."""
        reply = self.post(f"/api/{what}", json=arguments)
        assert reply.status_code == 200, reply.text
        job = self.get(f"/api/jobs/{reply.json()['job']}?wait=60").json()
        assert isinstance(job, dict)
        return job

    def result(self, what: str, **arguments: Any) -> dict[str, Any]:
        """The result of an ask that succeeds."""
        job = self.ask(what, **arguments)
        assert job["state"] == "done", job
        found = job["result"]
        assert isinstance(found, dict)
        return found


def client_of(service: Service) -> Client:
    return Client(guarded_app(service, HERE), base_url="http://127.0.0.1:8765")


@pytest.fixture
def program(program_service: Service) -> Iterator[Client]:
    """A client of the program's session, which is put back afterwards."""
    client = client_of(program_service)
    yield client
    assert client.post("/api/program", json={"text": PROGRAM}).json()["ok"]


@pytest.fixture
def run(run_service: Service) -> Iterator[Client]:
    """A client of the run's session, whose facts are put back afterwards."""
    client = client_of(run_service)
    yield client
    assert client.post("/api/facts", json={}).status_code == 200
