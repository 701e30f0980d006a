"""Random distortions of images, as a layer that is active in training only.

    x'(u) = x(A u + t + d(u)),    A = rotation · shear · scale,  t a shift,  d a smooth random field

One grid and one interpolation a batch, on the device the images are on. Put in front of a network,
it distorts what each minibatch reads, so that no epoch sees the same images:

>>> import torch
>>> layer = Distort(shift=0.0, rotation=0.0, scale=0.0, shear=0.0)
>>> x = torch.rand(2, 1, 5, 5)
>>> bool(torch.allclose(layer(x), x, atol=1e-6)), layer.eval()(x) is x
(True, True)
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# Points a side at which the elastic field is drawn; in between it is interpolated.
CONTROL = 5


class Distort(nn.Module):
    """Distorts each image by its own draws: affine, and elastic (Simard et al. 2003) if asked for.

    The four affine amounts are drawn uniformly within ± what is given; `elastic` is the standard
    deviation of the field.
    """

    def __init__(
        self,
        rotation: float = 15.0,
        scale: float = 0.15,
        shift: float = 0.1,
        shear: float = 0.2,
        elastic: float = 0.0,
    ) -> None:
        """`rotation` is in degrees, `shift` and `elastic` shares of the image's size.

        `grow` scales them all: training may begin with less.
        """
        super().__init__()
        amounts = torch.tensor([math.radians(rotation), scale, shear, 2 * shift, 2 * shift])
        self.register_buffer("amounts", amounts, persistent=False)
        self.elastic = 2 * elastic
        # A tensor, changed in place: a captured step reads it anew each time.
        self.register_buffer("share", torch.ones(()), persistent=False)

    def grow(self, share: float) -> None:
        """Distort by this share of the amounts from here on."""
        self.get_buffer("share").fill_(share)

    def forward(
        self, images: Float[Tensor, "images channels height width"]
    ) -> Float[Tensor, "images channels height width"]:
        """Distorted images in training, the images themselves in evaluation."""
        if not self.training:
            return images
        matrices = self._draw(len(images)).to(images.dtype)
        grid = nn.functional.affine_grid(matrices, list(images.shape), align_corners=False)
        if self.elastic:
            grid = grid + self._field(images).to(images.dtype)
        # What comes in from outside is background, as the border is.
        return nn.functional.grid_sample(
            images, grid, mode="bilinear", padding_mode="border", align_corners=False
        )

    def _draw(self, count: int) -> Float[Tensor, "images 2 3"]:
        amounts = self.get_buffer("amounts") * self.get_buffer("share")
        draws = (2 * torch.rand(count, 5, device=amounts.device) - 1) * amounts
        angle, scale, shear, right, down = draws.unbind(1)
        cosine, sine, size = angle.cos(), angle.sin(), 1 + scale
        rows = [
            size * cosine, size * (shear * cosine - sine), right,
            size * sine, size * (shear * sine + cosine), down,
        ]  # fmt: skip
        return torch.stack(rows, dim=1).view(count, 2, 3)

    def _field(
        self, images: Float[Tensor, "images channels height width"]
    ) -> Float[Tensor, "images height width 2"]:
        share = self.get_buffer("share")
        points = torch.randn(len(images), 2, CONTROL, CONTROL, device=share.device)
        down, across = (spline(size, share.device) for size in images.shape[2:])
        return torch.einsum("ip,nkpq,jq->nijk", down, points * (self.elastic * share), across)


def spline(size: int, device: torch.device) -> Float[Tensor, "size control"]:
    """What each control point adds to each of `size` pixels, along one axis: cubic interpolation.

    Bicubic interpolation is a product with one such matrix on either side, which a GPU does many
    times faster than picture by picture.
    """
    points = torch.eye(CONTROL, device=device).view(1, CONTROL, CONTROL, 1)
    weights = nn.functional.interpolate(points, (size, 1), mode="bicubic", align_corners=True)
    return weights[0, :, :, 0].T
