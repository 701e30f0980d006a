"""The batched engine for function-free programs: goals, rules and facts as integer tensors."""

from deepprooflog.relational.database import Database

__all__ = ["Database"]
