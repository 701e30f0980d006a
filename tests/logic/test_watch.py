"""The watchdog: budgets hold in code that never looks at them, and nothing arrives afterwards."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest

from deepprooflog.logic.limits import gc_pause as garbage
from deepprooflog.logic.limits import watch
from deepprooflog.logic.limits.budget import Budget, BudgetExceeded
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.limits.watch import (
    GRACE,
    PRESERVED,
    current,
    limit_reached,
    watched,
)


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def under(budget: Budget | None, work: Callable[[], object]) -> None:
    with watched(budget):
        work()


def out_of_memory() -> None:
    raise MemoryError


def test_a_loop_that_never_looks_is_ended() -> None:
    """The error names the limit, and does not come before the deadline."""
    began = time.monotonic()
    with pytest.raises(BudgetExceeded, match=r"within 0\.1 s") as caught:
        under(Budget(max_seconds=0.1), lambda: spin(60))
    assert caught.value.limit == "max_seconds"
    assert caught.value.hint is not None
    assert "max_seconds" in caught.value.hint
    assert time.monotonic() - began > 0.1 + GRACE


def test_memory_is_limited_too() -> None:
    """What counts is what the block adds, in a process that holds little else to look through."""
    script = (
        "from deepprooflog.logic.limits.budget import Budget, BudgetExceeded\n"
        "from deepprooflog.logic.limits.watch import resident, watched\n"
        "kept, before = [], resident()\n"
        "try:\n"
        "    with watched(Budget(max_memory=50_000_000)):\n"
        "        while True: kept.append([1, 2, 3])\n"
        "except BudgetExceeded as error:\n"
        "    print(error.limit, '50 MB' in str(error), resident() - before < 250_000_000)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout == "max_memory True True\n"


def test_no_memory_at_all_is_the_same_error() -> None:
    """A single allocation that fails at once says which limit it was."""
    with pytest.raises(BudgetExceeded, match="not enough memory") as caught:
        under(None, out_of_memory)
    assert caught.value.limit == "max_memory"


def test_low_memory_is_told_before_it_is_gone() -> None:
    """Searches that can stop by themselves are told at four fifths of the limit."""
    kept: list[list[int]] = []
    with watched(Budget(max_memory=150_000_000)) as budget:
        while limit_reached(budget, current(), 0, 0) is None:
            kept.extend([1, 2, 3] for _ in range(1000))
            time.sleep(0.001)  # however busy the machine is, the watchdog has its turn
        used = len(kept)
    assert used > 100_000
    assert limit_reached(budget, current(), 0, 0) is None


def test_nothing_arrives_after_the_block() -> None:
    """Blocks that end about when their time is up leave nothing behind, in any thread."""
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            for i in range(16):
                with contextlib.suppress(BudgetExceeded), watched(Budget(max_seconds=0.001)):
                    spin(0.001 + GRACE + 0.003 * (i - 8))
                spin(0.002)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spin(0.1)
    assert not wrong
    assert current() is None


def test_the_tighter_of_nested_blocks_wins() -> None:
    """Inside and outside: whichever ends first ends the work, and its limit is named."""
    long, short = Budget(max_seconds=60), Budget(max_seconds=0.05)
    for outer, inner in ((long, short), (short, long)):
        with pytest.raises(BudgetExceeded, match=r"0\.05 s"):
            under(outer, partial(under, inner, lambda: spin(60)))


def test_an_interruption_that_was_swallowed_comes_again() -> None:
    """Code that catches every exception is ended all the same."""
    caught: list[BudgetExceeded] = []

    def deaf() -> None:
        while True:
            try:
                spin(60)
            except BudgetExceeded as error:
                caught.append(error)
                if len(caught) == 2:
                    raise

    with pytest.raises(BudgetExceeded):
        under(Budget(max_seconds=0.05), deaf)
    assert len(caught) == 2


def test_an_interruption_taken_for_another_error_is_still_one() -> None:
    """Code that turns every exception into one of its own does not hide the budget."""

    def translating() -> None:
        try:
            spin(60)
        except Exception:
            raise TypeError("something is wrong") from None

    with pytest.raises(BudgetExceeded, match=r"0\.05 s"):
        under(Budget(max_seconds=0.05), translating)


def test_other_threads_go_on() -> None:
    """Only the thread whose time is up is interrupted."""
    done: list[str] = []

    def patient() -> None:
        with watched(Budget(max_seconds=60)):
            spin(0.4)
            done.append("patient")

    thread = threading.Thread(target=patient)
    thread.start()
    with pytest.raises(BudgetExceeded):
        under(Budget(max_seconds=0.05), lambda: spin(60))
    thread.join()
    assert done == ["patient"]


def test_without_limits_no_block_is_watched() -> None:
    """Budgets of goals and steps alone start nothing."""
    with watched(Budget(max_goals=10, max_steps=10)) as budget:
        assert current() is None
        assert budget.deadline is None


def test_state_is_put_back_after_an_interruption() -> None:
    """What a block inside the work did not get to put back, the watch does."""
    state = ["on"]
    PRESERVED.append((lambda: state[0], lambda value: state.__setitem__(0, value)))

    def work() -> None:
        state[0] = "off"
        garbage.restore(garbage.depth() + 1)
        spin(60)

    try:
        with pytest.raises(BudgetExceeded):
            under(Budget(max_seconds=0.05), work)
    finally:
        PRESERVED.pop()
    assert state == ["on"]
    assert gc.isenabled()


def test_the_collector_comes_back_when_the_last_thread_has_ended() -> None:
    """Blocks of several threads overlap in any order."""
    assert gc.isenabled()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    seen: list[bool] = []

    def first() -> None:
        with gc_paused():
            first_in.set()
            second_in.wait()
        first_out.set()

    def second() -> None:
        first_in.wait()
        with gc_paused():
            second_in.set()
            first_out.wait()
            seen.append(gc.isenabled())

    threads = [threading.Thread(target=f) for f in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [False]
    assert gc.isenabled()


def test_the_collector_survives_many_threads() -> None:
    """However blocks interleave, it is on in the end."""

    def work() -> None:
        for _ in range(300):
            with gc_paused(), gc_paused():
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gc.isenabled()


@pytest.mark.parametrize("seconds", [60.0, 0.05])
def test_a_traced_function_ends_after_a_block(seconds: float) -> None:
    """Nothing is left pending: a debugger or a coverage tool would wait for it for ever."""
    script = (
        "import sys, contextlib\n"
        "from deepprooflog.logic.limits.budget import Budget, BudgetExceeded\n"
        "from deepprooflog.logic.limits.watch import watched\n"
        f"with contextlib.suppress(BudgetExceeded), watched(Budget(max_seconds={seconds})):\n"
        f"    while {seconds} < 1: pass\n"
        "def traced(): return 1\n"
        "sys.settrace(lambda *_: None)\n"
        "print(traced())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert run.stdout == "1\n"


def test_what_came_of_a_block_inside_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that ends late leaves the one around it `GRACE`, once, however many there are."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep)
    with (outer := watched(Budget(max_seconds=60))) as budget:
        assert budget.deadline is not None
        ends = budget.deadline + GRACE
        monkeypatch.setattr(watch, "time", clock)
        now[0] = ends - 0.01
        with watched(Budget(max_seconds=60)):
            pass
        assert not outer.look(ends + 0.5 * GRACE, 0)
        now[0] = ends + 0.5 * GRACE
        with watched(Budget(max_seconds=60)):
            pass
        assert outer.look(ends + GRACE, 0)
        monkeypatch.undo()
