"""The process that asks: it loads a session's source, answers one ask at a time, and can be ended.

    → {"id": 3, "ask": "query", "arguments": {…}, "source": {…}, "seconds": 10, "memory": bytes}
    → {"cancel": 3}
    ← {"id": 3, "stage": "loading"}, {"id": 3, "begun": true}, {"id": 3, "counts": {…}}, then one of
    ← {"id": 3, "done": {…}}, {"id": 3, "failed": {…}}, {"id": 3, "cancelled": true}

One JSON object a line. An ask has a budget, whose watchdog ends it in the middle of Python; a
cancelled one is interrupted. What neither can end, a long call of compiled code, is ended by who
started this process: by killing it. When that one is gone, so is this process.
"""

from __future__ import annotations

import io
import json
import os
import queue
import signal
import threading
import time
import traceback
import warnings
from _thread import interrupt_main
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib import import_module
from typing import IO, Any

from deepprooflog.errors import DataError, Notice, ProofLogError
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.counts import counting
from deepprooflog.logic.limits.watch import watched
from deepprooflog.serve.asking import Asking, error_record, plain
from deepprooflog.serve.source import Source

# Seconds between two looks at how far an ask has come.
COUNTED = 0.25
# What a program prints is shown up to this many characters.
MOST_OUTPUT = 20_000


class CancelledAsk(KeyboardInterrupt):
    """The ask that runs is not wanted any more."""


class CappedText(io.StringIO):
    """Text that a program prints, of which only the beginning is kept."""

    cut = False

    def write(self, text: str) -> int:
        room = MOST_OUTPUT - self.tell()
        self.cut = self.cut or len(text) > room
        super().write(text[: max(room, 0)])
        return len(text)


class Asked:
    """The subject of a session, kept between asks for as long as its source stays the same."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._subject: Any = None
        self._model: tuple[str | None, Any] = (None, None)

    def load(self, source: Source) -> None:
        """Import what the source needs and open a run, both of which may take their time.

        A program's text is read later, within the budget of the ask.
        """
        if source.kind == "program":
            import_module("deepprooflog.serve.program_asks")
        elif self._model[0] != source.path:
            from deepprooflog.serve.run_asks import open_run_model

            self._model = (source.path, open_run_model(source))
            self._source = None

    def answer(self, name: str, source: Source, asking: Asking) -> dict[str, Any]:
        """Answer one ask about a source that was loaded."""
        asks: Mapping[str, Any]
        if source.kind == "run":
            from deepprooflog.serve.run_asks import asks_of, subject_of

            if source != self._source:
                self._subject = subject_of(source, self._model[1])
            asks = asks_of(self._subject)
        else:
            from deepprooflog.serve.program_asks import PROGRAM_ASKS, ProgramSubject

            if source != self._source:
                self._subject = ProgramSubject(source)
            asks = PROGRAM_ASKS
        self._source = source
        if name not in asks:
            hint = ", ".join(one for one in asks if one not in ("describe", "facts_about", "run"))
            raise DataError(f"this {source.kind} cannot be asked for {name}", hint=hint)
        found: dict[str, Any] = asks[name](self._subject, asking)
        return found


class AskLoop:
    """Asks from one stream, replies to another; at most one ask runs."""

    def __init__(self, incoming: IO[str], outgoing: IO[str]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._lock = threading.Lock()
        self._asks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._running: int | None = None
        self._cancelled: set[int] = set()
        self._asked = Asked()
        self._counts: dict[str, int] = {}  # how far the present stage of the ask has come

    def run(self) -> None:
        """Answer until the other side is gone."""
        signal.signal(signal.SIGINT, self._interrupted)
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._report, daemon=True).start()
        while True:
            self._take(self._asks.get())

    def _listen(self) -> None:
        for line in self._incoming:
            message = json.loads(line)
            if "cancel" in message:
                self._cancelled.add(message["cancel"])
                if self._running == message["cancel"]:
                    interrupt_main()
            else:
                self._asks.put(message)
        os._exit(0)

    def _report(self) -> None:
        """Send the counts of the ask that runs, when they have changed."""
        told: tuple[int, dict[str, int]] | None = None
        while True:
            time.sleep(COUNTED)
            number, counts = self._running, dict(self._counts)
            if number is not None and counts and told != (number, counts):
                told = number, counts
                self._send({"id": number, "counts": counts})

    def _enter(self, number: int, stage: str) -> None:
        """Say which stage an ask enters; what was counted so far was of the one before."""
        self._counts.clear()
        self._send({"id": number, "stage": stage})

    def _interrupted(self, number: int, frame: object) -> None:
        # Handlers run in the main thread, between its steps: what runs now is what is meant.
        if self._running is not None and self._running in self._cancelled:
            raise CancelledAsk

    def _send(self, message: dict[str, Any]) -> None:
        try:
            line = json.dumps(message, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            traceback.print_exc()
            line = json.dumps({"id": message["id"], "failed": internal_error(error)})
        with self._lock:
            self._outgoing.write(line + "\n")
            self._outgoing.flush()

    def _take(self, message: dict[str, Any]) -> None:
        number = message["id"]
        try:
            reply = self._reply(number, message)
            self._running = None
        except CancelledAsk:
            self._running = None
            reply = {"cancelled": True}
        self._send({"id": number, **reply})

    def _reply(self, number: int, message: dict[str, Any]) -> dict[str, Any]:
        source, printed = Source.of(message["source"]), CappedText()
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(printed):
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", Notice)
            try:
                self._send({"id": number, "stage": "loading"})
                self._asked.load(source)
                if message["ask"] == "load":
                    return {"done": {}}
                self._send({"id": number, "begun": True})
                # From here on it can be interrupted: an import or a load is not left half done.
                self._counts, self._running = {}, number
                if number in self._cancelled:
                    raise CancelledAsk
                limits = Budget(max_seconds=message["seconds"], max_memory=message.get("memory"))
                with watched(limits) as budget, counting() as self._counts:
                    asking = Asking(
                        message["arguments"], budget, lambda stage: self._enter(number, stage)
                    )
                    found = plain(self._asked.answer(message["ask"], source, asking))
            except (ProofLogError, MemoryError, RecursionError) as error:
                return {"failed": error_record(error)}
            except Exception as error:  # a fault of this library, to be reported and survived
                traceback.print_exc()
                return {"failed": internal_error(error)}
        notes = list(dict.fromkeys(str(one.message) for one in caught))
        if printed.cut:
            notes.append(f"of what it printed, the first {MOST_OUTPUT:,} characters are shown")
        found |= {"notes": notes} if notes else {}
        return {"done": found | ({"output": printed.getvalue()} if printed.getvalue() else {})}


def internal_error(error: Exception) -> dict[str, Any]:
    """The record of a fault that is not the user's."""
    message = f"a fault of the library: {type(error).__name__}: {error}"
    return {**error_record(error), "kind": "InternalError", "message": message}


def main() -> None:
    """Serve asks from standard input; whatever else prints does so on standard error."""
    outgoing = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    AskLoop(os.fdopen(os.dup(0), encoding="utf-8"), outgoing).run()


if __name__ == "__main__":
    main()
