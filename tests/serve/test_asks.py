"""Asks without a process around them, and the life of a job."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprooflog.errors import DataError, SyntaxProblem
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.serve.asking import Asking
from deepprooflog.serve.graph_asks import GRAPH_ASKS, GraphSubject
from deepprooflog.serve.jobs import Job, stopped_error
from deepprooflog.serve.program_asks import PROGRAM_ASKS, ProgramSubject
from deepprooflog.serve.run_asks import asks_of, open_run_model, subject_of
from deepprooflog.serve.service import Service
from deepprooflog.serve.source import Source, find_source
from deepprooflog.serve.worker import MOST_OUTPUT, CappedText
from serve.names import PROGRAM


def asking(stages: list[str], **arguments: object) -> Asking:
    return Asking(arguments, Budget(max_seconds=10).start(), stages.append)


def test_a_query_reports_its_stages() -> None:
    subject, stages = ProgramSubject(Source("program", "two.pl", text=PROGRAM)), list[str]()
    found = PROGRAM_ASKS["query"](subject, asking(stages, query="s(X)"))
    assert stages == ["probability", "answers", "proof"]
    assert found["probability"] == pytest.approx(0.832)
    with pytest.raises(DataError, match="empty"):
        PROGRAM_ASKS["query"](subject, asking(stages, query="  "))


def test_a_program_that_is_none_says_where() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        ProgramSubject(Source("program", "two.pl", text="p :- .\n"))
    assert (caught.value.line, caught.value.column) == (1, 6)


def test_a_run_is_opened_once_and_seen_with_other_facts(run_folder: Path) -> None:
    source = find_source(str(run_folder))
    trained = open_run_model(source)
    assert trained is not None
    assert asks_of(subject_of(source, trained)) is GRAPH_ASKS
    changed = Source("run", "run", str(run_folder), removed=("brother(cy,ann)",))
    for subject, expected in (
        (GraphSubject(source, trained), 1.0),
        (GraphSubject(changed, trained), 0.0),
    ):
        found = GRAPH_ASKS["explain"](subject, asking([], query="uncle(cy, bob)"))
        assert found["probability"] == pytest.approx(expected)


def test_a_source_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        find_source(str(tmp_path / "none.pl"))
    (tmp_path / "bytes.pl").write_bytes(b"p(\xff).")
    with pytest.raises(Exception, match="not UTF-8"):
        find_source(str(tmp_path / "bytes.pl"))


def test_a_job_ends_once() -> None:
    job = Job("query", {}, find_source(None), 5.0)
    assert job.to_dict()["state"] == "queued" and job.spent == 0.0
    job.begin()
    job.end("failed", error=stopped_error(5.0, killed=True))
    job.end("done", result={})
    record = job.to_dict()
    assert record["state"] == "failed" and record["result"] is None
    assert "5 s; its process was ended" in record["error"]["message"]
    assert record["progress"]["of"] == 5.0


def test_a_text_that_was_sent_earlier_does_not_win(program_service: Service) -> None:
    texts = ["p(1).", "p(2).", PROGRAM]
    jobs = [program_service.consider(text=text) for text in texts]
    for job in reversed(jobs):
        program_service.wait(job)
        program_service.adopt(job)
    assert program_service.source.text == PROGRAM


def test_output_beyond_what_is_kept_is_dropped() -> None:
    printed = CappedText()
    assert printed.write("x" * MOST_OUTPUT) == MOST_OUTPUT and not printed.cut
    assert printed.write("yy") == 2 and printed.cut
    assert printed.getvalue() == "x" * MOST_OUTPUT
