"""What every test runs under: checked tensor shapes, one thread, fixed random choices, oracles."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

# Only where tensors are: in syntax and logic a check on each call would cost more than the call.
CHECKED = ["graph", "score", "infer", "relational", "model", "mdp", "learn", "kg", "recipes"]

install_import_hook([f"deepprooflog.{name}" for name in CHECKED], "type_checker.checked")

# The tests run in parallel already; what they start inherits the variable.
torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Without a GPU, its kernels are run by Triton's interpreter, which is chosen when Triton is read.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", deadline=None, max_examples=2000)
# Hours of new cases: HYPOTHESIS_PROFILE=fuzz make test; `make fuzz` runs the other attacks.
settings.register_profile(
    "fuzz", deadline=None, max_examples=50_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def _executable(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed (Debian: {package})")
    return path


def _folder(variable: str, holds: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: the folder with {holds}")
    path = Path(value)
    # A wrong path is a mistake to see, not a reason to skip.
    assert path.is_dir(), f"{variable} names {path}, which is no folder"
    return path


@pytest.fixture(scope="session")
def swipl() -> str:
    """Path of SWI-Prolog."""
    return _executable("swipl", "swi-prolog-nox")


@pytest.fixture(scope="session")
def gprolog() -> str:
    """Path of GNU Prolog."""
    return _executable("gprolog", "gprolog")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with MNIST and the knowledge graphs."""
    return _folder("DEEPPROOFLOG_DATA", "MNIST and the knowledge graphs")


@pytest.fixture(scope="session")
def conformance_dir() -> Path:
    """The folder with the ISO syntax conformance table."""
    return _folder("DEEPPROOFLOG_CONFORMANCE", "the ISO syntax conformance table")
