"""LeNet, the classifier of digits: two convolutions with pooling, three linear layers.

>>> import torch
>>> net = lenet()
>>> sum(p.numel() for p in net.parameters()), tuple(net(torch.zeros(3, 1, 28, 28)).shape)
(44426, (3, 10))
"""

from __future__ import annotations

from torch import nn


def lenet() -> nn.Sequential:
    """Logits of the ten digits from pictures [batch, 1, 28, 28]."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(),
        nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, 10),
    )  # fmt: skip


def small_net() -> nn.Sequential:
    """Logits of the ten digits from pictures [batch, 1, 8, 8]."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 64), nn.ReLU(),
        nn.Linear(64, 10),
    )  # fmt: skip
