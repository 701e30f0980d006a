"""Learning from labelled queries: losses on p_success, exact gradients, particles, rollouts."""

from deepprooflog.learn import losses
from deepprooflog.learn.augment import Distort
from deepprooflog.learn.fitting import fit
from deepprooflog.learn.losses import History, Loss
from deepprooflog.learn.reinforce import Reinforce, reinforce_loss
from deepprooflog.learn.smc import paths, smc_log_prob, smc_loss
from deepprooflog.learn.subgoals import subgoal_log_prob

__all__ = [
    "Distort",
    "History",
    "Loss",
    "Reinforce",
    "fit",
    "losses",
    "paths",
    "reinforce_loss",
    "smc_log_prob",
    "smc_loss",
    "subgoal_log_prob",
]
