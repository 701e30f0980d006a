"""The session for agents: a Model Context Protocol server on standard input and output.

The tools are the asks of the HTTP API. Every reply that took work says what it used of its budget,
and a proof comes with `checked`: true when each of its steps was replayed through the program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from deepprooflog import __version__
from deepprooflog.errors import ProofLogError
from deepprooflog.serve.jobs import Job
from deepprooflog.serve.service import FailedJob, Service, result_of

LOOK = 0.02

INSTRUCTIONS = """\
Reason with stochastic logic programs (Prolog with probabilities, `0.3 :: p(a).`) or with a trained
knowledge graph. load_program replaces the session's program; probability, answers and proof ask it.
The labels of the clauses of one predicate that match a call must not add up to more than 1. A
result with exact = false holds bounds only: its budget ended first. Trust a proof where checked is
true; why_not names the facts whose absence keeps a query from being proved.
"""

QueryText = Annotated[
    str, Field(description="a Prolog goal, such as s(X) or uncle(ann, X); variables are capital")
]
Seconds = Annotated[
    float | None, Field(description="the budget of this question; default: see budget", gt=0)
]
Top = Annotated[int, Field(description="how many answers at most", ge=1, le=1000)]
Most = Annotated[int, Field(description="how many at most", ge=1, le=100)]


def mcp_server(service: Service) -> MCPServer[Any]:
    """The tools over one session."""
    server: MCPServer[Any] = MCPServer(
        "deepprooflog", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR"
    )

    async def ask(
        name: str, arguments: Mapping[str, Any], seconds: float | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            service.check(str(arguments["query"]))
            job = service.submit(name, arguments, seconds=seconds)
            found = await _result(service, job)
        except ProofLogError as error:
            raise ToolError(_said(error)) from None
        return found, _used(job, found)

    @server.tool()
    async def load_program(
        text: Annotated[str, Field(description="the whole program, as Prolog text")],
    ) -> dict[str, Any]:
        """Check a program and make it the session's; one that is wrong leaves the old one."""
        try:
            job = service.consider(text=text, anew=True)
            found = await _result(service, job)
        except ProofLogError as error:
            raise ToolError(_said(error)) from None
        service.adopt(job)
        predicates = [f"{one['name']}/{one['arity']}" for one in found["predicates"]]
        return {"predicates": predicates, "notes": found.get("notes", [])}

    @server.tool()
    async def session() -> dict[str, Any]:
        """What the session is about: the program's text, or a graph's relations and size."""
        return service.session()

    @server.tool()
    async def probability(query: QueryText, seconds: Seconds = None) -> dict[str, Any]:
        """The probability of a query; lower and upper bounds where the budget ends first.

        Of a graph, of a ground triple: `by_proof` is the part that rests on clauses alone.
        """
        if service.source.kind == "run":
            found, used = await ask("explain", {"query": query, "proofs": 1}, seconds)
            keys = ("probability", "upper", "by_proof", "prior", "known")
        else:
            found, used = await ask("query", {"query": query, "proofs": 0, "top": 1}, seconds)
            keys = ("probability", "lower", "upper", "exact", "method")
        return {"query": query, **{key: found[key] for key in keys}, "budget": used}

    @server.tool()
    async def answers(query: QueryText, top: Top = 10, seconds: Seconds = None) -> dict[str, Any]:
        """The answers of a query with variables, most probable first."""
        found, used = await ask("query", {"query": query, "top": top, "proofs": 0}, seconds)
        rows = [
            {"answer": one.get("text", one.get("triple")), "probability": one["probability"]}
            for one in found["answers"]
        ]
        complete = {"complete": found["complete"]} if "complete" in found else {}
        return {"query": query, "answers": rows, **complete, "budget": used}

    @server.tool()
    async def proof(query: QueryText, proofs: Most = 1, seconds: Seconds = None) -> dict[str, Any]:
        """The most probable proofs of a ground query, as text and step by step, each replayed."""
        found, used = await ask("explain", {"query": query, "proofs": proofs}, seconds)
        return {
            "query": query, "probability": found["probability"], "proofs": found["proofs"],
            "budget": used,
        }  # fmt: skip

    @server.tool()
    async def why_not(query: QueryText, most: Most = 3, seconds: Seconds = None) -> dict[str, Any]:
        """Why a query fails: the nearest failed derivations and the facts that each one misses."""
        found, used = await ask("why_not", {"query": query, "most": most}, seconds)
        return {**found, "budget": used}

    @server.tool()
    async def budget() -> dict[str, Any]:
        """The limits of a question, what the session has used so far, and what runs now."""
        return {
            **service.limits.to_dict(), "running": service.pool.running,
            "questions": service.questions, "seconds_used": round(service.seconds_used, 3),
        }  # fmt: skip

    return server


async def _result(service: Service, job: Job) -> dict[str, Any]:
    """A job's result; who stops waiting for it cancels it."""
    try:
        while not job.ended.is_set():
            await asyncio.sleep(LOOK)
    except asyncio.CancelledError:
        service.cancel(job)
        raise
    return result_of(job)


def _used(job: Job, found: Mapping[str, Any]) -> dict[str, Any]:
    stopped = found.get("stopped")
    return {"seconds": job.took, "of": job.seconds, "stopped": stopped}


def _said(error: ProofLogError) -> str:
    """An error with its place, the line and what to try, as an agent can use it."""
    kind = error.record["kind"] if isinstance(error, FailedJob) else type(error).__name__
    return f"{kind}: {error}"
