"""Runs that end before they are done: signals, full disks, lost devices, folders in use."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from deepprooflog.cli import main
from deepprooflog.errors import DataError, ModelError, Stopped
from deepprooflog.learn.run import checkpoint, folder, loop
from deepprooflog.learn.run.folder import create, open_run, reopen
from deepprooflog.learn.run.progress import Progress
from deepprooflog.recipes import graph as kg_run
from deepprooflog.recipes.addition import run as addition_run
from deepprooflog.recipes.addition import training
from deepprooflog.recipes.addition.options import resolve
from deepprooflog.recipes.addition.task import TASK
from deepprooflog.recipes.begin import begin
from fuzz.fuzz_checkpoints import same
from fuzz.small_runs import DIGITS, VILLAGE

pytest.importorskip("sklearn", reason="scikit-learn brings the 8 × 8 digits")

CONFIG = {"recipe": "kg", "task": "kg", "options": {}}
RUNS: dict[str, tuple[Any, str, dict[str, object]]] = {
    "digits": (addition_run.train, "digits-addition", {**DIGITS, "augment": "affine"}),
    "village": (kg_run.train, "kg", {**VILLAGE, "steps": 4, "look": 2}),
    "ppo": (kg_run.train, "kg", {**VILLAGE, "learner": "ppo", "ppo_iterations": 2, "look": 2,
                                 "ppo_episodes": 4}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Signals as a process of its own has them, whatever runs the tests."""
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, old in before.items():
        assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)
        signal.signal(number, old)


def state_of(out: Path) -> Any:
    state = checkpoint.load(out / "checkpoint.pt", loop.SHAPE)
    rows = [{k: v for k, v in row.items() if "second" not in k} for row in state["history"]]
    return state["trainer"], state["best"], rows


