"""Learning from labelled queries: losses on p_success, and fitting by exact gradients."""

from deepprooflog.learn import losses
from deepprooflog.learn.exact import History, fit

__all__ = ["History", "fit", "losses"]
