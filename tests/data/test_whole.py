"""Files that are written whole: what a killed writer left is removed, a live one's is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deepprooflog.data import whole
from deepprooflog.data.whole import sweep_left, write_whole

WRITER = """
import sys, time
from pathlib import Path
from deepprooflog.data.whole import write_filled

def fill(file):
    file.write(b"half of it")
    file.flush()
    print("begun", flush=True)
    sys.stdin.readline()

write_filled(Path(sys.argv[1]), fill)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is swept there")
def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    path, other = tmp_path / "one", tmp_path / ".two.1234.part"
    write_whole(path, b"old")
    other.write_bytes(b"of another file")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "begun\n"
    assert len(list(tmp_path.glob(".one.*.part"))) == 2
    os.kill(writers[0].pid, signal.SIGKILL)
    writers[0].wait()
    sweep_left(path)
    assert len(list(tmp_path.glob(".one.*.part"))) == 1
    assert path.read_bytes() == b"old" and other.exists()
    writers[1].communicate("go on\n")
    assert writers[1].returncode == 0 and path.read_bytes() == b"half of it"
    assert list(tmp_path.glob(".one.*")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is swept there")
def test_a_file_that_is_swept_before_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made once more: no writer loses its file."""
    path, lock, swept = tmp_path / "one", whole._lock, list[bool]()

    def late(number: int, *, wait: bool) -> bool:
        if wait and not swept:
            swept.append(True)
            sweep_left(path)
        return lock(number, wait=wait)

    monkeypatch.setattr(whole, "_lock", late)
    write_whole(path, b"new")
    assert swept and path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is swept there")
def test_a_file_is_not_swept_on_its_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last byte and its name it is its writer's still."""
    path, replace = tmp_path / "one", os.replace

    def swept(part: Path, target: Path) -> None:
        sweep_left(path)
        replace(part, target)

    monkeypatch.setattr(os, "replace", swept)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
