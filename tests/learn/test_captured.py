"""Captured steps on a GPU against the same steps taken one by one, and what a bad one leaves."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.learn.run.minibatch import CapturedStep, _step_if


def setting(clip: float) -> tuple[nn.Linear, Tensor, torch.optim.AdamW, CapturedStep]:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    torch.manual_seed(0)
    net = nn.Linear(3, 1).cuda()
    inputs = torch.randn(64, 3, device="cuda")
    lr = torch.tensor(0.05, device="cuda")
    optimizer = torch.optim.AdamW(net.parameters(), lr=lr, fused=True, capturable=True)
    step = CapturedStep(lambda i: (net(inputs[i])[:, 0] - 7).square(), optimizer, 4, clip)
    return net, inputs, optimizer, step


@pytest.mark.parametrize("clip", [0.0, 0.5])
def test_captured_steps_are_plain_steps(clip: float) -> None:
    net, inputs, _, step = setting(clip)
    plain = nn.Linear(3, 1)
    plain.load_state_dict({k: v.cpu() for k, v in net.state_dict().items()})
    other = torch.optim.AdamW(plain.parameters(), lr=0.05)
    total = 0.0
    for k in range(12):
        batch = torch.arange(4 * k, 4 * k + 4)
        step(batch)
        other.zero_grad()
        loss = (plain(inputs.cpu()[batch])[:, 0] - 7).square().mean()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(plain.parameters(), clip)
        other.step()
        total += float(loss)
    assert step.check() == pytest.approx(total, rel=1e-5)
    torch.testing.assert_close(net.weight.detach().cpu(), plain.weight.detach(), rtol=1e-4, atol=0)


def test_a_step_that_is_not_finite_leaves_the_weights_alone() -> None:
    net, inputs, _, step = setting(0.0)
    inputs[60:] = float("nan")
    for k in range(8):
        step(torch.arange(4 * k, 4 * k + 4))
    before = [p.detach().clone() for p in net.parameters()]
    step(torch.arange(60, 64))
    after = [p.detach().clone() for p in net.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    with pytest.raises(ModelError, match="1 steps had a loss or a gradient that is not finite"):
        step.check()


def test_a_fused_optimizer_is_told_what_to_leave_alone() -> None:
    """On any device: a bad gradient changes neither weights nor moments, a scale divides."""
    weight, plain = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    optimizer = torch.optim.AdamW([weight], lr=0.1, fused=True)
    other = torch.optim.AdamW([plain], lr=0.1)
    gradients = [torch.tensor([1.0, -2.0, 3.0]), torch.tensor([0.5, 4.0, -1.0])]
    for gradient in gradients:
        weight.grad, plain.grad = 8 * gradient, gradient
        _step_if(optimizer, torch.tensor(True), torch.tensor(8.0))
        other.step()
        before = weight.detach().clone()
        weight.grad = torch.full((3,), torch.nan)
        _step_if(optimizer, torch.tensor(False), None)
        assert torch.equal(weight.detach(), before)
    torch.testing.assert_close(weight.detach(), plain.detach())
    weight.grad, plain.grad = gradients[0].clone(), gradients[0].clone()
    optimizer.step()
    other.step()
    torch.testing.assert_close(weight.detach(), plain.detach())
