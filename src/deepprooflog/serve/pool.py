"""Worker processes: so many at once, each ended and replaced when it does not end its job."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import deepprooflog.serve.worker as worker_module
from deepprooflog.logic.limits.watch import available
from deepprooflog.serve.jobs import Job, TooManyJobs, stopped_error
from deepprooflog.serve.source import Source

MOST_WAITING = 16
# How long a job may go on after its deadline, and after it was cancelled, before its process is
# ended: the watchdog's own raise takes a fraction of it.
LATE = 2.0
CANCEL_GRACE = 1.0
LOADING = 1800.0
LOOK = 0.05


class WorkerProcess:
    """One worker process, and what it has said."""

    def __init__(self) -> None:
        above = str(Path(worker_module.__file__).parents[2])
        paths = [above, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", worker_module.__name__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            # An interrupt at the terminal is for the server, which then ends its workers.
            start_new_session=True,
        )  # fmt: skip
        self.replies: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.replies.put(json.loads(line))
        self.replies.put(None)

    def send(self, message: dict[str, Any]) -> None:
        """Give it a message; one that is gone is noticed by its missing reply."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class Pool:
    """A queue of jobs and the workers that take them, first come first served."""

    def __init__(self, jobs: int = 2) -> None:
        self._waiting: deque[Job] = deque()
        self._bell = threading.Condition()
        self._idle = [True] * jobs
        self.workers: list[WorkerProcess | None] = [None] * jobs
        self._numbers = 0
        self._closed = False
        for place in range(jobs):
            threading.Thread(target=self._serve, args=(place,), daemon=True).start()

    @property
    def running(self) -> int:
        """How many jobs run."""
        return self._idle.count(False)

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._waiting)

    def submit(self, job: Job) -> None:
        """Queue a job; refused where too many wait already."""
        with self._bell:
            if len(self._waiting) >= MOST_WAITING and all(not idle for idle in self._idle):
                raise TooManyJobs(
                    f"{len(self._waiting)} jobs wait already",
                    hint="wait for one to end, or cancel one",
                )
            self._numbers += 1
            job.number = self._numbers
            self._waiting.append(job)
            self._bell.notify_all()

    def cancel(self, job: Job) -> None:
        """Stop a job, whether it waits or runs."""
        with self._bell:
            job.wanted = False
            if job in self._waiting:
                self._waiting.remove(job)
                job.end("cancelled")

    def close(self) -> None:
        """End all workers; no job is taken any more."""
        with self._bell:
            self._closed = True
            for job in self._waiting:
                job.end("cancelled")
            self._waiting.clear()
            self._bell.notify_all()
        for worker in self.workers:
            if worker is not None:
                worker.kill()

    def _serve(self, place: int) -> None:
        while True:
            with self._bell:
                self._idle[place] = True
                self._bell.notify_all()
                # The first idle place takes a job: its worker is the likeliest to be warm.
                self._bell.wait_for(
                    lambda: self._closed or (self._waiting and not any(self._idle[:place]))
                )
                if self._closed:
                    return
                job = self._waiting.popleft()
                self._idle[place] = False
                self._bell.notify_all()
            self._run(place, job)

    def _started(self, place: int) -> WorkerProcess | None:
        """The worker of a place, started where there is none; None once the pool is closed."""
        with self._bell:
            worker = self.workers[place]
            if self._closed:
                return None
            if worker is None or not worker.alive:
                worker = self.workers[place] = WorkerProcess()
            return worker

    def _run(self, place: int, job: Job) -> None:
        # A worker that died while it was idle may look alive: the job is given to another once.
        if not self._attempt(place, job) and not self._attempt(place, job):
            self._gone(job)

    def _attempt(self, place: int, job: Job) -> bool:
        """Have a worker do a job; False when it was gone before it began."""
        worker = self._started(place)
        if worker is None:
            job.end("cancelled")
            return True
        free = available()
        job.state, job.stage = "running", "starting"
        worker.send(
            {
                "id": job.number, "ask": job.ask, "arguments": dict(job.arguments),
                "source": job.source.to_dict(), "seconds": job.seconds,
                "memory": None if free is None else free * 3 // 4 // len(self._idle),
            }
        )  # fmt: skip
        cancelled: float | None = None
        sent = time.monotonic()
        while True:
            try:
                reply = worker.replies.get(timeout=LOOK)
            except queue.Empty:
                reply = {}
            if reply is None:
                if job.began is None and job.wanted:
                    self._replace(place, job.source)
                    return False
                self._gone(job)
                break
            if reply.get("id") == job.number and _took(job, reply):
                return True
            now = time.monotonic()
            if not job.wanted and cancelled is None:
                cancelled = now
                worker.send({"cancel": job.number})
            if cancelled is not None and job.began is None:
                # It is over for who asked; what the worker loads is loaded for the next job.
                job.end("cancelled")
            elif cancelled is not None and now > cancelled + CANCEL_GRACE:
                job.end("cancelled")
                break
            if job.began is None and now > sent + LOADING:
                job.end("failed", error=stopped_error(LOADING, killed=True))
                break
            if job.began is not None and now > job.began + job.seconds + LATE:
                job.end("failed", error=stopped_error(job.seconds, killed=True))
                break
        self._replace(place, job.source)
        return True

    def _gone(self, job: Job) -> None:
        if not job.wanted or self._closed:
            job.end("cancelled")
        else:
            error = stopped_error(job.seconds) | {
                "kind": "WorkerGone", "message": "its process ended before it had an answer",
                "hint": "a question that needs less memory", "limit": "max_memory",
            }  # fmt: skip
            job.end("failed", error=error)

    def _replace(self, place: int, source: Source) -> None:
        """End a worker and start another, which loads meanwhile what this one knew."""
        worker = self.workers[place]
        if worker is not None:
            worker.kill()
        with self._bell:
            if self._closed:
                return
            fresh = self.workers[place] = WorkerProcess()
        fresh.send({"id": 0, "ask": "load", "source": source.to_dict()})


def _took(job: Job, reply: dict[str, Any]) -> bool:
    """Note a reply; True when it was the last."""
    if "stage" in reply:
        if not job.ended.is_set():
            job.enter(reply["stage"])
    elif "counts" in reply:
        job.counts = reply["counts"]
    elif "begun" in reply:
        job.begin()
    elif "done" in reply:
        job.end("done", result=reply["done"])
    elif "failed" in reply:
        job.end("failed", error=reply["failed"])
    elif "cancelled" in reply:
        job.end("cancelled")
    return bool({"done", "failed", "cancelled"} & reply.keys())
