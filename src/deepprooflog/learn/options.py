"""Options as fields of a frozen dataclass: a field's metadata say what it is for and its limits.

>>> from dataclasses import dataclass, fields
>>> @dataclass(frozen=True)
... class Example:
...     share: float = option(0.5, "of the whole", at_least=0, below=1)
>>> beyond(2, fields(Example)[0].metadata)
'is at least 0 and below 1, not 2'
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any


def option(
    default: Any,
    about: str,
    *,
    choices: Sequence[str] = (),
    at_least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> Any:
    """A field of an options class: its default, what it is for, the values it takes."""
    metadata = {
        "about": about, "choices": tuple(choices), "at_least": at_least, "above": above,
        "below": below,
    }  # fmt: skip
    return field(default=default, metadata=metadata)


def beyond(value: float, metadata: Mapping[str, Any]) -> str:
    """What is wrong with a number that is beyond its option's limits; empty when it is within."""
    least, above, below = metadata["at_least"], metadata["above"], metadata["below"]
    if value >= least and value > above and value < below:
        return ""
    finite = "" if isinstance(value, int) else "finite"
    limits = [
        f"at least {least:g}" if least > -math.inf else "",
        f"above {above:g}" if above > -math.inf else "",
        f"below {below:g}" if below < math.inf else finite,
    ]
    return f"is {' and '.join(limit for limit in limits if limit)}, not {value:g}"
