"""Kernels of a GPU (Triton): what lies between two products of a perceptron, unions of intervals,
AdamW.

Between two products, forwards: bias, GELU, LayerNorm; backwards: the slopes of all three, and what
is summed over rows. Inductor keeps intermediate numbers in memory where these recompute them from
what comes in, which matters: such networks move more bytes than they do arithmetic. Shape letters:
N networks, B rows, W units; a program handles a few whole rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

# Rows that a program works on at once, and its warps: the fastest of those tried on an H200 with
# such blocks. Weights of a first layer are read once for all of its rows.
FORWARD, BACKWARD, BACKWARD_FIRST = (4, 4), (1, 4), (4, 4)
BLOCK = 16  # rows of a program on the way back, which sums over them
GROUPS = 128  # of intervals, of a program
NUMBERS = 1024  # of parameters, of a program
EPS = tl.constexpr(1e-6)


@triton.jit
def _gelu_and_slope(u):
    """Of the tanh form, which is u times a sigmoid."""
    square = u * u
    # exp(-2 sqrt(2 / pi) (u + 0.044715 u^3)), as a power of 2
    share = 1.0 / (1.0 + tl.exp2(u * (-2.302208198 - 0.1029432397 * square)))
    slope = share + u * share * (1.0 - share) * (1.595769122 + 0.2140644488 * square)
    return u * share, slope


@triton.jit
def _linear(z, x, weight, bias, rows, cols, B, W, INPUTS: tl.constexpr, EVEN: tl.constexpr):
    """The linear layer's numbers: as z has them, or of few inputs made here, exactly. (R, WIDE)"""
    if EVEN:
        found = tl.load(bias + cols)[None, :]
    else:
        found = tl.load(bias + cols, mask=cols < W, other=0.0)[None, :]
    if INPUTS == 0:
        return found + z.to(tl.float32)
    found = found + tl.zeros((rows.shape[0], cols.shape[0]), dtype=tl.float32)
    for n in range(INPUTS):
        told = tl.load(x + rows * INPUTS + n, mask=rows < B, other=0.0)
        found += told[:, None] * tl.load(weight + n * W + cols, mask=cols < W, other=0.0)[None, :]
    return found


@triton.jit
def _tile(numbers, first, cols, B, W, EVEN: tl.constexpr, R: tl.constexpr):
    """R rows, as they lie there."""
    rows = first + tl.arange(0, R)
    at, inside = rows[:, None] * W + cols[None, :], (rows < B)[:, None] & (cols < W)[None, :]
    return _read(numbers + at, inside, EVEN)


@triton.jit
def _read(pointers, inside, EVEN: tl.constexpr):
    if EVEN:
        return tl.load(pointers)
    return tl.load(pointers, mask=inside, other=0.0)


@triton.jit
def _write(pointers, numbers, inside, EVEN: tl.constexpr):
    if EVEN:
        tl.store(pointers, numbers)
    else:
        tl.store(pointers, numbers, mask=inside)


@triton.jit
def _forward(
    z, x, weight, bias, gain, shift, y, y_back, mean, scale, B, W,
    INPUTS: tl.constexpr, WIDE: tl.constexpr, NORM: tl.constexpr, BACK: tl.constexpr,
    EVEN: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    net = tl.program_id(1).to(tl.int64)
    rows, cols = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, WIDE)
    at, inside = rows[:, None] * W + cols[None, :], (rows < B)[:, None] & (cols < W)[None, :]
    whole = net * B * W  # numbers of the networks before this one
    x, weight, bias = x + net * B * INPUTS, weight + net * INPUTS * W, bias + net * W
    found = z
    if INPUTS == 0:
        found = _read(z + whole + at, inside, EVEN)
    u = _linear(found, x, weight, bias, rows, cols, B, W, INPUTS, EVEN)
    h, _ = _gelu_and_slope(u)
    if NORM:
        if not EVEN:
            h = tl.where(inside, h, 0.0)
        middle = tl.sum(h, 1) / W
        one = tl.rsqrt(tl.sum(h * h, 1) / W - middle * middle + EPS)
        if BACK:
            tl.store(mean + net * B + rows, middle, mask=rows < B)
            tl.store(scale + net * B + rows, one, mask=rows < B)
        g = tl.load(gain + net * W + cols, mask=cols < W, other=0.0)
        s = tl.load(shift + net * W + cols, mask=cols < W, other=0.0)
        h = (h - middle[:, None]) * one[:, None] * g[None, :] + s[None, :]
    _write(y + whole + at, h.to(tl.float16), inside, EVEN)
    if BACK:
        _write(y_back + whole + at, h.to(tl.bfloat16), inside, EVEN)


