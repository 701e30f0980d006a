"""The sums of a GPU, where there is one; elsewhere Triton's interpreter runs them (conftest.py)."""

from __future__ import annotations

import pytest
import torch

from deepprooflog.kg.walk.hops.sums import HopSums, fused_sums

WHERE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def sums_of_a_gpu() -> HopSums:
    """The kernels as they are; without Triton the test is skipped."""
    pytest.importorskip("triton", reason="Triton runs the kernels of a GPU")
    return fused_sums()
