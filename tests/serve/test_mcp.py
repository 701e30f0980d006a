"""An agent's session over MCP, end to end, with the public client library."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, ClientSession, StdioServerParameters, stdio_client

import deepprooflog as dpl
from deepprooflog.serve.mcp_server import mcp_server
from deepprooflog.serve.service import Service, ServiceLimits
from deepprooflog.serve.source import Source
from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term
from serve.names import HOSTILE, PROGRAM

SOURCES = Path(dpl.__file__).parents[1]
Talk = Callable[["Agent"], Awaitable[None]]


class Agent:
    """A client that calls tools."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool that succeeds."""
        reply = await self.session.call_tool(tool, arguments)
        assert not reply.is_error, reply.content
        assert isinstance(reply.structured_content, dict)
        return reply.structured_content

    async def fails(self, tool: str, **arguments: Any) -> str:
        """The message of a tool that fails."""
        reply = await self.session.call_tool(tool, arguments)
        assert reply.is_error
        return "".join(getattr(one, "text", "") for one in reply.content)


def talk(talk: Talk, *arguments: str) -> None:
    """Start `dprl serve --mcp` as an agent does, and talk to it."""

    async def run() -> None:
        command = ["-m", "deepprooflog", "serve", "--mcp", "--jobs", "1", *arguments]
        server = StdioServerParameters(
            command=sys.executable, args=command, env={**os.environ, "PYTHONPATH": str(SOURCES)}
        )
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            await talk(Agent(session))

    asyncio.run(asyncio.wait_for(run(), 120))


def test_a_program_is_loaded_asked_and_proved(tmp_path: Path) -> None:
    async def agent(agent: Agent) -> None:
        tools = {one.name for one in (await agent.session.list_tools()).tools}
        assert tools == {
            "load_program", "session", "probability", "answers", "proof", "why_not", "budget",
        }  # fmt: skip
        loaded = await agent.call("load_program", text=PROGRAM)
        assert loaded["predicates"] == ["s/1", "p/1", "q/1"]

        found = await agent.call("probability", query="s(X)")
        assert found["probability"] == pytest.approx(0.832) and found["exact"]
        assert found["budget"]["of"] == 10.0 and found["budget"]["stopped"] is None

        found = await agent.call("answers", query="s(X)")
        assert [row["answer"] for row in found["answers"]] == ["s(b)", "s(a)"]
        assert [row["probability"] for row in found["answers"]] == [
            pytest.approx(0.676), pytest.approx(0.156),
        ]  # fmt: skip

        found = await agent.call("proof", query="s(a)")
        (proof,) = found["proofs"]
        assert proof["checked"] is True and proof["probability"] == pytest.approx(0.12)
        assert "q(a)" in proof["text"]

        # What is wrong says where, and leaves the program as it was.
        message = await agent.fails("load_program", text="p(a).\np(b :- q.\n")
        assert ":2:" in message
        assert "1:2" in await agent.fails("probability", query="s(X")
        assert "t/1" in await agent.fails("proof", query="t(a)")
        assert (await agent.call("session"))["program"] == PROGRAM

    talk(agent)


def test_what_never_ends_is_stopped_and_the_budget_is_told(tmp_path: Path) -> None:
    file = tmp_path / "endless.pl"
    file.write_text(
        "loop :- \\+ spin(0).\nspin(N) :- M is N + 1, spin(M).\n"
        "gran(X, Y) :- mother(X, Z), father(Z, Y).\nmother(ann, bob).\nfather(joe, cy).\n"
    )

    async def agent(agent: Agent) -> None:
        found = await agent.call("probability", query="loop", seconds=0.4)
        assert not found["exact"] and found["lower"] == 0.0
        assert found["budget"]["stopped"] == "max_seconds"
        found = await agent.call("why_not", query="gran(ann, cy)")
        assert ["father(bob,cy)"] in [one["missing"] for one in found["derivations"]]
        state = await agent.call("budget")
        assert state["max_seconds"] == 5.0 and state["running"] == 0
        assert state["seconds_used"] > 0 and state["questions"] == 3

    talk(agent, str(file), "--max-seconds", "5")


def test_a_run_is_asked_whatever_its_names_are(run_folder: Path) -> None:
    async def agent(agent: Agent) -> None:
        found = await agent.call("answers", query="uncle(X, bob)")
        names = {write_term(Atom(name)) for name in HOSTILE}
        triples = {row["answer"] for row in found["answers"]}
        assert triples == {f"uncle({name},bob)" for name in {"cy", "dan", *names}}
        found = await agent.call("proof", query="uncle(cy, bob)")
        assert found["probability"] == pytest.approx(1.0)
        assert found["proofs"][0]["checked"] is True
        found = await agent.call("probability", query="uncle(cy, bob)")
        assert found["by_proof"] == pytest.approx(1.0) and found["known"]

    talk(agent, str(run_folder))


def test_an_agent_that_stops_waiting_cancels_the_search() -> None:
    text = "loop :- \\+ spin(0). spin(N) :- M is N + 1, spin(M)."
    service = Service(Source("program", "loop.pl", text=text), ServiceLimits(jobs=1))
    service.start()

    async def run() -> None:
        async with Client(mcp_server(service)) as client:
            call = asyncio.create_task(client.call_tool("probability", {"query": "loop"}))
            while service.pool.running == 0:
                await asyncio.sleep(0.01)
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
            while service.pool.running:
                await asyncio.sleep(0.01)
            reply = await client.call_tool("probability", {"query": "true"})
            assert isinstance(reply.structured_content, dict)
            assert reply.structured_content["probability"] == 1.0

    try:
        asyncio.run(asyncio.wait_for(run(), 60))
        states = [job.state for job in service.kept() if job.ask == "query"]
        assert states == ["cancelled", "done"]
    finally:
        service.close()
