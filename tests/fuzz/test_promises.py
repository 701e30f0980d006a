"""A few seconds of every attack that `make fuzz` runs for an hour."""

from __future__ import annotations

from types import ModuleType

import pytest

from fuzz.rounds import Rounds, attacks


@pytest.mark.parametrize("module", attacks(), ids=lambda m: m.__name__.removeprefix("fuzz.fuzz_"))
def test_the_promise_holds(module: ModuleType) -> None:
    """No case of the attack breaks what its module promises."""
    tally = module.attack(Rounds(seed=0, count=module.QUICK))
    assert tally.tried >= module.QUICK
    assert not tally.broken, f"{module.PROMISE}; broken by\n" + "\n".join(tally.broken[:20])
