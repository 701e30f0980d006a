"""`dprl serve` as a process: it listens, answers on the loopback, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import deepprooflog as dpl
from deepprooflog.cli import main
from serve.names import PROGRAM

SOURCES = Path(dpl.__file__).parents[1]


@contextmanager
def served(*arguments: str) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    """The command on a free port: what it said when it listened, and its process."""
    command = [sys.executable, "-m", "deepprooflog", "serve", *arguments, "--port", "0", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline()), process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        finally:
            process.kill()


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_real_server_answers_streams_and_ends(tmp_path: Path) -> None:
    file = tmp_path / "two.pl"
    file.write_text(PROGRAM + "loop :- \\+ spin(0).\nspin(N) :- M is N + 1, spin(M).\n")
    with served(str(file), "--jobs", "1", "--max-seconds", "30") as (said, process):
        assert said["kind"] == "program" and said["url"].startswith("http://127.0.0.1:")
        workers = children(process.pid)
        assert len(workers) == 1
        with httpx.Client(base_url=said["url"], timeout=60) as client:
            job = client.post("/api/query", json={"query": "s(a)"}).json()["job"]
            events = client.get(f"/api/jobs/{job}/events")
            assert events.headers["content-type"].startswith("text/event-stream")
            last = events.text.strip().split("\n\n")[-1].splitlines()
            assert last[0] == "event: done"
            record = json.loads(last[1].removeprefix("data: "))
            assert record["result"]["probability"] == pytest.approx(0.156)

            # A query that never ends holds the only worker: the server answers, and can stop it.
            endless = client.post("/api/query", json={"query": "loop", "seconds": 30}).json()["job"]
            with client.stream("GET", f"/api/jobs/{endless}/events") as stream:
                for line in stream.iter_lines():
                    if '"stage": "probability"' in line:
                        break
            assert client.get("/api/session").json()["running"] == 1
            assert client.delete(f"/api/jobs/{endless}").json()["state"] == "cancelled"
            # A script of another origin and a name that was pointed here are refused.
            assert client.get("/", headers={"host": "evil.example"}).status_code == 403
            origin = {"origin": "http://evil.example"}
            assert client.post("/api/query", json={"query": "p"}, headers=origin).status_code == 403
        assert children(process.pid) == workers  # cancelled by an interrupt: the worker lives on
    assert process.returncode in (0, 130)
    assert not any(alive(pid) for pid in workers)


def test_a_server_that_is_killed_leaves_no_workers(tmp_path: Path) -> None:
    with served("--jobs", "1") as (said, process):
        assert said["name"] == "sample.pl"
        workers = children(process.pid)
        process.kill()
        process.wait()
        for pid in workers:
            for _ in range(1000):
                if not alive(pid) or _state(pid) == "Z":
                    break
                time.sleep(0.05)
            else:
                pytest.fail(f"the worker {pid} goes on without its server")


def _state(pid: int) -> str:
    found = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True)
    return found.stdout.strip()[:1] or "Z"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no_such_file.pl"], "no such file"),
        (["{folder}"], "config.json"),
        (["{wrong}"], "wrong.pl:2:3: error:"),
        (["--host", "host.invalid", "{right}"], "cannot listen"),
    ],
)
def test_what_cannot_be_served_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (tmp_path / "wrong.pl").write_text("p(a).\nq((.\n")
    (tmp_path / "right.pl").write_text(PROGRAM)
    (tmp_path / "folder").mkdir()
    names = {name: str(tmp_path / name) for name in ("folder",)}
    names |= {name: str(tmp_path / f"{name}.pl") for name in ("wrong", "right")}
    given = [one.format(**names) for one in arguments]
    assert main(["serve", "--no-browser", *given]) == 2
    shown = capsys.readouterr()
    assert said in shown.err and "Traceback" not in shown.err and shown.out == ""


def test_a_taken_port_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from deepprooflog.serve.web.run import listen

    sock, listening = listen("127.0.0.1", 0)
    try:
        assert main(["serve", "--no-browser", "--port", str(listening.port)]) == 2
    finally:
        sock.close()
    assert "--port" in capsys.readouterr().err


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for missing, arguments, extra in (
        ("uvicorn", [], "deepprooflog[serve]"),
        ("mcp.server.mcpserver", ["--mcp"], "deepprooflog[mcp]"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            for module in ("deepprooflog.serve.web.run", "deepprooflog.serve.mcp_server"):
                patch.delitem(sys.modules, module, raising=False)
            assert main(["serve", *arguments]) == 2
        assert extra in capsys.readouterr().err
