"""Notices of the library as notes on standard error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deepprooflog.cli.report import note
from deepprooflog.errors import Notice


@contextmanager
def notices_as_notes() -> Iterator[None]:
    """While it lasts, every `Notice` is one line `note: …`; other warnings look as before."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        usual = warnings.showwarning

        def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
            if issubclass(category, Notice):
                note(str(message))
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show
        yield
