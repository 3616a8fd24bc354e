"""AdamW as one kernel that keeps a whole GPU at work; torch's own gives each block 65,536 numbers,
so that a small network occupies a few of its many processors.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

MANY = 2048  # numbers of a program


@triton.jit
def _update(
    table, owner, begin, size, rate, step,
    DECAY: tl.constexpr, BETA1: tl.constexpr, BETA2: tl.constexpr, EPS: tl.constexpr,
    MANY: tl.constexpr,
):  # fmt: skip
    which = tl.load(owner + tl.program_id(0))
    at = tl.load(begin + tl.program_id(0)) + tl.arange(0, MANY)
    inside = at < tl.load(size + which)
    p = tl.load(table + 4 * which).to(tl.pointer_type(tl.float32)) + at
    slope = tl.load(table + 4 * which + 1).to(tl.pointer_type(tl.float32)) + at
    first = tl.load(table + 4 * which + 2).to(tl.pointer_type(tl.float32)) + at
    second = tl.load(table + 4 * which + 3).to(tl.pointer_type(tl.float32)) + at
    done, lr, g = tl.load(step), tl.load(rate), tl.load(slope, mask=inside, other=0.0)
    m = BETA1 * tl.load(first, mask=inside, other=0.0) + (1 - BETA1) * g
    v = BETA2 * tl.load(second, mask=inside, other=0.0) + (1 - BETA2) * g * g
    shrink1 = 1 - tl.exp(done * tl.log(BETA1 + 0.0 * done))
    shrink2 = 1 - tl.exp(done * tl.log(BETA2 + 0.0 * done))
    change = (m / shrink1) / (tl.sqrt(v / shrink2) + EPS)
    old = tl.load(p, mask=inside, other=0.0)
    tl.store(p, old * (1 - lr * DECAY) - lr * change, mask=inside)
    tl.store(first, m, mask=inside)
    tl.store(second, v, mask=inside)


class Adam(torch.optim.AdamW):
    """The same state and the same numbers, for parameters that lie dense on one GPU."""

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        super().__init__(groups, capturable=True)
        self._layouts: dict[int, Layout] = {}

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for number, group in enumerate(self.param_groups):
            parameters = [p for p in group["params"] if p.grad is not None]
            for p in parameters:
                if not self.state[p]:
                    self.state[p]["step"] = torch.zeros((), device=p.device)
                    for name in ("exp_avg", "exp_avg_sq"):
                        self.state[p][name] = torch.zeros_like(p)
            if number not in self._layouts:
                self._layouts[number] = Layout(parameters)
            layout, states = self._layouts[number], [self.state[p] for p in parameters]
            torch._foreach_add_([state["step"] for state in states], 1)
            rows = [
                [t.data_ptr() for t in (p, p.grad, state["exp_avg"], state["exp_avg_sq"])]
                for p, state in zip(parameters, states)
            ]
            beta1, beta2 = group["betas"]
            _update[(len(layout.owner),)](
                layout.told(rows), layout.owner, layout.begin, layout.size, group["lr"],
                states[0]["step"], DECAY=group["weight_decay"], BETA1=beta1, BETA2=beta2,
                EPS=group["eps"], MANY=MANY,
            )  # fmt: skip


class Layout:
    """Which program does what, and where the tensors lie: said anew at every step that is launched,
    and by a captured one whenever it is replayed."""

    def __init__(self, parameters: list[Tensor]) -> None:
        device, sizes = parameters[0].device, [p.numel() for p in parameters]
        blocks = [(n, at) for n, size in enumerate(sizes) for at in range(0, size, MANY)]
        owner, begin = zip(*blocks)
        self.owner = torch.tensor(owner, device=device)
        self.begin = torch.tensor(begin, device=device)
        self.size = torch.tensor(sizes, device=device)
        self._host = torch.zeros(len(sizes), 4, dtype=torch.int64, pin_memory=device.type == "cuda")
        self._table = self._host.to(device)

    def told(self, rows: list[list[int]]) -> Tensor:
        on_gpu = self._table.device.type == "cuda"
        if on_gpu and not torch.cuda.is_current_stream_capturing():
            torch.cuda.current_stream().synchronize()  # the last one may not have been read yet
        self._host.copy_(torch.tensor(rows))
        return self._table.copy_(self._host, non_blocking=True)