@triton.jit
def _backward(
    z, x, weight, bias, gain, mean, scale, y_slope, z_slope, sums, B, W,
    INPUTS: tl.constexpr, WIDE: tl.constexpr, NORM: tl.constexpr, EVEN: tl.constexpr,
    R: tl.constexpr, T: tl.constexpr,
):  # fmt: skip
    net, cols = tl.program_id(1).to(tl.int64), tl.arange(0, WIDE)
    whole = net * B * W
    x, weight, bias = x + net * B * INPUTS, weight + net * INPUTS * W, bias + net * W
    of_bias = tl.zeros((R, WIDE), dtype=tl.float32)
    of_gain = tl.zeros((R, WIDE), dtype=tl.float32)
    of_shift = tl.zeros((R, WIDE), dtype=tl.float32)
    g = tl.load(gain + net * W + cols, mask=cols < W, other=0.0)[None, :]
    first = tl.program_id(0) * T * R
    z_next = _tile(z + whole, first, cols, B, W, EVEN, R)
    slope_next = _tile(y_slope + whole, first, cols, B, W, EVEN, R)
    for t in range(T):
        rows = first + t * R + tl.arange(0, R)
        at, inside = rows[:, None] * W + cols[None, :], (rows < B)[:, None] & (cols < W)[None, :]
        found, slope = z_next, slope_next.to(tl.float32)
        # The next tile is on its way while this one is worked on; after the last, itself again.
        ahead = first + tl.minimum(t + 1, T - 1) * R
        z_next = _tile(z + whole, ahead, cols, B, W, EVEN, R)
        slope_next = _tile(y_slope + whole, ahead, cols, B, W, EVEN, R)
        u = _linear(found, x, weight, bias, rows, cols, B, W, INPUTS, EVEN)
        h, of_gelu = _gelu_and_slope(u)
        if NORM:
            middle = tl.load(mean + net * B + rows, mask=rows < B, other=0.0)
            one = tl.load(scale + net * B + rows, mask=rows < B, other=0.0)
            normed = h * one[:, None] - (middle * one)[:, None]
            if not EVEN:
                normed = tl.where(inside, normed, 0.0)
            of_gain += slope * normed
            of_shift += slope
            slope = slope * g
            along = tl.sum(slope * normed, 1) / W
            level = tl.sum(slope, 1) / W
            slope = (slope - level[:, None] - normed * along[:, None]) * one[:, None]
        slope = slope * of_gelu
        if not EVEN:
            slope = tl.where(inside, slope, 0.0)
        of_bias += slope
        _write(z_slope + whole + at, slope.to(tl.bfloat16), inside, EVEN)
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


