"""The forms of requests and replies, which the OpenAPI schema is made of."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class RequestForm(BaseModel):
    """A request: keys that it does not know are a mistake."""

    model_config = ConfigDict(extra="forbid")


class AskForm(RequestForm):
    """A question with its own time."""

    query: str = Field(description="a goal, such as uncle(X, max)", examples=["s(X)"])
    seconds: float | None = Field(
        None, gt=0, le=86_400, description="its budget; default and most: see /api/session"
    )


class QueryForm(AskForm):
    """An open or ground query."""

    top: int = Field(10, ge=1, le=1000, description="how many answers")
    proofs: int = Field(1, ge=0, le=100, description="how many proofs of each")
    new: bool = Field(False, description="of a run: only answers that no one told")
    as_trained: bool = Field(False, description="of a run: without the facts that were changed")


class ExplainForm(AskForm):
    """A ground query, to be explained."""

    proofs: int = Field(3, ge=1, le=100, description="how many proofs")


class WhyNotForm(AskForm):
    """A query that failed, or an answer that ranked low."""

    most: int = Field(5, ge=1, le=100, description="how many failed derivations")


class SupportForm(AskForm):
    """A fact, of which is asked what it supports."""

    most: int = Field(50, ge=1, le=1000, description="how many triples at most")


class CompareForm(RequestForm):
    """Two ground triples."""

    left: str
    right: str
    seconds: float | None = Field(None, gt=0, le=86_400)


class StepsForm(AskForm):
    """A derivation, by the numbers of the choices taken."""

    path: list[int] = Field([], max_length=10_000)


class GoalGraphForm(AskForm):
    """A query whose goal graph is to be drawn."""

    most: int = Field(300, ge=1, le=2000, description="how many goals at most")


class FactsForm(RequestForm):
    """The facts in which the session is to differ from its run; none: as it was trained."""

    added: list[str] = []
    removed: list[str] = []


class ProgramForm(RequestForm):
    """Another text for the program."""

    text: str


class ErrorRecord(BaseModel):
    """What went wrong, where, and what to try."""

    model_config = ConfigDict(extra="allow")
    message: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None


class ErrorReply(BaseModel):
    """The body of every refusal."""

    error: ErrorRecord


class RevisionReply(BaseModel):
    """Which state of the session is asked: another tab may have changed facts or the program."""

    revision: str


class JobReply(RevisionReply):
    """A job was queued."""

    job: str


class JobProgress(BaseModel):
    """The stage a job is in, how far it has come, the seconds it has used of those it may use."""

    stage: str
    counts: dict[str, int] = Field(
        description="goals, depth, candidates, …: as far as its search counts; `x_of` is the total",
        examples=[{"candidates": 512, "candidates_of": 4000, "goals": 18_200, "depth": 3}],
    )
    seconds: float
    of: float


class JobRecord(BaseModel):
    """A job as it stands."""

    job: str
    ask: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: JobProgress
    result: dict[str, Any] | None
    error: ErrorRecord | None


class CompletionReply(BaseModel):
    """What may replace the word that begins at `from`."""

    model_config = ConfigDict(populate_by_name=True)
    items: list[dict[str, Any]]
    start: int = Field(alias="from")
    more: bool


class FactsReply(RevisionReply):
    """The facts in which the session differs from its run."""

    added: list[str]
    removed: list[str]


class ProgramReply(RevisionReply):
    """Whether the text is a program; where it is not, the session keeps the one it had."""

    ok: bool
    errors: list[ErrorRecord]
    notes: list[str] = []
