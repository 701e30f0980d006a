"""Compressed files have a cap on what they unpack to; plain ones have none."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest

from deepprooflog.data import whole as unpack
from deepprooflog.data.digits import read_idx
from deepprooflog.errors import DataError
from deepprooflog.kg.data.reading import read_text, read_triples
from deepprooflog.kg.data.rules import read_rules

CAP = 1_000_000


@pytest.fixture(autouse=True)
def _cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "UNPACKED_AT_MOST", CAP)


def test_the_cap_is_what_the_pages_say() -> None:
    page = Path(__file__).parents[2] / "docs" / "knowledge-graphs.md"
    assert "512 MiB" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("read", [read_text, read_triples, read_rules, read_idx])
def test_a_bomb_is_refused(read: object, tmp_path: Path) -> None:
    """A hundred times the cap, unpacked piece by piece and never whole."""
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(gzip.compress(bytes(CAP), mtime=0) * 100)
    tracemalloc.start()
    with pytest.raises(DataError, match="unpack to more than 1,000,000 bytes") as found:
        read(path)  # type: ignore[operator]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * CAP
    assert found.value.file == str(path)
    assert "unpack the file by hand" in str(found.value.hint)


def test_up_to_the_cap_and_without_one(tmp_path: Path) -> None:
    whole = tmp_path / "whole.txt.gz"
    whole.write_bytes(gzip.compress(b"a" * CAP, mtime=0))
    assert len(read_text(whole)) == CAP
    (tmp_path / "plain.txt").write_bytes(b"a" * (CAP + 1))
    assert len(read_text(tmp_path / "plain.txt")) == CAP + 1


def test_members_one_after_another_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "two.txt.gz"
    path.write_bytes(gzip.compress(b"one ", mtime=0) + gzip.compress(b"two", mtime=0))
    assert read_text(path) == "one two"
