"""The HTTP API: routes that queue jobs, look at them, and change what the session is about."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from deepprooflog import __version__
from deepprooflog.errors import ProofLogError
from deepprooflog.serve.asking import error_record
from deepprooflog.serve.jobs import Job, TooManyJobs
from deepprooflog.serve.service import FailedJob, Service, result_of
from deepprooflog.serve.web.forms import (
    AskForm,
    CompareForm,
    CompletionReply,
    ErrorReply,
    ExplainForm,
    FactsForm,
    FactsReply,
    GoalGraphForm,
    JobRecord,
    JobReply,
    ProgramForm,
    ProgramReply,
    QueryForm,
    RevisionReply,
    StepsForm,
    SupportForm,
    WhyNotForm,
)
from deepprooflog.serve.web.guard import Guard, Listening

PAGE = Path(__file__).parents[1] / "page"
LOOK = 0.02
PROGRESS = 0.25  # seconds between two events of one stage
MOST_WAIT = 60.0

REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorReply, "description": "what was asked is wrong, and where"},
    403: {"model": ErrorReply, "description": "a foreign Host or Origin"},
    404: {"model": ErrorReply, "description": "there is no such thing"},
    409: {"model": ErrorReply, "description": "too many jobs wait"},
    413: {"model": ErrorReply, "description": "the body is too large"},
    415: {"model": ErrorReply, "description": "the body is not JSON"},
}


class AsciiJson(JSONResponse):
    """JSON in ASCII: a name may hold what has no UTF-8 form."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False).encode("ascii")


def guarded_app(service: Service, listening: Listening) -> Guard:
    """The API and the page behind the guard: what uvicorn runs."""
    return Guard(make_app(service), listening)


def make_app(service: Service) -> FastAPI:
    """The API over one session."""
    app = FastAPI(
        title="DeepProofLog explorer",
        description="A run or a program, asked by jobs that have a budget and can be cancelled.",
        version=__version__, docs_url=None, redoc_url=None, default_response_class=AsciiJson,
        responses=REFUSALS,
    )  # fmt: skip
    _errors(app)
    _session_routes(app, service)
    _ask_routes(app, service)
    _job_routes(app, service)

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        if not (PAGE / "index.html").exists():
            raise HTTPException(404, "this installation has no page; the API is at /openapi.json")
        return FileResponse(PAGE / "index.html")

    if PAGE.is_dir():
        app.mount("/page", StaticFiles(directory=PAGE), name="page")
    return app


def _refusal(status: int, record: dict[str, Any]) -> AsciiJson:
    return AsciiJson({"error": record}, status_code=status)


def _errors(app: FastAPI) -> None:
    @app.exception_handler(ProofLogError)
    async def of_ours(_: Request, error: ProofLogError) -> AsciiJson:
        status = 409 if isinstance(error, TooManyJobs) else 400
        record = error.record if isinstance(error, FailedJob) else error_record(error)
        return _refusal(status, record)

    @app.exception_handler(RequestValidationError)
    async def of_form(request: Request, error: RequestValidationError) -> AsciiJson:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            why = first.get("ctx", {}).get("error", first["msg"])
            return _refusal(400, _record(f"the body is no JSON: {why}", _keys(app, request)))
        place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
        message = f"{place}: {first['msg']}" if place else str(first["msg"])
        return _refusal(400, _record(message, _keys(app, request)))

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> AsciiJson:
        hint, message = None, str(error.detail)
        if error.status_code == 405 or message == "Not Found":
            path, allowed = request.url.path, (error.headers or {}).get("Allow")
            message = f"there is no {request.method} {path}"
            hint = f"{allowed} {path}" if allowed else "/openapi.json lists the routes"
        return _refusal(error.status_code, _record(message, hint))

    @app.exception_handler(Exception)
    async def of_nobody(_: Request, error: Exception) -> AsciiJson:
        return _refusal(500, _record(f"a fault of the server: {type(error).__name__}"))


def _record(message: str, hint: str | None = None) -> dict[str, Any]:
    return {"message": message, "line": None, "column": None, "hint": hint}


