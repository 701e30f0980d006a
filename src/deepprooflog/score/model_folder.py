"""The folder of a program's model: its text, what weighs it, and the weights; no code, no pickle.

config.json          the program's lines and file, the networks and the scorer by name, sealed
model.safetensors    labels, networks and scorer, by the names of `Model.state_dict()`
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from deepprooflog.data.tensor_file import packed_tensors, unpacked_tensors
from deepprooflog.data.whole import cannot_write, read_file, sealed_json, write_whole
from deepprooflog.errors import DataError, ModelError
from deepprooflog.logic.program import BodyOrder, Program
from deepprooflog.score.network import Network, Outputs
from deepprooflog.score.scorer import Scorer

TASK = "program"
WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class KeptNetwork:
    """What is kept of a network beside its weights."""

    module: str
    outputs: Outputs
    numbered: bool


@dataclass(frozen=True)
class KeptModel:
    """What is kept of a model beside its weights."""

    lines: list[str]
    file: str
    order: BodyOrder
    occurs_check: bool
    networks: dict[str, KeptNetwork]
    scorer: str

    def program(self) -> Program:
        """The program, read again."""
        text = "\n".join(self.lines)
        return Program(text, file=self.file, order=self.order, occurs_check=self.occurs_check)


def kept_model(program: Program, networks: Mapping[str, Network], scorer: Scorer) -> KeptModel:
    """What is to be kept; a program that was changed in Python has no text to keep."""
    if program.text is None:
        raise ModelError(
            "the program was changed or made in Python: it has no text to save",
            hint="dpl.Program(text) with all of its clauses",
        )
    kept = {
        name: KeptNetwork(type(net.module).__name__, net.outputs, net.number is not None)
        for name, net in networks.items()
    }
    return KeptModel(
        program.text.split("\n"), program.file, program.order, program.occurs_check, kept,
        type(scorer).__name__,
    )  # fmt: skip


def save_folder(folder: Path, kept: KeptModel, weights: Mapping[str, Any]) -> None:
    """Write the folder whole or not at all; one that holds anything is left alone."""
    for name, value in weights.items():
        if not isinstance(value, Tensor):
            raise ModelError(
                f"{name} is a {type(value).__name__}, and only tensors are kept",
                hint="get_extra_state as a tensor",
            )
    try:
        raw = packed_tensors(weights, {"written_by": "deepprooflog", "kind": TASK})
    except ValueError as error:
        raise ModelError(f"the model cannot be kept: {error}") from None
    config = {"recipe": TASK, "task": TASK, "options": asdict(kept)}
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise DataError("holds something already", file=str(folder), hint="another folder")
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".", suffix=".part", dir=folder.absolute().parent))
        try:
            write_whole(part / "config.json", sealed_json(config).encode())
            write_whole(part / WEIGHTS, raw)
            part.chmod(0o755)
            if folder.exists():
                folder.rmdir()
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except (OSError, ValueError) as error:
        raise cannot_write(error, folder) from None


def read_kept(options: Mapping[str, Any], file: Path) -> KeptModel:
    """What `save_folder` wrote into config.json."""
    try:
        networks = {name: KeptNetwork(**one) for name, one in options["networks"].items()}
        return KeptModel(**{**options, "networks": networks})
    except (TypeError, KeyError, AttributeError):
        raise DataError(
            "not the configuration of a program's model", file=str(file), hint="save it anew"
        ) from None


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights, where the file is whole."""
    path = folder / WEIGHTS
    try:
        found = unpacked_tensors(read_file(path))
        if found.metadata.get("kind") != TASK:
            raise ValueError("it holds no weights of a program's model")
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"the weights are damaged: {error}", file=str(path), hint="copy the folder again"
        ) from None
    return dict(found.tensors)
