"""What lies between two products of a perceptron, as one kernel each way (Triton).

Forwards: bias, GELU, LayerNorm. Backwards: the slopes of all three, and what is summed over rows.
Inductor keeps intermediate numbers in memory where these recompute them from what comes in, which
matters: such networks move more bytes than they do arithmetic. Shape letters: N networks, B rows,
W units; a program handles a few whole rows.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS = 8  # of a program
ROWS_BACK, TILES = 4, 4  # on the way back: of a tile, and tiles of a program, which sums over them
WARPS = 8
GROUPS = 128  # of intervals, of a program
EPS = tl.constexpr(1e-6)


@triton.jit
def _gelu_and_slope(u):
    """Of the tanh form, which is u times a sigmoid."""
    inner = 1.5957691216057308 * (u + 0.044715 * u * u * u)
    share = tl.sigmoid(inner)
    slope = share + u * share * (1 - share) * 1.5957691216057308 * (1 + 0.134145 * u * u)
    return u * share, slope


@triton.jit
def _before(
    z, x, weight, bias, net, rows, cols, inside, B, W,
    INPUTS: tl.constexpr, WIDE: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """The linear layer's numbers: as they come, or of few inputs made here, exactly. (R, WIDE)"""
    found = tl.zeros((R, WIDE), dtype=tl.float32)
    if INPUTS > 0:
        for n in range(INPUTS):
            told = tl.load(x + (net * B + rows) * INPUTS + n, mask=rows < B, other=0.0)
            row = tl.load(weight + (net * INPUTS + n) * W + cols, mask=cols < W, other=0.0)
            found += told[:, None] * row[None, :]
    else:
        at = (net * B + rows)[:, None] * W + cols[None, :]
        found += tl.load(z + at, mask=inside, other=0.0).to(tl.float32)
    return found + tl.load(bias + net * W + cols, mask=cols < W, other=0.0)[None, :]


@triton.jit
def _forward(
    z, x, weight, bias, gain, shift, y, y_back, mean, scale, B, W,
    INPUTS: tl.constexpr, WIDE: tl.constexpr, NORM: tl.constexpr, BACK: tl.constexpr,
    R: tl.constexpr,
):  # fmt: skip
    net = tl.program_id(1).to(tl.int64)
    rows, cols = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, WIDE)
    inside = (rows < B)[:, None] & (cols < W)[None, :]
    u = _before(z, x, weight, bias, net, rows, cols, inside, B, W, INPUTS, WIDE, R)
    h, _ = _gelu_and_slope(u)
    if NORM:
        h = tl.where(inside, h, 0.0)
        middle = tl.sum(h, 1) / W
        one = tl.rsqrt(tl.sum(h * h, 1) / W - middle * middle + EPS)
        if BACK:
            tl.store(mean + net * B + rows, middle, mask=rows < B)
            tl.store(scale + net * B + rows, one, mask=rows < B)
        g = tl.load(gain + net * W + cols, mask=cols < W, other=0.0)
        s = tl.load(shift + net * W + cols, mask=cols < W, other=0.0)
        h = (h - middle[:, None]) * one[:, None] * g[None, :] + s[None, :]
    at = (net * B + rows)[:, None] * W + cols[None, :]
    tl.store(y + at, h.to(tl.float16), mask=inside)
    if BACK:
        tl.store(y_back + at, h.to(tl.bfloat16), mask=inside)


@triton.jit
def _backward(
    z, x, weight, bias, gain, mean, scale, y_slope, z_slope, sums, B, W,
    INPUTS: tl.constexpr, WIDE: tl.constexpr, NORM: tl.constexpr,
    R: tl.constexpr, T: tl.constexpr,
):  # fmt: skip
    net, cols = tl.program_id(1).to(tl.int64), tl.arange(0, WIDE)
    of_bias = tl.zeros((R, WIDE), dtype=tl.float32)
    of_gain = tl.zeros((R, WIDE), dtype=tl.float32)
    of_shift = tl.zeros((R, WIDE), dtype=tl.float32)
    for t in range(T):
        rows = (tl.program_id(0) * T + t) * R + tl.arange(0, R)
        inside = (rows < B)[:, None] & (cols < W)[None, :]
        at = (net * B + rows)[:, None] * W + cols[None, :]
        slope = tl.load(y_slope + at, mask=inside, other=0.0).to(tl.float32)
        u = _before(z, x, weight, bias, net, rows, cols, inside, B, W, INPUTS, WIDE, R)
        h, of_gelu = _gelu_and_slope(u)
        if NORM:
            middle = tl.load(mean + net * B + rows, mask=rows < B, other=0.0)
            one = tl.load(scale + net * B + rows, mask=rows < B, other=0.0)
            g = tl.load(gain + net * W + cols, mask=cols < W, other=0.0)
            normed = tl.where(inside, (h - middle[:, None]) * one[:, None], 0.0)
            of_gain += slope * normed
            of_shift += slope
            slope = slope * g[None, :]
            along = tl.sum(slope * normed, 1) / W
            level = tl.sum(slope, 1) / W
            slope = (slope - level[:, None] - normed * along[:, None]) * one[:, None]
        slope = tl.where(inside, slope * of_gelu, 0.0)
        of_bias += slope
        tl.store(z_slope + at, slope.to(tl.bfloat16), mask=inside)
    blocks, nets = tl.num_programs(0), tl.num_programs(1)
    to = sums + (net * blocks + tl.program_id(0)) * W + cols
    tl.store(to, tl.sum(of_bias, 0), mask=cols < W)
    if NORM:
        tl.store(to + nets * blocks * W, tl.sum(of_gain, 0), mask=cols < W)
        tl.store(to + 2 * nets * blocks * W, tl.sum(of_shift, 0), mask=cols < W)


