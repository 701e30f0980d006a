"""Random cyclic systems x = A x + b as fractions, and their solutions without rounding."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class System:
    """States 0 … n−1: steps (i, j, A_ij), and b; every row of A and b adds up to 1 at most."""

    n: int
    steps: tuple[tuple[int, int, Fraction], ...]
    right: tuple[Fraction, ...]


def draw_system(rng: random.Random, most: int) -> System:
    """Sparse or dense, leaking or not, with weights from 1 down to 10⁻³⁰⁰ and loops close to 1."""
    n = rng.randint(1, most)
    width = rng.choice([1, 2, 3, n])
    depth = rng.choice([0, 0, 1, 12, 300])
    leaking = rng.choice([Fraction(0), Fraction(1, 10 ** rng.choice([1, 9, 16, 40]))])
    steps: list[tuple[int, int, Fraction]] = []
    right = []
    for i in range(n):
        ends = [(i + 1) % n, *(rng.randrange(n) for _ in range(rng.randint(0, width)))]
        parts = [Fraction(rng.randint(1, 9), 10 ** rng.randint(0, depth)) for _ in ends]
        success = Fraction(rng.randint(1, 9), 10 ** rng.randint(0, depth))
        success = success if i == 0 or rng.random() < 0.2 else Fraction(0)
        total = sum(parts, success) / (1 - leaking)
        steps += [(i, j, part / total) for j, part in zip(ends, parts, strict=True)]
        right.append(success / total)
    return System(n, tuple(steps), tuple(right))


def log_fraction(value: Fraction) -> float:
    """log of a positive fraction, however small or large."""
    ratio = value.numerator.bit_length() - value.denominator.bit_length()
    return math.log(value * Fraction(2) ** -ratio) + ratio * math.log(2)


def dense_solution(
    system: System, right: list[Fraction], transposed: bool = False
) -> list[Fraction]:
    """(I − A)⁻¹ right by Gauss and Jordan over fractions, or that of the transpose."""
    n = system.n
    rows = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    for i, j, w in system.steps:
        a, b = (j, i) if transposed else (i, j)
        rows[a][b] -= w
    for i, end in enumerate(right):
        rows[i].append(end)
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [v - rows[i][k] * u for v, u in zip(rows[i], rows[k], strict=True)]
    return [row[n] for row in rows]
