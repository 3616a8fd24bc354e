"""Kernels of a GPU against plain operations, run by Triton's interpreter where there is no GPU
(conftest.py).
"""

import pytest
import torch

pytest.importorskip("triton")

from cogmap.baselines import fused, networks
from cogmap.baselines.adam import Adam
from cogmap.baselines.networks import Perceptrons

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def by_kernels(monkeypatch):
    """Says whether kernels are to be used from now on."""
    return lambda use: monkeypatch.setattr(fused, "usable", lambda x: use)


def off(found, expected):
    return ((found - expected).norm() / expected.norm()).item()


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("batch, width", [(32, 32), (20, 24)])  # whole programs, and parts of one
@pytest.mark.parametrize("inputs, outputs", [(4, 1), (70, 12)])  # thin and wide at either end
def test_a_perceptron_of_kernels_is_a_plain_one(norm, batch, width, inputs, outputs, by_kernels):
    torch.manual_seed(0)
    net = Perceptrons(2, [inputs, width, width, width, outputs], norm=norm).to(DEVICE)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    x = torch.randn(2, batch, inputs, device=DEVICE, requires_grad=True)
    slope = torch.randn(2, batch, outputs, device=DEVICE)
    slopes = {}
    for use in (False, True):
        by_kernels(use)
        net.zero_grad()
        x.grad = None
        found = net(x)
        found.backward(slope)
        slopes[use] = {name: p.grad.clone() for name, p in net.named_parameters()}
        slopes[use] |= {"x": x.grad.clone(), "y": found.detach()}
    assert slopes[True]["y"].dtype == torch.float32
    assert off(slopes[True]["y"], slopes[False]["y"]) < 3e-3  # float16
    for name, expected in slopes[False].items():
        assert off(slopes[True][name], expected) < 0.03, name  # bfloat16
    with torch.no_grad():
        assert torch.equal(net(x), slopes[True]["y"])  # without a way back the same


def test_a_step_in_a_maze_is_not_rounded_away(by_kernels):
    """Near 50, float16 knows places to 0.03 only; what a first layer sees is exact."""
    torch.manual_seed(0)
    net = Perceptrons(1, [2, 64, 64, 64, 1], norm=True).to(DEVICE)
    here = torch.full((1, 8, 2), 50.0, device=DEVICE)
    there = here + 0.01
    moved = {}
    for use in (False, True):
        by_kernels(use)
        places = torch.cat([here, there], dim=1).requires_grad_()
        y = net(places)
        y.sum().backward()
        moved[use] = places.grad
    assert off(moved[True], moved[False]) < 0.03


def test_unions_of_intervals_by_kernels_have_the_lengths_and_slopes_of_sorted_ones(by_kernels):
    torch.manual_seed(0)
    x, y = torch.randn(2, 40, 6, 8, device=DEVICE)
    x[0], y[0] = 0.0, y[0].abs() + 0.1  # all begin as one
    x[1] = y[1]  # all are empty
    slope = torch.randn(40, 6, device=DEVICE)
    found = {}
    for use in (False, True):
        by_kernels(use)
        low, high = x.clone().requires_grad_(), y.clone().requires_grad_()
        length = networks.iqe(low, high)
        length.backward(slope)
        found[use] = length.detach(), low.grad, high.grad
    torch.testing.assert_close(found[True][0], found[False][0])
    for plain, ours in zip(found[False][1:], found[True][1:]):
        torch.testing.assert_close(ours[2:], plain[2:])
        torch.testing.assert_close(ours[0].sum(-1), plain[0].sum(-1))  # any one may have the slope
    assert not found[True][0][1].any() and not found[True][1][1].any()


def test_adam_of_kernels_is_adamw():
    torch.manual_seed(0)
    sizes = [(3000,), (7, 5), ()]
    plain = [torch.nn.Parameter(torch.randn(size, device=DEVICE)) for size in sizes]
    ours = [torch.nn.Parameter(p.detach().clone()) for p in plain]

    def groups(p):
        rates = [torch.tensor(rate, device=DEVICE) for rate in (0.01, 0.003)]
        decayed = {"params": p[:2], "lr": rates[0], "weight_decay": 0.1}
        return [decayed, {"params": p[2:], "lr": rates[1], "weight_decay": 0.0}]

    first, second = (
        torch.optim.AdamW(groups(plain), capturable=DEVICE == "cuda"),
        Adam(groups(ours)),
    )
    for step in range(6):
        if step == 3:  # what one saves the other goes on from
            saved = second.state_dict()
            second = Adam(groups(ours))
            second.load_state_dict(saved)
        for p, q in zip(plain, ours):
            p.grad = torch.randn_like(p)
            part = torch.empty(p.numel() + 1, device=DEVICE)[1:].view_as(p)  # not at 16 bytes
            q.grad = part.copy_(p.grad) if step == 1 else p.grad.clone()
        first.step()
        second.step()
        for layout in second._layouts.values():
            assert not (layout._host % 16).any()
        for p, q in zip(plain, ours):
            torch.testing.assert_close(q, p)
