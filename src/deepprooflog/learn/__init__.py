"""Learning from labelled queries: losses on p_success, and fitting by exact gradients."""

from deepprooflog.learn import losses
from deepprooflog.learn.fitting import fit
from deepprooflog.learn.losses import History, Loss

__all__ = ["History", "Loss", "fit", "losses"]
