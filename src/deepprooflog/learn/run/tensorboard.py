"""Curves for TensorBoard, which is imported when the first of them is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from deepprooflog.data.whole import cannot_write
from deepprooflog.errors import ModelError


class Scalars:
    """The scalars of a run, in a folder that `tensorboard --logdir` reads.

    `after` is the last step of a run that is resumed: what a file has beyond it is not shown.
    """

    def __init__(self, folder: Path, after: int = 0) -> None:
        try:
            module = importlib.import_module("torch.utils.tensorboard")
        except ImportError:
            raise ModelError(
                "TensorBoard is not installed", hint="pip install 'deepprooflog[tensorboard]'"
            ) from None
        self.folder = folder
        try:
            self.writer = module.SummaryWriter(str(folder), purge_step=after + 1 if after else None)
        except OSError as error:
            raise cannot_write(error, folder) from None

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """The values of a step."""
        try:
            for name, value in values.items():
                self.writer.add_scalar(name, value, step)
        except OSError as error:
            raise cannot_write(error, self.folder) from None

    def close(self) -> None:
        """Write out what is still in memory."""
        try:
            self.writer.close()
        except OSError as error:
            raise cannot_write(error, self.folder) from None
