"""Numbers as features."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.score.embedding.encoders import WIDTH, number_features


def test_small_integers_are_far_apart() -> None:
    features = np.array([number_features(n) for n in range(-50, 301)])
    distance = np.linalg.norm(features[:, None] - features[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    assert distance.min() > 0.1


def test_integers_and_floats_differ() -> None:
    assert number_features(1) != number_features(1.0)


def test_phases_of_long_integers_are_exact() -> None:
    """10^60 + 3 ≡ 3 modulo every period that divides 10^6, where floats would have lost the 3."""
    large, small = number_features(10**60 + 3), number_features(3)
    last_digit = slice(4 + 2 * 4, 4 + 2 * 5)
    np.testing.assert_allclose(
        small[last_digit], [math.sin(2 * math.pi * 0.3), math.cos(2 * math.pi * 0.3)]
    )
    assert large[last_digit] == small[last_digit]
    assert large[2] > small[2]


@given(st.one_of(st.integers(), st.floats(), st.just(10**5000), st.just(-(10**5000))))
def test_features_are_finite(x: int | float) -> None:
    features = number_features(x)
    assert len(features) == WIDTH
    assert np.isfinite(features).all()
