"""AdamW as one kernel that keeps a whole GPU at work; torch's own gives each block 65,536 numbers,
so that a small network occupies a few of its many processors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from cogmap.baselines import fused

MOMENTS = ("exp_avg", "exp_avg_sq")


class Adam(torch.optim.AdamW):
    """The same state and the same numbers, for parameters that lie dense on one GPU."""

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        super().__init__(groups, capturable=True)
        self._layouts: dict[int, Layout] = {}

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for number, group in enumerate(self.param_groups):
            parameters = [p for p in group["params"] if p.grad is not None]
            for p in parameters:
                if not self.state[p]:
                    self.state[p]["step"] = torch.zeros((), device=p.device)
                    for name in MOMENTS:
                        self.state[p][name] = torch.zeros_like(p)
            if number not in self._layouts:
                self._layouts[number] = Layout(parameters)
            layout, states = self._layouts[number], [self.state[p] for p in parameters]
            slopes = [aligned(p.grad) for p in parameters]
            steps = [state["step"] for state in states]
            torch._foreach_add_(steps, 1)
            table = layout.told(
                [p.data_ptr(), slope.data_ptr(), *(state[n].data_ptr() for n in MOMENTS)]
                for p, slope, state in zip(parameters, slopes, states)
            )
            fused.kernels().adam(table, layout.owner, layout.begin, layout.size, steps[0], group)


def aligned(slope: Tensor) -> Tensor:
    """At a multiple of 16 bytes, as all memory is but for a part of something larger."""
    return slope if slope.data_ptr() % 16 == 0 else slope.clone()


class Layout:
    """Which program does what, and where the tensors lie: said anew at every step that is launched,
    and by a captured one whenever it is replayed."""

    def __init__(self, parameters: list[Tensor]) -> None:
        device, sizes = parameters[0].device, [p.numel() for p in parameters]
        each = fused.kernels().NUMBERS
        owner, begin = zip(
            *((n, at) for n, size in enumerate(sizes) for at in range(0, size, each))
        )
        self.owner = torch.tensor(owner, device=device)
        self.begin = torch.tensor(begin, device=device)
        self.size = torch.tensor(sizes, device=device)
        self._host = torch.zeros(len(sizes), 4, dtype=torch.int64, pin_memory=device.type == "cuda")
        self._table = self._host.to(device)

    def told(self, rows: Iterable[list[int]]) -> Tensor:
        """The addresses, on the device. -> (tensors, 4)"""
        on_gpu = self._table.device.type == "cuda"
        if on_gpu and not torch.cuda.is_current_stream_capturing():
            torch.cuda.current_stream().synchronize()  # the last one may not have been read yet
        self._host.copy_(torch.tensor(list(rows)))
        return self._table.copy_(self._host, non_blocking=True)
