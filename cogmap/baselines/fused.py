"""A perceptron on a GPU: products in short numbers, and one kernel between two of them.

Products between hidden layers take float16 forwards, which has as many digits as TF32 (JAX's
default on the GPUs that OGBench was run on), and bfloat16 backwards, where range counts. What sees
the world itself, a step of which is a hundredth of where it is, is exact; what comes out is
float32. Shape letters: N networks, B rows, W units.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

NARROW = 64  # inputs up to which the first layer is made inside the kernel, exactly
THIN = 8  # rows or columns up to which a product is no work for matrix units
# torch.bmm tells its sums in float32 since 2.8.
AVAILABLE = importlib.util.find_spec("triton") is not None and torch.__version__ >= "2.8"


def kernels() -> Any:
    """A CPU has no Triton."""
    return importlib.import_module("cogmap.baselines.kernels")


@torch.library.custom_op("cogmap::between", mutates_args=())
def between(
    z: Tensor | None, x: Tensor, weight: Tensor, bias: Tensor, gain: Tensor, shift: Tensor,
    norm: bool, back: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    return kernels().forward(z, x, weight, bias, gain, shift, norm, back)


@between.register_fake
def _(z, x, weight, bias, gain, shift, norm, back):
    return kernels().outputs_of(x, bias, back)


@torch.library.custom_op("cogmap::back_between", mutates_args=())
def back_between(
    z: Tensor | None, x: Tensor, weight: Tensor, bias: Tensor, gain: Tensor, mean: Tensor,
    scale: Tensor, y_slope: Tensor, norm: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return kernels().backward(z, x, weight, bias, gain, mean, scale, y_slope, norm)


@back_between.register_fake
def _(z, x, weight, bias, gain, mean, scale, y_slope, norm):
    return kernels().slopes_of(y_slope)


@torch.library.custom_op("cogmap::union", mutates_args=())
def union(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return kernels().union(x, y)


@union.register_fake
def _(x, y):
    begins = x.new_empty(x.shape, dtype=torch.bool)
    return x.new_empty(x.shape[:-1]), begins, torch.empty_like(begins)


def usable(x: Tensor) -> bool:
    return AVAILABLE and x.device.type == "cuda"


def adam(device: torch.device) -> Callable[[list[dict[str, Any]]], torch.optim.Optimizer] | None:
    """What makes an AdamW of parameter groups there; None: torch's own will do."""
    if not AVAILABLE or device.type != "cuda":
        return None
    return importlib.import_module("cogmap.baselines.adam").Adam


def perceptrons(x: Tensor, layers: Sequence[Tensor], *, norm: bool) -> Tensor:
    """N networks: layers by turns of weight, bias and, with LayerNorm, its gain and shift; last a
    weight and a bias. (N, B, n) -> (N, B, m)
    """
    return Perceptrons.apply(x, norm, torch.is_grad_enabled(), *layers)[0]


class Perceptrons(torch.autograd.Function):
    """All of it by hand, so that numbers have the kinds chosen here in both directions."""

    @staticmethod
    def forward(x: Tensor, norm: bool, back: bool, *layers: Tensor) -> tuple[Tensor, ...]:
        x, y, kept = x.contiguous(), x, []
        z = product(x.half(), layers[0].half()) if x.shape[-1] > NARROW else None
        for number, (weight, bias, gain, shift) in enumerate(hidden(layers, norm)):
            if number > 0:
                z = y @ weight.half()
            y, y_back, mean, scale = between(z, x, weight, bias, gain, shift, norm, back)
            kept += [*([] if z is None else [z]), y_back, mean, scale]
        return product(y, layers[-2].half()) + layers[-1], *kept

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Sequence[Tensor]) -> None:
        x, ctx.norm, _, *layers = inputs
        ctx.layers = len(layers)
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(x, *layers, *output[1:])

    @staticmethod
    def backward(ctx: Any, slope: Tensor, *of_kept: Tensor) -> tuple[Tensor | None, ...]:
        x, *saved = ctx.saved_tensors
        layers, kept = saved[: ctx.layers], saved[ctx.layers :]
        x, coming = x.contiguous(), slope.bfloat16().contiguous()
        found = [slope.sum(1, keepdim=True)]  # from the last to the first
        after = layers[-2]
        for number, (weight, bias, gain, _) in reversed([*enumerate(hidden(layers, ctx.norm))]):
            scale, mean, y_back = kept.pop(), kept.pop(), kept.pop()
            z = kept.pop() if number > 0 or x.shape[-1] > NARROW else None
            found.append(product(turned(y_back), coming))
            y_slope = product(coming, turned(after.bfloat16()), torch.bfloat16)
            coming, sums = back_between(z, x, weight, bias, gain, mean, scale, y_slope, ctx.norm)
            told = sums if ctx.norm else sums[:1]  # of bias, gain, shift
            found += reversed(told.sum(2)[:, :, None].unbind())
            after = weight
        found.append(product(turned(x).bfloat16(), coming))
        of_x = product(coming, turned(after.bfloat16())) if ctx.needs_input_grad[0] else None
        return of_x, None, None, *reversed(found)

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], *inputs: Any) -> tuple[Any, Any]:
        """Several times N networks are as many networks."""
        size = info.batch_size
        flat = [
            one if d is None else one.movedim(d, 0).flatten(0, 1)  # flags have no such axis
            for one, d in zip(inputs, in_dims)
        ]
        found = Perceptrons.apply(*flat)
        return tuple(one.unflatten(0, (size, -1)) for one in found), (0,) * len(found)


