"""Distortions against what they must do to a picture that can be followed by eye."""

from __future__ import annotations

import pytest
import torch

from deepprooflog.learn.augment import CONTROL, Distort


def dot(row: int, column: int, size: int = 9) -> torch.Tensor:
    picture = torch.zeros(1, 1, size, size)
    picture[0, 0, row, column] = 1.0
    return picture


def centre(pictures: torch.Tensor) -> torch.Tensor:
    """The centre of mass of each picture: row, column."""
    mass = pictures[:, 0]
    total = mass.sum((1, 2))
    axis = torch.arange(mass.shape[1], dtype=mass.dtype)
    return (
        torch.stack([(mass.sum(2) * axis).sum(1), (mass.sum(1) * axis).sum(1)], 1) / total[:, None]
    )


def only(**amount: float) -> Distort:
    return Distort(**{**dict.fromkeys(("rotation", "scale", "shift", "shear"), 0.0), **amount})


def test_nothing_happens_in_evaluation() -> None:
    x = torch.rand(3, 1, 9, 9)
    assert Distort().eval()(x) is x


def test_a_shift_moves_by_at_most_its_share() -> None:
    """A tenth of nine pixels, either way; all directions are met."""
    torch.manual_seed(0)
    moved = centre(only(shift=0.1)(dot(4, 4).expand(500, 1, 9, 9))) - 4
    assert float(moved.abs().max()) <= 0.9 + 1e-4
    assert float(moved.max()) > 0.8
    assert float(moved.min()) < -0.8


def test_a_rotation_keeps_the_distance_from_the_middle() -> None:
    torch.manual_seed(0)
    turned = centre(only(rotation=90.0)(dot(4, 7).expand(300, 1, 9, 9))) - 4
    assert float((turned.norm(dim=1) - 3).abs().max()) < 0.25
    assert float(turned[:, 0].min()) < -2.5
    assert float(turned[:, 0].max()) > 2.5


def test_the_middle_stays_under_scale_and_shear() -> None:
    torch.manual_seed(0)
    for layer in (only(scale=0.3), only(shear=0.5), only(rotation=45.0)):
        kept = centre(layer(dot(4, 4).expand(50, 1, 9, 9)))
        assert float((kept - 4).abs().max()) < 1e-3


def test_background_comes_in_from_outside() -> None:
    """A picture of one value stays it, whatever the distortion: the border goes on outside."""
    torch.manual_seed(0)
    grey = torch.full((20, 1, 9, 9), -0.42)
    assert float((Distort(90, 0.5, 0.5, 0.5)(grey) + 0.42).abs().max()) < 1e-5


def test_each_picture_has_its_own_draw() -> None:
    torch.manual_seed(0)
    out = Distort()(torch.rand(1, 1, 9, 9).expand(2, 1, 9, 9))
    assert not torch.equal(out[0], out[1])


def test_the_elastic_field_bends() -> None:
    """Points move by their own amounts, of the standard deviation asked for on average."""
    torch.manual_seed(0)
    layer = only(elastic=0.05)
    field = layer._field(torch.zeros(400, 1, 28, 28))
    assert field.shape == (400, 28, 28, 2)
    corners = field[:, [0, 0, -1, -1], [0, -1, 0, -1]]
    assert float(corners.std()) == pytest.approx(0.1, rel=0.1)
    straight = (field[:, 0, 0] + field[:, 0, -1]) / 2
    assert float((field[:, 0, 13] - straight).abs().mean()) > 0.02
    near = (field[:, 1:] - field[:, :-1]).abs().mean()
    assert float(near) < 0.25 * float(field.abs().mean())


def test_the_elastic_field_grows_with_the_share() -> None:
    layer = only(elastic=0.05)
    layer.grow(0.0)
    x = torch.rand(3, 1, 9, 9)
    assert torch.allclose(layer(x), x, atol=1e-6)


def test_the_field_is_bicubic() -> None:
    """The same points interpolated by torch, on pictures that are not square."""
    layer = only(elastic=0.05)
    torch.manual_seed(0)
    field = layer._field(torch.zeros(3, 1, 28, 17))
    torch.manual_seed(0)
    points = 0.1 * torch.randn(3, 2, CONTROL, CONTROL)
    expected = torch.nn.functional.interpolate(
        points, (28, 17), mode="bicubic", align_corners=True
    ).permute(0, 2, 3, 1)
    torch.testing.assert_close(field, expected, rtol=1e-5, atol=1e-6)
