"""Running a training: one resumable loop, and the trainer that descends on minibatches."""

from deepprooflog.learn.run.descent import Descent, rate
from deepprooflog.learn.run.loop import Learned, Loop, Row, Trainer

__all__ = ["Descent", "Learned", "Loop", "Row", "Trainer", "rate"]