def iqe(x: Tensor, y: Tensor) -> Tensor:
    """The length of the union of intervals from x_i up to y_i. (..., n) -> (...)"""
    return Union.apply(x, y)[0]


class Union(torch.autograd.Function):
    """Where the pieces of a union end less where they begin, all pairs of intervals compared."""

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return union(x.contiguous(), y.contiguous())

    @staticmethod
    def setup_context(ctx: Any, inputs: Sequence[Any], output: Sequence[Tensor]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])

    @staticmethod
    def backward(ctx: Any, slope: Tensor, *of_others: Tensor) -> tuple[Tensor, Tensor]:
        begins, ends = ctx.saved_tensors
        return -slope[..., None] * begins, slope[..., None] * ends

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], *inputs: Any) -> tuple[Any, Any]:
        both = [one if d is None else one.movedim(d, 0) for one, d in zip(inputs, in_dims)]
        return Union.apply(*both), (0, 0, 0)


def hidden(layers: Sequence[Tensor], norm: bool) -> list[tuple[Tensor, ...]]:
    """Weight, bias, gain and shift of each hidden layer; nobody reads the last two without norm."""
    if norm:
        return [tuple(layers[n : n + 4]) for n in range(0, len(layers) - 2, 4)]
    pairs = [layers[n : n + 2] for n in range(0, len(layers) - 2, 2)]
    return [(weight, bias, bias, bias) for weight, bias in pairs]


def product(a: Tensor, b: Tensor, told: torch.dtype = torch.float32) -> Tensor:
    """Of short numbers, summed in float32 and told in that kind. (N, m, k) x (N, k, n) -> (N, m, n)

    Where it is thin a compiler makes a few sums of it, which is faster than a matrix product.
    """
    if a.shape[-1] <= THIN:
        parts = [a[..., k : k + 1].float() * b[..., k : k + 1, :] for k in range(a.shape[-1])]
        return torch.stack(parts).sum(0).to(told)
    if a.shape[-2] <= THIN:
        rows = [(a[..., m, :, None].float() * b).sum(-2) for m in range(a.shape[-2])]
        return torch.stack(rows, dim=-2).to(told)
    if b.shape[-1] <= THIN:
        columns = [(a.float() * b[..., None, :, n]).sum(-1) for n in range(b.shape[-1])]
        return torch.stack(columns, dim=-1).to(told)
    m, n, a, b = a.shape[-2], b.shape[-1], filled(a), filled(b)
    if a.device.type != "cuda":
        found = (a.float() @ b.float()).to(told)
    elif told == torch.float32:
        found = torch.bmm(a, b, out_dtype=told)
    else:
        found = a @ b
    return found[..., :m, :n].contiguous()


def filled(x: Tensor) -> Tensor:
    """With zeros up to multiples of 8 rows and columns: matrix units read 16 bytes at once."""
    rows, columns = (-size % 8 for size in x.shape[-2:])
    return F.pad(x, (0, columns, 0, rows)) if rows or columns else x


def turned(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)