@triton.jit
def _union(x, y, length, begins, ends, M, N: tl.constexpr, MANY: tl.constexpr):
    group, i = tl.program_id(0) * MANY + tl.arange(0, MANY), tl.arange(0, N)
    inside = (group < M)[:, None]
    at = group[:, None].to(tl.int64) * N + i[None, :]
    low, high = tl.load(x + at, mask=inside, other=0.0), tl.load(y + at, mask=inside, other=0.0)
    begin = high > low
    end = begin
    for j in tl.static_range(N):
        from_j = tl.load(x + group.to(tl.int64) * N + j, mask=group < M, other=0.0)[:, None]
        to_j = tl.load(y + group.to(tl.int64) * N + j, mask=group < M, other=0.0)[:, None]
        first = (j < i)[None, :]
        is_one = to_j > from_j
        covers = (to_j >= low) & ((from_j < low) | ((from_j == low) & first))
        begin = begin & ~(is_one & covers)
        covers = (from_j <= high) & ((to_j > high) | ((to_j == high) & first))
        end = end & ~(is_one & covers)
    found = tl.sum(tl.where(end, high, 0.0) - tl.where(begin, low, 0.0), 1)
    tl.store(length + group, found, mask=group < M)
    tl.store(begins + at, begin, mask=inside)
    tl.store(ends + at, end, mask=inside)


def forward(
    z: Tensor | None, x: Tensor, weight: Tensor, bias: Tensor, gain: Tensor, shift: Tensor,
    norm: bool, back: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """What the next product takes; and for the way back the same in bfloat16, and each row's mean
    and scale. From z (N, B, W), or where it is None from x (N, B, n) and weight (N, n, W).
    """
    outputs = outputs_of(x, bias, back)
    y, y_back, mean, scale = outputs
    nets, many, width = y.shape
    _forward[(triton.cdiv(many, ROWS), nets)](
        x if z is None else z, x, weight, bias, gain, shift, y, y_back, mean, scale, many, width,
        INPUTS=x.shape[-1] if z is None else 0, WIDE=triton.next_power_of_2(width), NORM=norm,
        BACK=back, R=ROWS, num_warps=WARPS,
    )  # fmt: skip
    return outputs


def outputs_of(x: Tensor, bias: Tensor, back: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Memory for what `forward` makes; what only the way back asks for is left out where none is."""
    (nets, many), width = x.shape[:2], bias.shape[-1]
    rows = (nets, many) if back else (0, 0)
    mean = x.new_empty(rows, dtype=torch.float32)
    return (
        x.new_empty(nets, many, width, dtype=torch.float16),
        x.new_empty(*rows, width, dtype=torch.bfloat16),
        mean,
        torch.empty_like(mean),
    )


def backward(
    z: Tensor | None, x: Tensor, weight: Tensor, bias: Tensor, gain: Tensor, mean: Tensor,
    scale: Tensor, y_slope: Tensor, norm: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Slopes of z in bfloat16, and by blocks of rows of bias, gain and shift (3, N, blocks, W).

    Without LayerNorm the last two are not written.
    """
    z_slope, sums = slopes_of(y_slope)
    nets, many, width = y_slope.shape
    _backward[(sums.shape[2], nets)](
        x if z is None else z, x, weight, bias, gain, mean, scale, y_slope, z_slope, sums, many,
        width, INPUTS=x.shape[-1] if z is None else 0, WIDE=triton.next_power_of_2(width),
        NORM=norm, R=ROWS_BACK, T=TILES, num_warps=WARPS,
    )  # fmt: skip
    return z_slope, sums


def slopes_of(y_slope: Tensor) -> tuple[Tensor, Tensor]:
    """Memory for what `backward` makes."""
    nets, many, width = y_slope.shape
    blocks = -(-many // (ROWS_BACK * TILES))
    sums = y_slope.new_empty(3, nets, blocks, width, dtype=torch.float32)
    return y_slope.new_empty(y_slope.shape, dtype=torch.bfloat16), sums


def union(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Length of the union of intervals, and which of them begin and end a piece of it.

    (..., n) x 2 -> (...), (..., n), (..., n)
    """
    length = x.new_empty(x.shape[:-1])
    begins = torch.empty_like(x, dtype=torch.bool)
    ends = torch.empty_like(begins)
    many = length.numel()
    _union[(triton.cdiv(many, GROUPS),)](
        x, y, length, begins, ends, many, N=x.shape[-1], MANY=GROUPS
    )
    return length, begins, ends
