"""Other Prologs read what we write as the same terms, and we read what GNU Prolog writes.

SWI-Prolog's writer is left out: it writes operators as operands without parentheses, `- = -`, which
is no ISO term.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Term
from deepprooflog.syntax.writer import write_term
from syntax.random_terms import LETTERS, NAMES, terms, variant

# GNU Prolog's strings hold bytes and end at the first NUL.
PORTABLE = [name for name in NAMES if "\0" not in name]

# SWI-Prolog reads `+{a}` as a dict with a missing value.
SWI_NAMES = [name for name in NAMES + LETTERS if name != "{}"]

# Reads terms from a file and writes each with `Write`; sets up our operators first.
RUNNER = r"""
run(File) :- open(File, read, S), repeat, catch(read(S, T), E, T = E), show(T), !, close(S).
show(T) :- T == end_of_file, !.
show(T) :- {write}, nl, fail.
"""


def operator_directives() -> str:
    """Directives that give another Prolog our standard operators, as far as it lets us."""
    lines = []
    for priority, type_, name in Operators():
        if name not in (",", "|"):
            quoted = write_term(read_term(f"'{name}'.".replace("\\", "\\\\")).term)
            lines.append(f":- op({priority}, {type_}, ({quoted})).")
    return "\n".join(lines)


def replies(command: list[str], folder: Path, batch: list[Term], write: str) -> list[str]:
    text = "".join(f"{write_term(term)} .\n" for term in batch)
    (folder / "terms.txt").write_text(text, encoding="utf-8")
    program = operator_directives() + RUNNER.replace("{write}", write)
    (folder / "runner.pl").write_text(program)
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    lines = run.stdout.split("\n")
    return [line for line in lines if line.startswith("=")]


def check(command: list[str], folder: Path, batch: list[Term], write: str) -> None:
    got = replies(command, folder, batch, write)
    assert len(got) == len(batch), (got, [write_term(t) for t in batch])
    for term, line in zip(batch, got, strict=True):
        assert variant(read_term(line[1:] + " .").term, term), (write_term(term), line)


batches = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@batches
@given(batch=st.lists(terms(PORTABLE, 10**17, strings=False), min_size=10, max_size=20))
def test_gnu_reads_the_same(gprolog: str, tmp_path: Path, batch: list[Term]) -> None:
    command = [gprolog, "--consult-file", "runner.pl", "--query-goal", "run('terms.txt'),halt"]
    check(command, tmp_path, batch, "put_char('='), write_canonical(T)")


@batches
@given(batch=st.lists(terms(PORTABLE, 10**17, strings=False), min_size=10, max_size=20))
def test_we_read_what_gnu_writes(gprolog: str, tmp_path: Path, batch: list[Term]) -> None:
    command = [gprolog, "--consult-file", "runner.pl", "--query-goal", "run('terms.txt'),halt"]
    write = "put_char('='), write_term(T, [quoted(true)])"
    check(command, tmp_path, batch, write)


@batches
@given(batch=st.lists(terms(SWI_NAMES), min_size=10, max_size=20))
def test_swi_reads_the_same(swipl: str, tmp_path: Path, batch: list[Term]) -> None:
    goal = "set_prolog_flag(double_quotes, string), run('terms.txt')"
    command = [swipl, "-q", "-g", goal, "-t", "halt", "--traditional", "runner.pl"]
    check(command, tmp_path, batch, "put_char('='), write_canonical(T)")
