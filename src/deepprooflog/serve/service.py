"""The service behind every way in: one session's source, its jobs, and the limits on them."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deepprooflog.errors import DataError, ProofLogError
from deepprooflog.logic.query import parse_query
from deepprooflog.serve.complete import KnownNames, completions
from deepprooflog.serve.jobs import ENDED, Job
from deepprooflog.serve.pool import MOST_WAITING, Pool
from deepprooflog.serve.source import Source
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import Flags

# Jobs that have ended are kept until so many have followed.
MOST_KEPT = 100


@dataclass(frozen=True)
class ServiceLimits:
    """What one session may use: `seconds` is a job's budget unless it asks for another."""

    jobs: int = 2
    seconds: float = 10.0
    max_seconds: float = 60.0
    text: int = 1_000_000  # characters of a program
    query: int = 100_000  # characters of a query
    facts: int = 1_000  # facts added or removed

    def to_dict(self) -> dict[str, Any]:
        """Plain Python."""
        return {
            "jobs": self.jobs, "waiting": MOST_WAITING, "seconds": self.default_seconds,
            "max_seconds": self.max_seconds, "text": self.text, "query": self.query,
            "facts": self.facts,
        }  # fmt: skip

    @property
    def default_seconds(self) -> float:
        """A job's budget where it asks for none."""
        return min(self.seconds, self.max_seconds)