@triton.jit
def _adam(
    table, owner, begin, size, rate, step,
    DECAY: tl.constexpr, BETA1: tl.constexpr, BETA2: tl.constexpr, EPS: tl.constexpr,
    MANY: tl.constexpr,
):  # fmt: skip
    which, lr, done = tl.load(owner + tl.program_id(0)), tl.load(rate), tl.load(step)
    of_mean = 1 - tl.exp(done * tl.log(BETA1 + 0.0 * done))
    of_square = 1 - tl.exp(done * tl.log(BETA2 + 0.0 * done))
    start = tl.multiple_of(tl.load(begin + tl.program_id(0)), MANY)
    p, slope = _place(table + 4 * which, start), _place(table + 4 * which + 1, start)
    first, second = _place(table + 4 * which + 2, start), _place(table + 4 * which + 3, start)
    i, left = tl.arange(0, MANY), tl.load(size + which) - start
    if left >= MANY:
        _moved(
            p + i, slope + i, first + i, second + i, i < left, lr, of_mean, of_square,
            DECAY, BETA1, BETA2, EPS, True,
        )  # fmt: skip
    else:
        _moved(
            p + i, slope + i, first + i, second + i, i < left, lr, of_mean, of_square,
            DECAY, BETA1, BETA2, EPS, False,
        )  # fmt: skip


@triton.jit
def _place(address, start):
    """Where numbers begin, at a multiple of 16 bytes: they are read four at once."""
    return tl.multiple_of(tl.load(address).to(tl.pointer_type(tl.float32)) + start, 16)


@triton.jit
def _moved(
    p, slope, first, second, inside, lr, of_mean, of_square,
    DECAY: tl.constexpr, BETA1: tl.constexpr, BETA2: tl.constexpr, EPS: tl.constexpr,
    EVEN: tl.constexpr,
):  # fmt: skip
    g = _read(slope, inside, EVEN)
    m = BETA1 * _read(first, inside, EVEN) + (1 - BETA1) * g
    v = BETA2 * _read(second, inside, EVEN) + (1 - BETA2) * g * g
    change = (m / of_mean) / (tl.sqrt(v / of_square) + EPS)
    _write(p, _read(p, inside, EVEN) * (1 - lr * DECAY) - lr * change, inside, EVEN)
    _write(first, m, inside, EVEN)
    _write(second, v, inside, EVEN)


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
    at_once, warps = FORWARD
    _forward[(triton.cdiv(many, at_once), nets)](
        x if z is None else z, x, weight, bias, gain, shift, y, y_back, mean, scale, many, width,
        INPUTS=x.shape[-1] if z is None else 0, WIDE=triton.next_power_of_2(width), NORM=norm,
        BACK=back, EVEN=is_even(many, width, at_once), R=at_once, num_warps=warps,
    )  # fmt: skip
    return outputs


def is_even(many: int, width: int, rows: int) -> bool:
    """Whether no program reaches beyond what is there, so that none needs to ask."""
    return many % rows == 0 and triton.next_power_of_2(width) == width


def outputs_of(x: Tensor, bias: Tensor, back: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Memory for what `forward` makes; none for what only the way back would ask for."""
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
    at_once, warps = BACKWARD_FIRST if z is None else BACKWARD
    # Where there is no z the kernel reads slopes twice, and makes z of x.
    _backward[(sums.shape[2], nets)](
        y_slope if z is None else z, x, weight, bias, gain, mean, scale, y_slope, z_slope, sums,
        many, width, INPUTS=x.shape[-1] if z is None else 0, WIDE=triton.next_power_of_2(width),
        NORM=norm, EVEN=is_even(many, width, BLOCK), R=at_once, T=BLOCK // at_once,
        num_warps=warps,
    )  # fmt: skip
    return z_slope, sums


def slopes_of(y_slope: Tensor) -> tuple[Tensor, Tensor]:
    """Memory for what `backward` makes."""
    nets, many, width = y_slope.shape
    blocks = -(-many // BLOCK)
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


def adam(
    table: Tensor, owner: Tensor, begin: Tensor, size: Tensor, step: Tensor,
    group: Mapping[str, Any],
) -> None:  # fmt: skip
    """One update of all tensors of a group. Program k works on tensor owner[k] from begin[k] on.

    Row n of `table` has the addresses of tensor n, its slope, and its two moments.
    """
    beta1, beta2 = group["betas"]
    _adam[(len(owner),)](
        table, owner, begin, size, group["lr"], step, DECAY=group["weight_decay"], BETA1=beta1,
        BETA2=beta2, EPS=group["eps"], MANY=NUMBERS,
    )  # fmt: skip
