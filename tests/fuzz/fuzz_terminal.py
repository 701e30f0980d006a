"""Names, files, queries and arguments that would steer a terminal, through all that dprl prints."""

from __future__ import annotations

import io
import json
import os
import random
import re
import sys
import tempfile
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path

from deepprooflog.cli import main
from fuzz.rounds import Rounds, Tally

PROMISE = "no control character that came from outside reaches a terminal"
QUICK = 60

STEERING = [
    "\x1b[31m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x07", "\x08", "\r", "\x00", "\x0b", "\x0c",
    "\x7f", "\x80", "\x85", "\x9b31m", "\x9d", "\u202e", "\u2066", "\u200b", "\u200f", "\u2028",
    "\u2029", "\ufeff", "\U000e0041", "\x1bP", "\x1b(0", "\x0e", "\u061c", "\xad",
]  # fmt: skip
# Files cannot have these in their names, programs no lone surrogate.
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
OWN = re.compile("\r(?=[█░])")  # the progress bar's return to the beginning of its line


class Terminal(io.StringIO):
    """What the command line takes for a terminal."""

    def isatty(self) -> bool:
        return True


def attack(rounds: Rounds) -> Tally:
    """Run one command after another, as if on a terminal, and look at what it wrote."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as base, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = os.getcwd()
        os.chdir(base)
        try:
            kinds: list[Callable[[random.Random], list[str]]]
            kinds = [_program, _program, _arguments, _trained()]
            for draw in rounds:
                arguments = draw.choice(kinds)(draw)
                status, text = run(arguments)
                wrong = _wrong(text)
                if status == 0 and "--json" in arguments and not wrong:
                    wrong = _no_json(text)
                tally.record(
                    not wrong and status in (0, 2, 3), f"{arguments!r}: {status} {wrong}"[:600]
                )
        finally:
            os.chdir(here)
    return tally


def run(arguments: list[str]) -> tuple[int | None, str]:
    """A command's status and all it wrote."""
    terminal = Terminal()
    kept = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = terminal
    try:
        status: int | None = main(arguments)
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 2
    except Exception as error:
        status = None
        terminal.write(type(error).__name__)
    finally:
        sys.stdout, sys.stderr = kept
    return status, terminal.getvalue()


def _wrong(text: str) -> str:
    text = OWN.sub("", text)
    found = [c for c in text if c != "\n" and unicodedata.category(c) in HIDDEN]
    return f"wrote {found[0]!r} in {text[:300]!r}" if found else ""


def _no_json(text: str) -> str:
    try:
        # What a program itself writes comes before.
        json.loads(text[max(text.find("{"), 0) :])
    except ValueError as error:
        return f"no JSON: {error}"
    return ""


def _steered(draw: random.Random) -> str:
    words = ["a", "Ada", "x y", "père", "数", "'"]
    return "".join(draw.choice(words) + draw.choice(STEERING) for _ in range(draw.randrange(1, 4)))


def _quoted(draw: random.Random) -> str:
    """An atom: steering as it is, which the reader refuses, or as escapes, which it reads."""
    text = _steered(draw)
    return _atom(text) if draw.random() < 0.7 else "'" + text.replace("'", "\\'") + "'"


def _atom(name: str) -> str:
    escaped = (
        f"\\x{ord(c):x}\\" if unicodedata.category(c) in HIDDEN or c in "'\\" else c for c in name
    )
    return "'" + "".join(escaped) + "'"


