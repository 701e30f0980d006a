"""What never ends is stopped, what is cancelled ends, and the server still answers."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from deepprooflog.serve.pool import MOST_WAITING
from deepprooflog.serve.service import Service, ServiceLimits
from deepprooflog.serve.source import Source
from serve.conftest import Client, client_of
from serve.names import PROGRAM

PATIENCE = 60.0  # seconds of sleep until what should come is given up
# Goals that grow without end and share nothing; a plain search without end; a loop in a builtin.
ENDLESS = """\
0.5 :: grow(X) :- grow(f(X)), grow(g(X)).
0.5 :: grow(X) :- stop(X).
stop(_) :- fail.
loop :- \\+ spin(0).
spin(N) :- M is N + 1, spin(M).
count :- forall(between(1, inf, X), X > 0).
p :- p, q.
p :- q.
q :- p.
"""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    service = Service(Source("program", "two.pl", text=PROGRAM + ENDLESS), ServiceLimits(jobs=2))
    service.start()
    yield service
    service.close()


@pytest.fixture
def client(service: Service) -> Client:
    return client_of(service)


def pids(service: Service) -> list[int]:
    return [worker.pid for worker in service.pool.workers if worker is not None]


def until_it_works(client: Client, job: str) -> None:
    """Wait until a job's search has begun."""
    waited = 0.0
    while waited < PATIENCE:
        found = client.get(f"/api/jobs/{job}").json()
        assert found["state"] in ("queued", "running"), found
        if found["progress"]["stage"] == "probability":
            return
        time.sleep(0.05)
        waited += 0.05
    raise AssertionError(f"{job} has not begun after {PATIENCE} seconds of waiting")


def still_answers(client: Client) -> None:
    assert client.result("query", query="s(X)")["probability"] == pytest.approx(0.832)


@pytest.mark.parametrize("query", ["grow(a)", "loop", "count", "p"])
def test_a_query_that_never_ends_is_stopped_and_says_so(client: Client, query: str) -> None:
    job = client.ask("query", query=query, seconds=0.4)
    if job["state"] == "done":
        found = job["result"]
        ended = query == "p"  # its tables are finite: no proof, exactly
        assert found["exact"] == ended and (found["stopped"] is None) == ended
        assert found["lower"] == 0.0 and found["proof"] is None
    else:
        assert job["state"] == "failed" and job["error"]["limit"] == "max_seconds"
    still_answers(client)


def test_a_long_query_says_how_far_it_has_come(client: Client) -> None:
    job = client.post("/api/query", json={"query": "grow(a)", "seconds": 60}).json()["job"]
    until_it_works(client, job)
    seen: list[dict[str, int]] = []
    waited = 0.0
    while len(seen) < 3 and waited < PATIENCE:
        counts = client.get(f"/api/jobs/{job}").json()["progress"]["counts"]
        if counts and (not seen or counts != seen[-1]):
            seen.append(counts)
        time.sleep(0.05)
        waited += 0.05
    assert client.delete(f"/api/jobs/{job}").json()["state"] == "cancelled"
    goals = [counts["goals"] for counts in seen]
    assert len(goals) == 3 and goals == sorted(goals) and goals[-1] > goals[0] > 0
    assert all(0 < counts["depth"] < counts["goals"] for counts in seen)
    still_answers(client)


def test_the_events_carry_the_counts(client: Client) -> None:
    job = client.post("/api/query", json={"query": "grow(a)", "seconds": 2}).json()["job"]
    text = client.get(f"/api/jobs/{job}/events").text
    data = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    counted = [one["counts"]["goals"] for one in data[:-1] if one["counts"].get("goals")]
    assert counted and max(counted) > 100


def test_more_seconds_than_allowed_are_not_given(service: Service) -> None:
    job = service.submit("query", {"query": "s(X)"}, seconds=1e6)
    assert job.seconds == service.limits.max_seconds


def test_a_job_is_cancelled_while_it_runs(client: Client) -> None:
    job = client.post("/api/query", json={"query": "loop", "seconds": 60}).json()["job"]
    until_it_works(client, job)
    cancelled = client.delete(f"/api/jobs/{job}").json()
    assert cancelled["state"] == "cancelled" and cancelled["result"] is None
    assert client.delete(f"/api/jobs/{job}").json()["state"] == "cancelled"
    still_answers(client)


def test_too_many_jobs_are_refused(client: Client, service: Service) -> None:
    body = {"query": "loop", "seconds": 60}
    jobs: list[str] = []
    waited = 0.0
    while len(jobs) < 2 + MOST_WAITING or service.pool.running < 2:
        reply = client.post("/api/query", json=body)
        if reply.status_code == 200:
            jobs.append(reply.json()["job"])
        else:  # until a process that has begun another job makes room
            assert waited < PATIENCE, f"{service.pool.running} of 2 jobs run"
            time.sleep(0.05)
            waited += 0.05
    refused = client.post("/api/query", json=body)
    assert refused.status_code == 409 and "wait" in refused.json()["error"]["message"]
    assert client.get("/api/session").json()["waiting"] == MOST_WAITING
    for job in reversed(jobs):
        assert client.delete(f"/api/jobs/{job}").json()["state"] == "cancelled"
    still_answers(client)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no signal stops a process here")
def test_a_process_that_cannot_be_stopped_is_ended_and_replaced(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepprooflog.serve.pool.LATE", 0.2)
    job = client.post("/api/query", json={"query": "loop", "seconds": 2}).json()["job"]
    until_it_works(client, job)
    before = pids(service)
    for pid in before:
        os.kill(pid, signal.SIGSTOP)
    ended = client.get(f"/api/jobs/{job}?wait=60").json()
    assert ended["state"] == "failed" and "process was ended" in ended["error"]["message"]
    waited = 0.0
    while pids(service) == before:
        assert waited < PATIENCE, "no new process"
        time.sleep(0.05)
        waited += 0.05
    for pid in before:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    still_answers(client)


def test_a_worker_that_dies_fails_its_job_alone(client: Client, service: Service) -> None:
    job = client.post("/api/query", json={"query": "loop", "seconds": 60}).json()["job"]
    until_it_works(client, job)
    for pid in pids(service):
        os.kill(pid, signal.SIGKILL)
    ended = client.get(f"/api/jobs/{job}?wait=60").json()
    assert ended["state"] == "failed" and ended["error"]["kind"] == "WorkerGone"
    still_answers(client)


def test_a_worker_that_died_while_idle_is_not_noticed(client: Client, service: Service) -> None:
    for _ in range(3):
        for pid in pids(service):
            os.kill(pid, signal.SIGKILL)
        still_answers(client)
