"""The gallery: each program against enumeration, then learned from outcomes on real digits."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import deepprooflog as dpl

FOLDER = Path(__file__).parents[1] / "examples" / "gallery"
DIGITS = range(10)


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", FOLDER / "gallery.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gallery"] = module
    spec.loader.exec_module(module)
    return module


gallery = load()


class Rows(nn.Module):
    """A network that reads picture i, the number i, as a fixed distribution."""

    def __init__(self, rows: np.ndarray) -> None:
        super().__init__()
        self.rows = torch.from_numpy(np.log(rows))

    def forward(self, numbers: Tensor) -> Tensor:
        return self.rows[numbers.long().reshape(-1)]


def drawn(pictures: int, classes: int = 10, seed: int = 0) -> np.ndarray:
    rows: np.ndarray = np.random.default_rng(seed).dirichlet(np.full(classes, 0.5), size=pictures)
    return rows


def asked(name: str, rows: np.ndarray) -> tuple[dpl.Model, list[Tensor]]:
    model = dpl.Model(gallery.program(name), networks={"net": Rows(rows)})
    return model, [torch.tensor([float(i)]) for i in range(len(rows))]


def enumerated(rows: np.ndarray, outcome: Callable[..., object]) -> dict[object, float]:
    """The distribution of an outcome over all ways to read the pictures."""
    total: dict[object, float] = defaultdict(float)
    for read in itertools.product(range(rows.shape[1]), repeat=len(rows)):
        total[outcome(*read)] += float(np.prod([rows[i, d] for i, d in enumerate(read)]))
    return total


def agrees(model: dpl.Model, open_: dpl.Query, expected: dict[object, float]) -> None:
    """All answers as enumeration has them, and the best of them predicted."""
    text = {str(k).replace(" ", ""): p for k, p in expected.items() if p > 0}
    listed = model.answers(open_)
    assert sorted(listed.values()) == pytest.approx(sorted(text.values()), rel=1e-5)
    best = sorted(text, key=lambda k: -text[k])[:2]
    for found, answer in zip(model.predict(open_, top=2), best, strict=True):
        assert found.bindings["Z"] == answer
        assert found.probability == pytest.approx(text[answer], rel=1e-5)
        assert listed[found.answer] == pytest.approx(text[answer], rel=1e-5)
        assert found.certain and found.proof.check()


def digits(number: int, size: int) -> tuple[int, ...]:
    return tuple(int(d) for d in reversed(str(number).zfill(size)))


def test_subtraction() -> None:
    rows = drawn(4)
    model, (a, b, c, d) = asked("subtraction", rows)
    expected = enumerated(rows, lambda a, b, c, d: 10 * a + b - 10 * c - d)
    # Differences below 0 have no derivation: their mass is lost.
    kept = {str(list(digits(k, 2))): p for k, p in expected.items() if k >= 0}  # type: ignore
    query = dpl.goal("sub(X, Y, Z, 0)", X=[b, a], Y=[d, c])
    agrees(model, query, kept)  # type: ignore[arg-type]
    assert model.prob(query) == pytest.approx(sum(kept.values()), rel=1e-5)


def test_sum() -> None:
    rows = drawn(3)
    model, pictures = asked("sum", rows)
    query = dpl.goal("sum(X, 0, Z)", X=pictures)
    agrees(model, query, enumerated(rows, lambda *read: sum(read)))


@pytest.mark.parametrize(("k", "unfolding"), [(6, True), (20, False)])
def test_long_sums_are_convolutions(k: int, unfolding: bool) -> None:
    rows = drawn(k)
    expected = np.ones(1)
    for row in rows:
        expected = np.convolve(expected, row)
    model, pictures = asked("sum", rows)
    wanted = [k // 2, 4 * k, 9 * k] if unfolding else [4 * k]
    goals = [dpl.goal("sum(X, 0, Z)", X=pictures, Z=z) for z in wanted]
    compiled = model.compile(goals, unfolding=unfolding)
    assert model.log_prob(compiled).exp().tolist() == pytest.approx(expected[wanted], rel=1e-4)


@pytest.mark.parametrize("n", [1, 2])
def test_abc(n: int) -> None:
    rows = drawn(3 * n, classes=3)
    model, pictures = asked("abc", rows)
    want = tuple(letter for letter in range(3) for _ in range(n))
    expected = enumerated(rows, lambda *read: read == want)
    assert model.prob(dpl.goal("word(X, [])", X=pictures)) == pytest.approx(expected[True])
    if n == 2:
        assert model.prob(dpl.goal("word(X, [])", X=pictures[:4])) == 0.0


@pytest.mark.parametrize("text", ["A+B*C", "A*B-C", "(A+B)*C", "A-B-C", "A-(B-C)", "((A-B))"])
def test_expression(text: str) -> None:
    """Python's own precedence is the reference."""
    names = [c for c in text if c.isalpha()]
    rows = drawn(len(names), seed=len(text))
    model, pictures = asked("expression", rows)
    tokens = ", ".join(f"img({c})" if c.isalpha() else f"'{c}'" for c in text)
    query = dpl.goal(f"value([{tokens}], Z)", **dict(zip(names, pictures, strict=True)))
    code = compile(text, text, "eval")
    agrees(model, query, enumerated(rows, lambda *read: eval(code, dict(zip(names, read)))))  # noqa: B905


def test_comparison() -> None:
    rows = drawn(4)
    model, (a, b, c, d) = asked("comparison", rows)

    def order(a: int, b: int, c: int, d: int) -> str:
        return "<" if (a, b) < (c, d) else ">" if (a, b) > (c, d) else "="

    agrees(model, dpl.goal("order(X, Y, Z)", X=[a, b], Y=[c, d]), enumerated(rows, order))


def test_sorting() -> None:
    rows = drawn(3)
    model, pictures = asked("sorting", rows)
    query = dpl.goal("sorted(X, Z)", X=pictures)
    expected = enumerated(rows, lambda *read: str(sorted(read)))
    agrees(model, query, expected)


# Size, examples, epochs, initial weights, and what to reach: shares of test pictures and of test
# outcomes, close below the least of seeds 0 to 2. Chance is 0.1 for a picture, 0.33 for a letter.
LEARNED = {
    "subtraction": (2, 200, 12, 1, 0.78, 0.6),
    "abc": (3, 100, 8, 1, 0.95, 0.8),
    "expression": (2, 120, 16, 1, 0.68, 0.3),
    "comparison": (1, 2000, 5, 2, 0.58, 0.8),
    "sorting": (3, 60, 25, 1, 0.8, 0.45),
    "sum": (2, 200, 20, 1, 0.86, 0.7),
}


@pytest.mark.parametrize("name", LEARNED)
def test_learned_from_outcomes(name: str) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn brings the 8 × 8 digits")
    size, examples, epochs, tries, pictures, outcomes = LEARNED[name]
    found = gallery.run(
        name, size=size, examples=examples, epochs=epochs, tries=tries, warm=0, test=12
    )
    assert found.pictures_after > pictures, found
    assert found.outcomes_after >= outcomes, found


def test_reads_mnist(data_dir: Path) -> None:
    """The same task on MNIST's own pictures, briefly."""
    found = gallery.run("abc", size=2, examples=60, epochs=4, data="mnist", test=10)
    assert found.pictures_after > 0.7, found


def test_every_program_is_in_the_gallery() -> None:
    assert {path.stem for path in FOLDER.glob("*.pl")} == set(gallery.TASKS)