def _keys(app: FastAPI, request: Request) -> str:
    """What a route takes, from the schema that is told to everyone."""
    schema = app.openapi()
    route = schema["paths"].get(request.url.path, {}).get(request.method.lower(), {})
    names = [one["name"] for one in route.get("parameters", [])]
    for content in route.get("requestBody", {}).get("content", {}).values():
        form = schema["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
        names += form["properties"]
    keys = f"the keys are {', '.join(names)}; " if names else ""
    return f"{keys}/openapi.json says what each takes"


def _session_routes(app: FastAPI, service: Service) -> None:
    @app.get("/api/session", summary="What the session is about, and its limits")
    async def session() -> dict[str, Any]:
        return {**service.session(), "version": app.version}

    @app.get("/api/revision", summary="Which state of the session is asked")
    async def revision() -> RevisionReply:
        return RevisionReply(revision=service.revision)

    @app.get("/api/complete", summary="Names that go on from what is typed")
    async def complete(
        prefix: str = Query("", max_length=20_000), at: int | None = None
    ) -> CompletionReply:
        return CompletionReply.model_validate(service.complete(prefix, at))

    @app.get("/api/facts", summary="The facts that the session has changed")
    async def facts() -> FactsReply:
        return FactsReply(**service.facts(), revision=service.revision)

    @app.post("/api/facts", summary="Answer as if other facts were known; nothing is learned anew")
    async def change_facts(form: FactsForm) -> FactsReply:
        job = service.consider_facts(form.added, form.removed)
        await _result(job)
        service.adopt(job)
        return FactsReply(**service.facts(), revision=service.revision)

    @app.get("/api/facts/about", summary="The facts about an entity, with their lines")
    async def facts_about(
        entity: str = Query(max_length=100_000), most: int = Query(200, ge=1, le=10_000)
    ) -> dict[str, Any]:
        return await _result(service.submit("facts_about", {"entity": entity, "most": most}))

    @app.get("/api/run", summary="The run's curves, figures by relation, calibration and rules")
    async def run() -> dict[str, Any]:
        return await _result(service.submit("run", {}, seconds=service.limits.max_seconds))

    @app.post("/api/program", summary="Check another text, and use it; the file is not written")
    async def program(form: ProgramForm) -> ProgramReply:
        job = service.consider(text=form.text)
        try:
            found = await _result(job)
        except FailedJob as error:
            return ProgramReply.model_validate(
                {"ok": False, "errors": [error.record], "revision": service.revision}
            )
        service.adopt(job)
        notes = found.get("notes", [])
        return ProgramReply(ok=True, errors=[], notes=notes, revision=service.revision)


def _ask_routes(app: FastAPI, service: Service) -> None:
    def queued(name: str, arguments: dict[str, Any], seconds: float | None) -> JobReply:
        job = service.submit(name, arguments, seconds=seconds)
        return JobReply(job=job.id, revision=service.revision)

    def ask(name: str, form: AskForm) -> JobReply:
        service.check(form.query)
        arguments = form.model_dump(exclude={"seconds"})
        return queued(name, arguments, form.seconds)

    @app.post("/api/query", summary="The most probable answers, with their proofs")
    async def query(form: QueryForm) -> JobReply:
        return ask("query", form)

    @app.post("/api/explain", summary="How probable a ground query is, and why")
    async def explain(form: ExplainForm) -> JobReply:
        return ask("explain", form)

    @app.post("/api/why_not", summary="The nearest failed derivations, and what they miss")
    async def why_not(form: WhyNotForm) -> JobReply:
        return ask("why_not", form)

    @app.post("/api/supports", summary="The triples that one rule concludes from a fact")
    async def supports(form: SupportForm) -> JobReply:
        return ask("supports", form)

    @app.post("/api/compare", summary="What makes the difference between two triples")
    async def compare(form: CompareForm) -> JobReply:
        service.check(form.left)
        service.check(form.right)
        arguments = {"left": form.left, "right": form.right}
        return queued("compare", arguments, form.seconds)

    @app.post("/api/steps", summary="A derivation step by step, as the policy sees it")
    async def steps(form: StepsForm) -> JobReply:
        return ask("steps", form)

    @app.post("/api/graph", summary="The goal graph of a query to a program")
    async def graph(form: GoalGraphForm) -> JobReply:
        return ask("graph", form)


def _job_routes(app: FastAPI, service: Service) -> None:
    def job_of(number: str) -> Job:
        job = service.job(number)
        if job is None:
            raise HTTPException(404, "there is no such job, or it ended long ago")
        return job

    @app.get("/api/jobs/{number}", summary="A job as it stands; `wait`: when it has ended")
    async def job(
        number: str, wait: float = Query(0.0, ge=0, le=MOST_WAIT, description="seconds")
    ) -> JobRecord:
        found = job_of(number)
        await ended(found, wait)
        return JobRecord.model_validate(found.to_dict())

    @app.delete("/api/jobs/{number}", summary="Cancel a job")
    async def cancel(number: str) -> JobRecord:
        found = job_of(number)
        service.cancel(found)
        await ended(found, MOST_WAIT)
        return JobRecord.model_validate(found.to_dict())

    @app.get(
        "/api/jobs/{number}/events",
        summary="Server-sent events: progress, then done, failed or cancelled with the job",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def events(number: str) -> StreamingResponse:
        return StreamingResponse(_events(job_of(number)), media_type="text/event-stream")


async def ended(job: Job, seconds: float) -> bool:
    """Wait for a job, so long at most; True when it has ended."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while not job.ended.is_set() and loop.time() < until:
        await asyncio.sleep(LOOK)
    return job.ended.is_set()


async def _result(job: Job) -> dict[str, Any]:
    while not await ended(job, MOST_WAIT):
        pass
    return result_of(job)


async def _events(job: Job) -> AsyncIterator[bytes]:
    told = ""
    while True:
        if job.ended.is_set():
            yield _event(job.state, job.to_dict())
            return
        if told != job.stage or await _quiet(job):
            told = job.stage
            yield _event("progress", job.progress())
        await asyncio.sleep(LOOK)


async def _quiet(job: Job) -> bool:
    """Wait for the next regular report; True when the job still runs then."""
    return not await ended(job, PROGRESS)


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n".encode("ascii")
