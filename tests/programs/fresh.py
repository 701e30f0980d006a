"""`@given` for large inputs: every example is drawn anew.

After ten examples Hypothesis mostly copies parts of those it has over each other. That is good for
a list of numbers; a program drawn so has the same clause many times and derives little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

BEFORE_COPYING = 10
"""Examples that Hypothesis draws before it begins to copy parts of them."""


def fresh(
    examples: int, *drawn: st.SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """A property of what is drawn, tried on so many examples, ten from each seed.

    A profile that explores has no seeds and as many examples as it says.
    """

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            assert settings.default is not None
            if not settings.default.derandomize:
                given(*drawn)(check)()
                return
            for start in range(0, examples, BEFORE_COPYING):
                count = min(BEFORE_COPYING, examples - start)
                some = settings(max_examples=count, suppress_health_check=list(HealthCheck))
                seed(start)(some(given(*drawn)(check)))()

        test.__name__, test.__qualname__ = check.__name__, check.__qualname__
        test.__module__, test.__doc__ = check.__module__, check.__doc__
        return test

    return decorate
