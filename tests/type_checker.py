"""The type checker that runs under pytest, as the static one reads hints: an int is a float too."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
