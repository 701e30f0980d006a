"""SLD resolution as a Markov decision process: goals are states, resolution steps are actions."""

from deepprooflog.mdp.environment import (
    FALSE,
    Environment,
    Process,
    Queries,
    actions,
    reset,
    step,
)
from deepprooflog.mdp.policy import Policy

__all__ = ["FALSE", "Environment", "Policy", "Process", "Queries", "actions", "reset", "step"]
