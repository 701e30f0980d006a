"""What a session is about: a run's folder with changed facts, or a program's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from deepprooflog.errors import DataError, ProgramError

SAMPLE = """\
% Two ways to s: by two draws of p, or by one of q.
0.4 :: s(X) :- p(X), p(X).
0.6 :: s(X) :- q(X).

0.3 :: p(a).
0.7 :: p(b).

0.2 :: q(a).
0.8 :: q(b).
"""


@dataclass(frozen=True)
class Source:
    """A run or a program, with what the session has changed of it.

    `text` is the program as it stands in the editor; `added` and `removed` are the facts in which
    the session differs from the run. No file is ever written.
    """

    kind: Literal["run", "program"]
    name: str
    path: str | None = None
    text: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, for the way to a worker."""
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Source:
        """The source that `to_dict` wrote down.

        >>> changed = Source("run", "kin", "runs/kin", added=("uncle(ann,bob)",))
        >>> Source.of(changed.to_dict()) == changed
        True
        """
        facts = {key: tuple(record[key]) for key in ("added", "removed")}
        return cls(**{**record, **facts})


def find_source(target: str | None) -> Source:
    """The source that a user names: a run's folder, a program's file, or nothing: a sample.

    >>> find_source(None).name
    'sample.pl'
    """
    if target is None:
        return Source("program", "sample.pl", text=SAMPLE)
    path = Path(target)
    if path.is_dir():
        return Source("run", path.resolve().name, str(path))
    if not path.exists():
        raise DataError(
            "there is no such file or folder", file=target, hint="a program, or a run of dprl train"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ProgramError(error.strerror or str(error), file=target) from None
    except UnicodeDecodeError as error:
        raise ProgramError(
            f"not UTF-8 text (byte {error.start})", file=target, hint="save the file as UTF-8"
        ) from None
    return Source("program", path.name, target, text)