@pytest.mark.parametrize("name", RUNS)
def test_signals_save_the_step_in_hand(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terminated, gone on with, interrupted, gone on with: the same run at last."""
    train, recipe, options = RUNS[name]
    train(recipe, options, tmp_path / "whole", progress=False)
    out = tmp_path / "stopped"
    steps = 0
    update = Progress.update

    def signalled(self: Progress, done: int, text: str) -> None:
        nonlocal steps
        update(self, done, text)
        if text.startswith(("epoch", "step", "iteration")):
            steps += 1
            if steps in (2, 5):
                signal.raise_signal(signal.SIGTERM if steps == 2 else signal.SIGINT)

    monkeypatch.setattr(Progress, "update", signalled)
    for status in (143, 130):
        with pytest.raises(Stopped, match="what was learned is saved") as stopped:
            train(recipe, {} if steps else options, out, resume=bool(steps), progress=False)
        assert stopped.value.status == status
        assert f"dprl train {recipe} --out {out} --resume" in str(stopped.value)
        assert not [p for p in out.iterdir() if p.name.startswith(".")]
    train(recipe, {}, out, resume=True, progress=False)
    assert same(state_of(out), state_of(tmp_path / "whole"))


def test_a_signal_while_looking_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, recipe, options = RUNS["digits"]
    train(recipe, options, tmp_path / "whole", progress=False)
    look, looks = training.Training._validate, []

    def signalled(self: training.Training) -> tuple[float, dict[str, float]]:
        looks.append(self.loop.step)
        if len(looks) == 2:
            signal.raise_signal(signal.SIGINT)
        return look(self)

    monkeypatch.setattr(training.Training, "_validate", signalled)
    with pytest.raises(Stopped):
        train(recipe, options, tmp_path / "run", progress=False)
    train(recipe, {}, tmp_path / "run", resume=True, progress=False)
    assert looks[:3] == [0, 3, 3]
    assert same(state_of(tmp_path / "run"), state_of(tmp_path / "whole"))


def test_a_signal_before_anything_is_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends at once; the folder can be gone on with, and used for another run."""
    out = tmp_path / "run"
    monkeypatch.setattr(addition_run, "prepare", lambda *_: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(Stopped, match="nothing was learned yet") as found:
        addition_run.train("digits-addition", DIGITS, out, progress=False)
    assert found.value.status == 143
    monkeypatch.undo()
    addition_run.train("digits-addition", {**DIGITS, "seed": 3}, out, progress=False)
    assert open_run(out).config()["options"]["seed"] == 3


# -- disks and devices -----------------------------------------------------------------------------

CHILD = """
import resource, sys
from pathlib import Path
from deepprooflog.data.whole import write_whole
from deepprooflog.errors import DataError
path = Path(sys.argv[1])
for limit in (0, 1, 999, 4096):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write_whole(path, b"new" * 10000)
    except DataError as error:
        print(error.message)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits as POSIX has them")
def test_a_file_that_does_not_fit_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(b"old")
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(path)], capture_output=True, text=True
    )
    assert run.stdout.splitlines() == ["cannot write: File too large"] * 4, run.stderr
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


class FullDisk:
    """A disk with room for so many writes; the next is refused half-way."""

    def __init__(self, room: int) -> None:
        self.room, self.writes = room, 0
        self.open = os.fdopen

    def __call__(self, number: int, mode: str) -> Any:
        self.writes += 1
        file = self.open(number, mode)
        if self.writes <= self.room:
            return file

        class Full:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def write(self, raw: bytes) -> int:
                file.write(raw[: len(raw) // 2])
                raise OSError(errno.ENOSPC, "No space left on device")

        return Full()


@pytest.mark.parametrize("room", [0, 1, 3])
def test_a_full_disk_is_one_message(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """At whichever file of a run: no half of it stays, and --out or --resume can be used again."""
    out = tmp_path / "run"
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    given = [f"--set={key}={value}" for key, value in DIGITS.items()]
    arguments = ["train", "digits-addition", "--out", str(out), "--json"]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", FullDisk(room))
        assert main([*arguments, *given]) == 2
    message = capsys.readouterr().err
    assert message.count("error:") == 1
    assert "cannot write: No space left on device" in message
    left = {p.name for p in out.iterdir()} if out.exists() else set()
    assert not [name for name in left if name.startswith(".")]
    learned = "checkpoint.pt" in left
    assert learned == (room > 1), "config, then checkpoints, then curves and the result"
    if not learned:
        assert not out.exists()
    assert main([*arguments, *(["--resume"] if learned else given)]) == 0


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    (tmp_path / "run").mkdir()
    given = [f"--set={key}={value}" for key, value in DIGITS.items()]
    for name in ("mkdir", "open"):
        with monkeypatch.context() as patch:
            patch.setattr(Path if name == "mkdir" else os, name, refuse)
            out = tmp_path / ("run" if name == "open" else "new")
            assert main(["train", "digits-addition", "--out", str(out), *given]) == 2
        assert "cannot write: Read-only file system" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    "error",
    [torch.AcceleratorError("CUDA error: unspecified launch failure"),
     torch.OutOfMemoryError("CUDA out of memory"), MemoryError("no more"),
     RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
def test_a_lost_device_is_one_message(error: Exception, tmp_path: Path) -> None:
    """The last checkpoint stays, and the message says how to go on from it."""
    out = tmp_path / "run"
    arguments: dict[str, Any] = {"task": TASK, "resolve": resolve, "check": str, "places": ()}

    def learn_until_lost() -> None:
        with begin("digits-addition", {}, out, False, **arguments) as (_, run):
            checkpoint.save(run.checkpoint, {"x": 1})
            raise error

    with pytest.raises(ModelError, match="the device is full or was lost") as found:
        learn_until_lost()
    assert f"dprl train digits-addition --out {out} --resume" in str(found.value.hint)
    assert checkpoint.load(out / "checkpoint.pt", {"x": int})["x"] == 1
    with (
        pytest.raises(RuntimeError, match="of another kind"),
        begin("digits-addition", {}, out, True, **arguments),
    ):
        raise RuntimeError("of another kind")


# -- the lock --------------------------------------------------------------------------------------


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with create(out, CONFIG):
        taken = rf"another process \({os.getpid()}\) trains"
        with pytest.raises(DataError, match=taken), create(out, CONFIG):
            pass
        with pytest.raises(DataError, match="another process"), reopen(out):
            pass
    with reopen(out):
        pass
    assert [p.name for p in out.iterdir()] == ["config.json"]


def test_what_a_killed_process_leaves_locks_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / folder.LOCK_NAME).write_text("1\n")
    (out / ".checkpoint.pt.0123abcd.part").write_bytes(b"half")
    with create(out, CONFIG):
        assert {p.name for p in out.iterdir()} == {"config.json", folder.LOCK_NAME}


def test_a_failed_start_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    for out, before in ((tmp_path / "new", False), (tmp_path / "old", True)):
        if before:
            out.mkdir()
        with pytest.raises(ZeroDivisionError), create(out, CONFIG):
            1 / 0  # noqa: B018
        assert out.exists() == before
        with create(out, CONFIG):
            pass
