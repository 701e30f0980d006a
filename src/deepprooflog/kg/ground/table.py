"""The systems over ground rules by name: a new one is a file and a line here."""

from __future__ import annotations

from deepprooflog.kg.ground.dcr import Dcr
from deepprooflog.kg.ground.r2n import R2n
from deepprooflog.kg.ground.sbr import Sbr
from deepprooflog.kg.ground.system import GroundSystem

BY_NAME: dict[str, type[GroundSystem]] = {"sbr": Sbr, "dcr": Dcr, "r2n": R2n}
