"""Addition of numbers given as pictures."""

from deepprooflog.recipes.addition.sums import accuracy, consecutive, sum_goals
from deepprooflog.recipes.addition.task import lenet, program, small_net

__all__ = ["accuracy", "consecutive", "lenet", "program", "small_net", "sum_goals"]
