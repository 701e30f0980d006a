"""The addition program with a network: its probabilities, what it learns, what it refuses."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.errors import ModelError
from deepprooflog.learn.run.minibatch import descend
from deepprooflog.recipes.addition.task import lenet, program
from recipes.small import train_small

IMAGE = torch.zeros(1, 28, 28)


def images(count: int, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return list(torch.rand(count, 1, 28, 28, generator=generator))


def model(network: torch.nn.Module | None = None) -> dpl.Model:
    torch.manual_seed(0)
    return dpl.Model(program(), networks={"lenet": lenet() if network is None else network})


def add(x: list[torch.Tensor], y: list[torch.Tensor], z: list[int]) -> dpl.Query:
    return dpl.goal("add(X, Y, Z, 0)", X=x, Y=y, Z=z)


def test_lenet_is_the_papers() -> None:
    """conv 6@5×5, conv 16@5×5, 120, 84, 10: 156 + 2,416 + 30,840 + 10,164 + 850 parameters."""
    assert sum(p.numel() for p in lenet().parameters()) == 156 + 2416 + 30840 + 10164 + 850


def test_probabilities_by_enumeration() -> None:
    """Every sum of two two-digit numbers, against the 10,000 ways of reading four pictures."""
    net = model()
    pictures = images(4)
    x, y = pictures[:2], pictures[2:]
    with torch.no_grad():
        logits = net.networks["lenet"].module(torch.stack(pictures))  # type: ignore[operator]
    p = torch.softmax(logits.double(), 1).tolist()
    ways: list[list[float]] = [[] for _ in range(199)]
    for a0, a1, b0, b1 in itertools.product(range(10), repeat=4):
        ways[10 * (a1 + b1) + a0 + b0].append(p[0][a0] * p[1][a1] * p[2][b0] * p[3][b1])
    expected = torch.tensor([math.fsum(w) for w in ways], dtype=torch.float64)
    sums = [add(x, y, [int(c) for c in reversed(f"{t:02d}")]) for t in range(199)]
    with torch.no_grad():
        got = net.log_prob(sums).exp()
    torch.testing.assert_close(got, expected)
    assert float(got.sum()) == pytest.approx(1.0)


def test_learns_to_read_from_sums(tmp_path: Path) -> None:
    result = train_small(tmp_path / "run", sums=0, epochs=12, batch=16, augment="none")
    assert float(str(result["digit_accuracy"])) > 0.8


def test_policy_gradient_learns_too(tmp_path: Path) -> None:
    result = train_small(
        tmp_path / "run", sums=0, epochs=12, batch=16, augment="none", method="pg", particles=16
    )
    assert float(str(result["digit_accuracy"])) > 0.7


def test_learns_mnist(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 sums of two numbers of four digits each, two passes: far from chance already."""
    from deepprooflog.recipes.addition.run import train

    monkeypatch.setenv("DEEPPROOFLOG_DATA", str(data_dir))
    given = {
        "n": 4, "sums": 600, "epochs": 3, "batch": 8, "lr": 0.004, "augment": "none",
        "average": 0.9,
    }  # fmt: skip
    result = train("mnist-addition", given, tmp_path / "run", progress=False)
    assert result["test_sums"] == 1250
    assert float(str(result["digit_accuracy"])) > 0.8


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("z", [[1, 1, 1, 1], [1], [1, 1, 2], [], [1, 12]])
def test_a_sum_that_no_digits_have(z: list[int]) -> None:
    """Two digits and two digits: 1111, 1, 211, nothing and no digit are not their sum."""
    x, y = images(2), images(2, seed=1)
    assert model().log_prob([add(x, y, z)]).tolist() == [-math.inf]


def test_lists_of_different_lengths() -> None:
    assert model().log_prob([add(images(1), images(2), [1, 1])]).tolist() == [-math.inf]


