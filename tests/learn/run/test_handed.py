"""Files of a run in processes that see its folder, and in some that do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from deepprooflog.learn.run.handed import hand_out, run_files

SOURCE = Path(__file__).parents[3] / "src"
WORKER = """
import json, os, sys
from pathlib import Path
from deepprooflog.learn.run import handed
from deepprooflog.learn.run.processes import joined, processes

handed.PIECE = 7  # bytes
base, rank = Path(sys.argv[1]), int(os.environ["RANK"])
found = {}
with joined():
    # Seen by both, by the first alone, by both with other contents in the second.
    for name, place in (("seen", "seen"), ("unseen", f"unseen{rank}"), ("other", f"other{rank}")):
        folder, own = base / place, base / f"own-{name}"
        files = processes().from_first(
            lambda: handed.run_files(folder, sorted(os.listdir(folder)))
        )
        handed.hand_out(files, folder, own)
        if rank == 1:
            found[name] = {
                p.name: [p.read_text(), p.is_symlink()] for p in sorted(own.iterdir())
            }
if rank == 1:
    (base / "found.json").write_text(json.dumps(found))
"""
FILES = {
    "graph.index": "a large graph that is mapped", "metrics.jsonl": "appended to, so never shared",
    "empty.safetensors": "", "config.json": "{}",
}  # fmt: skip


def test_what_is_seen_is_not_copied(tmp_path: Path) -> None:
    for name in ("seen", "unseen0", "other0", "other1"):
        (tmp_path / name).mkdir()
        for file, text in FILES.items():
            (tmp_path / name / file).write_text(text)
            os.utime(tmp_path / name / file, ns=(10**18, 10**18))
    (tmp_path / "other1" / "graph.index").write_text("an old graph, not the one now")
    for name in ("seen", "unseen", "other"):
        (tmp_path / f"own-{name}").mkdir()
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*start, str(worker), str(tmp_path)], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    shared = {"graph.index", "empty.safetensors"}
    assert found == {
        "seen": {file: [text, file in shared] for file, text in FILES.items()},
        "unseen": {file: [text, False] for file, text in FILES.items()},
        "other": {file: [text, file == "empty.safetensors"] for file, text in FILES.items()},
    }


def test_one_process_has_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "graph.index").write_text("a graph")
    files = run_files(tmp_path, ["graph.index"])
    assert [(file.name, file.bytes) for file in files] == [("graph.index", 7)]
    hand_out(files, tmp_path, tmp_path)
    assert (tmp_path / "graph.index").read_text() == "a graph"
    assert not (tmp_path / "graph.index").is_symlink()
