"""`dprl data list` and `get`: what is here, what can be fetched, and what to do offline."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from deepprooflog.cli import main
from deepprooflog.data.__main__ import main as old_main
from deepprooflog.data.sources import SOURCES

SPLITS = {
    "train": "ann\tknows\tbob\n", "valid": "bob\tknows\tann\n", "test": "ann\tknows\tann\n",
}  # fmt: skip


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No data at all, and no network."""
    monkeypatch.setenv("DEEPPROOFLOG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")

    def offline(*_: object, **__: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    return tmp_path


def test_the_list(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["sets"]}
    assert rows.keys() == SOURCES.keys()
    assert all(row["there"] is None for row in rows.values())
    assert rows["wn18rr_standard"]["triples"] == [86_835, 3_034, 3_134]
    assert main(["data", "list"]) == 0
    text = capsys.readouterr().out
    assert "dprl data get wn18rr_standard" in text
    assert text.count("to be put there by hand") == 3


def test_what_is_here_is_found_by_its_checksums(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["sets"]
    assert {row["there"] for row in rows} == {str(data_dir / row["folder"]) for row in rows}
    assert main(["data", "get", "grail", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)["sets"]
    assert len(done) == 8
    assert done[0]["folder"] == str(data_dir / "kg/grail/WN18RR_v1")


@pytest.mark.parametrize("name", ["countries_s1", "family"])
def test_offline_it_says_what_to_put_where(
    name: str, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "get", name]) == 2
    told = capsys.readouterr().err
    folder = nowhere / "cache/deepprooflog/kg" / name
    files = "train.txt, valid.txt, test.txt"
    assert f"put {files} into {folder} by hand, or into kg/{name} below the folder" in told
    assert ("Network is unreachable" in told) == (name == "countries_s1")
    assert ("Traceback" in told) is False


def test_a_name_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "get", "wn18rr_standart"]) == 2
    assert "did you mean wn18rr_standard?" in capsys.readouterr().err
    assert main(["data", "get", "grail", "--to", "x"]) == 2
    assert "8 data sets" in capsys.readouterr().err


def test_the_old_name(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert old_main(["countries_s1"]) == 2
    told = capsys.readouterr().err
    assert "note: the command is dprl data get countries_s1" in told
    assert "could not be fetched" in told


def test_a_folder_is_indexed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.tsv").write_text("ann\tknows\tbob\nbob\tknows\tann\n")
    assert main(["data", "index", str(tmp_path), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["triples"], made["entities"], made["relations"]) == (6, 2, 1)
    assert made["bytes"] == Path(made["path"]).stat().st_size
    assert main(["data", "check", str(tmp_path), "--json"]) == 1  # each split has train's triples
    assert json.loads(capsys.readouterr().out)["splits"]["test"]["in_train"] == 2
    assert main(["data", "index", str(tmp_path), "--check"]) == 0
    assert "are as they were written" in capsys.readouterr().out
    assert main(["data", "index", str(tmp_path), "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == made["bytes"]
    path = Path(made["path"])
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["data", "index", str(tmp_path), "--check"]) == 2
    assert "cut off or damaged" in capsys.readouterr().err
    path.unlink()
    assert main(["data", "index", str(tmp_path), "--check"]) == 2
    assert "there is no index" in capsys.readouterr().err
    assert main(["data", "index", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda raw: raw[:-9], "the index is cut off or damaged"),
        (lambda raw: raw[:30], "the index is cut off or damaged"),
        (lambda raw: b"PAR1" + raw, "not the index of a graph"),
        (lambda raw: raw.replace(b"index 2\n", b"index 1\n", 1), "an index of another version"),
    ],
    ids=["truncated", "cut within its header", "foreign", "of an older version"],
)
def test_nothing_is_begun_with_an_index_that_is_none(
    damage: Callable[[bytes], bytes],
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Status 2, what is wrong with which file and what helps; made anew, it is used again."""
    own = tmp_path / "graph"
    own.mkdir()
    for split, row in SPLITS.items():
        (own / f"{split}.tsv").write_text(row)
    assert main(["data", "index", str(own)]) == 0
    files = sorted(p.name for p in own.iterdir())
    path = own / "graph.index"
    path.write_bytes(damage(path.read_bytes()))
    capsys.readouterr()
    train = ["train", "kg", "--set", f"data={own}", "--out", str(tmp_path / "run")]
    for asked in (train, ["mine", str(own)], ["data", "index", str(own), "--check"]):
        assert main(asked) == 2
        error = capsys.readouterr().err
        assert f"{path}: error: {told}\n    try: dprl data index FOLDER makes it anew" in error
        assert error.count("error:") == 1 and "Traceback" not in error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph"]
    assert sorted(p.name for p in own.iterdir()) == files
    assert main(["data", "index", str(own)]) == 0
    assert main(["data", "index", str(own), "--check"]) == 0


def test_an_index_from_before_the_files_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is there now counts, and it is said."""
    for split, row in SPLITS.items():
        (tmp_path / f"{split}.tsv").write_text(row)
    assert main(["data", "index", str(tmp_path)]) == 0
    (tmp_path / "train.tsv").write_text("bob\tknows\tcy\nbob\tlikes\tcy\n" + SPLITS["train"])
    capsys.readouterr()
    assert main(["mine", str(tmp_path), "--min-support", "1", "--no-constants"]) == 0
    shown = capsys.readouterr()
    assert "knows(A,B) :- likes(A,B)." in shown.out
    assert "was made before train changed and is not used: dprl data index FOLDER" in shown.err