class FailedJob(ProofLogError):
    """A job that was waited for has no result; `record` says why."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        place = {key: record.get(key) for key in ("file", "line", "column", "text", "hint")}
        super().__init__(str(record["message"]), **place)
        self.record = dict(record)

    def with_file(self, file: str | None) -> FailedJob:
        """The same failure of a file that its user calls otherwise."""
        return FailedJob({**self.record, "file": file or self.file})


class Service:
    """One session: what it is about, and the jobs that ask about it."""

    def __init__(self, source: Source, limits: ServiceLimits | None = None) -> None:
        self.limits = limits or ServiceLimits()
        self.source = source
        self.card: dict[str, Any] = {}
        self.questions = 0
        self._adopted = 0
        self._begun = secrets.token_urlsafe(6)
        self._seconds = 0.0  # of jobs that are not kept any more
        self.pool = Pool(self.limits.jobs)
        self._names = KnownNames((), ())
        self._reading: tuple[Operators, Flags] = (Operators(), Flags())
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    # -- jobs --------------------------------------------------------------------------------

    def submit(
        self,
        ask: str,
        arguments: Mapping[str, Any],
        *,
        seconds: float | None = None,
        source: Source | None = None,
    ) -> Job:
        """Queue an ask about the session's source, or about another one."""
        limit = self.limits.default_seconds if seconds is None else seconds
        allowed = min(limit, self.limits.max_seconds)
        job = Job(ask, arguments, source or self.source, allowed)
        with self._lock:
            self.pool.submit(job)
            self._jobs[job.id] = job
            ended = [one.id for one in self._jobs.values() if one.state in ENDED]
            for old in ended[: max(0, len(ended) - MOST_KEPT)]:
                self._seconds += self._jobs.pop(old).spent
        self.questions += 1
        return job

    @property
    def seconds_used(self) -> float:
        """The seconds that the session's jobs have worked so far."""
        with self._lock:
            return self._seconds + sum(one.spent for one in self._jobs.values())

    def job(self, number: str) -> Job | None:
        """A job by its id; None when it never was, or is long gone."""
        return self._jobs.get(number)

    def kept(self) -> list[Job]:
        """The jobs that can still be looked at, oldest first."""
        return list(self._jobs.values())

    def cancel(self, job: Job) -> None:
        """Stop a job."""
        self.pool.cancel(job)

    def wait(self, job: Job) -> dict[str, Any]:
        """A job's result when it has one; raises `FailedJob` where it has none."""
        job.ended.wait()
        return result_of(job)

    def close(self) -> None:
        """End all work."""
        self.pool.close()

    # -- the session -------------------------------------------------------------------------

    def start(self) -> None:
        """Load the source and learn its names; what is wrong with it is raised."""
        self.adopt(self._look(self.source, names=True))

    def _look(self, source: Source, *, names: bool = False) -> Job:
        most = self.limits.max_seconds
        job = self.submit("describe", {"names": names}, source=source, seconds=most)
        try:
            self.wait(job)
        except KeyboardInterrupt:
            self.cancel(job)
            raise
        return job

    def consider(self, *, text: str, anew: bool = False) -> Job:
        """A job that reads another text for the program; `adopt` it when it is done.

        `anew` allows a program in place of a run.
        """
        source = self.source
        if anew and source.kind != "program":
            source = Source("program", "program.pl")
        if source.kind != "program":
            raise DataError(
                "this session is about a run, not about a program", hint="dprl serve FILE"
            )
        if len(text) > self.limits.text:
            raise DataError(f"a program has at most {self.limits.text:,} characters")
        return self.submit("describe", {}, source=replace(source, text=text))

    def consider_facts(self, added: Sequence[str], removed: Sequence[str]) -> Job:
        """A job that looks at the run with other facts; `adopt` it when it is done."""
        if self.source.kind != "run":
            raise DataError(
                "this session is about a program, not about a run",
                hint="change the program's text",
            )
        if len(added) + len(removed) > self.limits.facts:
            raise DataError(f"at most {self.limits.facts:,} facts can be changed")
        for fact in (*added, *removed):
            self.check(fact)
        changed = replace(self.source, added=tuple(added), removed=tuple(removed))
        return self.submit("describe", {}, source=changed)

    def adopt(self, job: Job) -> None:
        """Take the source that a job has described for the session's own.

        One that was asked for before the present one comes too late, and is left alone.
        """
        card = dict(result_of(job))
        if job.number < self._adopted:
            return
        self._adopted = job.number
        constants = card.pop("constants")
        reading = card.pop("reading", None)
        if reading is not None:
            operators = operators_of([(p, kind, name) for p, kind, name in reading["operators"]])
            self._reading = operators, Flags(reading["double_quotes"])
        self.source, self.card = job.source, card
        if job.source.kind == "run" and not job.arguments.get("names"):
            self._names = self._names.adding(constants)
        else:
            self._names = KnownNames.of([one["name"] for one in card["predicates"]], constants)

    def session(self) -> dict[str, Any]:
        """What the session is about, for its readers."""
        source = self.source
        about: dict[str, Any] = {"program": source.text} if source.kind == "program" else {}
        return {
            "kind": source.kind, "name": source.name, **self.card, **about,
            "changes": self.facts(), "revision": self.revision, "limits": self.limits.to_dict(),
            "running": self.pool.running, "waiting": self.pool.waiting,
        }  # fmt: skip

    @property
    def revision(self) -> str:
        """Another text whenever the session is about something else, or another server began it."""
        return f"{self._begun}.{self._adopted}"

    def facts(self) -> dict[str, list[str]]:
        """The facts in which the session differs from its run."""
        return {"added": list(self.source.added), "removed": list(self.source.removed)}

    def check(self, query: str) -> None:
        """Refuse a query that is too long or no Prolog text, with the place."""
        if len(query) > self.limits.query:
            raise DataError(f"a query has at most {self.limits.query:,} characters")
        parse_query(query, *self._reading)

    def complete(self, text: str, at: int | None = None) -> dict[str, Any]:
        """What may stand at a place of a query."""
        return completions(self._names, text, len(text) if at is None else at)


def result_of(job: Job) -> dict[str, Any]:
    """The result of a job that has ended; raises `FailedJob` where it has none."""
    if job.state == "done" and job.result is not None:
        return job.result
    raise FailedJob(job.error or {"kind": "Cancelled", "message": "the job was cancelled"})


def operators_of(rows: Sequence[tuple[int, str, str]]) -> Operators:
    """The table that has these operators and no others.

    >>> table = Operators()
    >>> table.add(700, "xfx", "likes")
    >>> table.add(0, "fy", "\\\\+")
    >>> set(operators_of(list(table))) == set(table)
    True
    """
    table = Operators()
    wanted, usual = set(rows), set(table)
    for _, kind, name in sorted(usual - wanted):
        table.add(0, kind, name)
    for priority, kind, name in sorted(wanted - usual):
        table.add(priority, kind, name)
    return table