def _program(draw: random.Random) -> list[str]:
    """A program with steering names, or with something wrong beside them."""
    one, two = _quoted(draw), _quoted(draw)
    text = draw.choice([
        f"0.4 :: s({one}). 0.6 :: s({two}).",
        f"s(X) :- t(X, {one}). t({two}, {one}).",
        f"s({one}) :- ! ! . % {_steered(draw)}",
        f"0.7 :: s({one}). 0.7 :: s({one}).",
        f"s(X) :- {one}(X).",
        f"s(X) :- X = {one}, Y is X + 1, Y > 0.",
        f"s(X) :- throw({one}).",
        f"s({one[:-1]}).",
        f"{_steered(draw)} s(a).",
        f"s(X) :- atom_length({one}, X), write({two}), nl.",
    ])  # fmt: skip
    path = draw.choice(["program.pl", f"{_steered(draw)}.pl".replace("\x00", "").replace("/", "")])
    Path(path).write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    odd = _steered(draw)
    query = draw.choice(["s(X)", "s(X)", f"s({_quoted(draw)})", f"s(X{odd}", odd])
    command = draw.choice(["prob", "answers", "solve", "prove"])
    if command == "prove":
        form = ["--format", draw.choice(["text", "html", "svg", "latex", "mermaid", "json"])]
        if form[1] == "json":
            form.append("--json")
    else:
        form = draw.choice([[], [], ["--json"]])
    limit = ["--max-goals", "200"]
    return [command, draw.choice([path, path, path, _steered(draw)]), query, *form, *limit]


def _arguments(draw: random.Random) -> list[str]:
    """Arguments that steer, in every place that takes any."""
    text = _steered(draw)
    return draw.choice([
        [text], ["prob", text], ["prob", "program.pl", "s(a)", text],
        ["solve", "program.pl", "s(X)", "--limit", text], ["train", text, "--out", "run"],
        ["train", "kg", "--set", text, "--out", "run"],
        ["train", "kg", "--set", f"{text}=1", "--out", "run"],
        ["train", "kg", "--set", f"seed={text}", "--out", "run"],
        ["train", "kg", "--set", f"learner={text}", "--out", "run"],
        ["train", "kg", "--set", f"data={text}", "--out", "run"],
        ["train", "kg", "--set", f"rules={text}", "--out", "run"],
        ["train", "kg", "--set", f"candidates={text}", "--out", "run"],
        ["evaluate", text], ["query", text, "p(X)"], ["explain", text, "p(a,b)"],
        ["train", "digits-addition", "--resume", "--out", text],
        ["prove", "program.pl", "s(X)", "-o", f"no folder/{text}"],
    ])  # fmt: skip


def _trained() -> Callable[[random.Random], list[str]]:
    """A graph run whose names steer; its training is watched too, bar and notices."""
    draw = random.Random(0)
    names = [re.sub(r"[\t\n\r]", "", _steered(draw)).strip() + str(i) for i in range(6)]
    names = ["n" + re.sub(r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "", name) for name in names]
    relation = "likes" + STEERING[0]
    rows = [f"{a}\t{relation}\t{b}" for a in names for b in names if a < b]
    Path("graph").mkdir()
    for split, part in (("train", rows[:9]), ("valid", rows[9:12]), ("test", rows[12:])):
        Path(f"graph/{split}.tsv").write_text("\n".join([*part, part[0]]) + "\n", encoding="utf-8")
    status, text = run(
        ["train", "kg", "--out", "graph-run"] + [f"--set={key}" for key in (
            "data=graph", "rules=none", "prior_dimension=2", "prior_steps=2", "steps=2", "look=1",
            "dimension=2", "looked_at=2", "threads=1")]
    )  # fmt: skip
    assert status == 0, text
    assert not _wrong(text), text
    quoted = [_atom(name) for name in names]
    asked = _atom(relation)
    status, text = run(["query", "graph-run", f"{asked}({quoted[0]}, X)"])
    assert status == 0, text
    assert "n" in text, text

    def graph(draw: random.Random) -> list[str]:
        one, two = draw.choice(quoted), draw.choice(quoted)
        json_or_text = draw.choice([[], ["--json"]])
        return draw.choice([
            ["query", "graph-run", f"{asked}({one}, X)", "--proof", *json_or_text],
            ["query", "graph-run", f"{asked}(X, {one})", *json_or_text],
            ["explain", "graph-run", f"{asked}({one}, {two})", *json_or_text],
            ["query", "graph-run", f"{asked}({one}, {_steered(draw)})"],
            ["query", "graph-run", f"{_quoted(draw)}({one}, X)"],
            ["explain", "graph-run", f"{asked}({_quoted(draw)}, {two})"],
        ])  # fmt: skip

    return graph
