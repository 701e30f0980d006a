"""Every program through every engine: the values are known exactly, the engines are a table.

`matrix/known.py` reads the programs, `matrix/engines.py` has one row for each engine.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from matrix.engines import ENGINES, Engine
from matrix.known import FILES, KNOWN, Known

CELLS = [(engine, known, engine.reason(known)) for engine in ENGINES for known in KNOWN]
APPLY = [(engine, known) for engine, known, reason in CELLS if reason is None]


@pytest.mark.parametrize(
    ("engine", "known"), APPLY, ids=[f"{e.name}: {k.name}: {k.goal}" for e, k in APPLY]
)
def test_the_engine_has_the_value(engine: Engine, known: Known) -> None:
    engine.check(known)


def test_there_are_programs() -> None:
    assert len(FILES) >= 25
    assert {path.stem for path in FILES} == {known.name for known in KNOWN}


def test_an_engine_leaves_out_little_and_says_why() -> None:
    """Every program goes through every engine but where its reason is one of these."""
    left_out = Counter((engine.name, reason) for engine, _, reason in CELLS if reason is not None)
    allowed = (
        "goal graph|plain SLD|the builtin|a cut|compound term|no clause defines =/2|occurs nowhere"
    )
    for (name, reason), count in left_out.items():
        assert re.search(allowed, reason), (name, reason)
        assert count < len(KNOWN)
    through = {known.name for engine, known in APPLY if engine.name == "relational"}
    assert through >= {"agreement", "blood_types", "branching", "cycle_of_two", "gambler"}