def test_an_impossible_sum_in_a_batch_is_refused_before_the_weights_move() -> None:
    net = model()
    compiled = net.compile(
        [add(images(1), images(1, 1), [3]), add(images(1), images(1, 1), [9, 9])]
    )
    before = [p.clone() for p in net.parameters()]
    optimizer = torch.optim.Adam(net.parameters())
    with pytest.raises(ModelError, match=r"no derivation proves add\(.*\[9,9\],0\): log p = −inf"):
        descend(
            lambda which: -net.log_prob(compiled, select=which),
            torch.arange(2), optimizer, compiled.describe,
        )  # fmt: skip
    assert all(torch.equal(p, b) for p, b in zip(net.parameters(), before, strict=True))


def test_an_image_of_the_wrong_shape() -> None:
    wrong = torch.zeros(1, 20, 20)
    with pytest.raises(ModelError, match=r"lenet failed on inputs of shape \[2, 1, 20, 20\]"):
        model().log_prob([add([wrong], [wrong.clone()], [3])])


def test_images_of_different_shapes() -> None:
    with pytest.raises(ModelError, match="different shapes"):
        model().log_prob([add([IMAGE], [torch.zeros(1, 20, 20)], [3])])


def test_no_image_at_all() -> None:
    with pytest.raises(ModelError, match="not a tensor"):
        model().log_prob(["add([3], [4], [7], 0)"])


class Fixed(torch.nn.Module):
    """Returns the same row for every picture."""

    def __init__(self, row: list[float]) -> None:
        super().__init__()
        self.row = torch.nn.Parameter(torch.tensor(row))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.row.expand(len(x), -1)


def fixed(row: list[float], outputs: str = "logits") -> dpl.Model:
    return model(dpl.Network(Fixed(row), outputs=outputs))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "outputs", "message"),
    [
        ([0.0] * 9, "logits", r"returned \[2, 9\] for 2 inputs"),
        ([0.0] * 9 + [math.nan], "logits", "returned NaN"),
        ([0.0] * 9 + [math.inf], "logits", "infinite logits"),
        ([0.2] * 10, "probabilities", "sum to 2, not 1"),
        ([-0.1] + [0.122222] * 9, "probabilities", "negative probability"),
        ([-1.0] * 10, "log_probabilities", "not 1"),
        ([math.nan] * 10, "probabilities", "NaN"),
    ],
)
def test_a_network_at_fault(row: list[float], outputs: str, message: str) -> None:
    net = fixed(row, outputs)
    with pytest.raises(ModelError, match=message):
        net.log_prob([add([IMAGE], [IMAGE.clone()], [3])])


def test_a_nan_that_appears_in_training_stops_it() -> None:
    """A gradient that overflows is refused, and the weights stay as they were."""
    net = fixed([0.0] * 10)
    compiled = net.compile([add([IMAGE], [IMAGE.clone()], [3])])
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)

    def overflowing(which: torch.Tensor) -> torch.Tensor:
        log_p = net.log_prob(compiled, select=which)
        return torch.sqrt(log_p - log_p.detach()) - log_p

    before = [p.clone() for p in net.parameters()]
    with pytest.raises(ModelError, match="gradient is not finite"):
        descend(overflowing, torch.arange(1), optimizer, compiled.describe)
    assert all(torch.equal(p, b) for p, b in zip(net.parameters(), before, strict=True))


def test_distortion_grows_over_the_first_part_of_a_run() -> None:
    """Nothing at the start, half at half the ramp, all from its end on."""
    from deepprooflog.recipes.addition.options import AdditionOptions, AugmentOptions
    from deepprooflog.recipes.addition.task import classifier, distort

    options = AdditionOptions(augment=AugmentOptions(kind="affine", ramp=0.2))
    net = model(classifier(options, (28, 28)))
    layer = net.networks["lenet"].module[0]  # type: ignore[index]
    pictures = torch.stack(images(2))
    distort(net, options, 0.0)
    torch.testing.assert_close(layer(pictures), pictures, atol=1e-5, rtol=0)  # type: ignore[operator]
    for share, expected in ((0.1, 0.5), (0.2, 1.0), (0.9, 1.0)):
        distort(net, options, share)
        assert layer.share.item() == expected  # type: ignore[union-attr]
    assert not torch.allclose(layer(pictures), pictures, atol=1e-2)  # type: ignore[operator]
