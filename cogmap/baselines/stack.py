"""Several runs of one method trained as one: what each has is stacked, and one product serves all.

Runs may differ in their seed, data, discount, alpha, expectile and goals; not in their size. A
small network leaves most of a GPU idle, so four runs take far less than twice as long as two.
Shape letters: S runs, B rows of a batch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from cogmap.baselines.goals import Batch, Rows
from cogmap.baselines.method import Method
from cogmap.training import Statistics


class Stack(nn.Module):
    """S runs of a method: parameters and hyperparameters with an axis more in front."""

    def __init__(self, members: Sequence[Method]) -> None:
        super().__init__()
        self.all = copy.deepcopy(members[0])
        for name, parameter in list(self.all.named_parameters()):
            many = torch.stack([member.get_parameter(name).detach() for member in members])
            owner, _, last = name.rpartition(".")
            stacked = nn.Parameter(many, requires_grad=parameter.requires_grad)
            setattr(self.all.get_submodule(owner), last, stacked)
        for name, _ in list(self.all.named_buffers()):
            many = torch.stack([member.get_buffer(name) for member in members])
            self.all.register_buffer(name, many, persistent=False)

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        return self.all.parts

    def state(self) -> dict[str, Tensor]:
        """Parameters, trained or not, and hyperparameters."""
        return dict(self.all.named_parameters()) | dict(self.all.named_buffers())

    def losses(
        self, batch: Batch, state: dict[str, Tensor] | None = None
    ) -> tuple[dict[str, Tensor], Statistics]:
        """Of each run, by its own state unless another is given. (S, B, ...) -> (S,), (S,)"""

        def of_one(state: dict[str, Tensor], *told: Tensor) -> tuple[dict[str, Tensor], Statistics]:
            return functional_call(self.all, state, (Batch(*told),))

        told = (getattr(batch, field.name) for field in fields(batch))
        return vmap(of_one)(self.state() if state is None else state, *told)

    def member(self, number: int) -> dict[str, Tensor]:
        """The weights of one run."""
        return {name: many[number].clone() for name, many in self.all.state_dict().items()}


def compiled(stack: Stack, rows: Rows, u: Tensor, noise: Tensor) -> Callable[..., Statistics]:
    """A function of what is drawn for a batch (Rows.chances) that sets all gradients.

    Batch, losses and slopes are traced as they run and compiled as one, so that all between two
    products is fused. A part's loss gives the slopes of that part alone, so nothing is computed
    that only others would need.
    """
    number = {id(parameter): name for name, parameter in stack.all.named_parameters()}
    owned = {
        part: [number[id(parameter)] for parameter in module.parameters()]
        for part, module in stack.parts.items()
    }

    def slopes(
        state: dict[str, Tensor], u: Tensor, noise: Tensor
    ) -> tuple[dict[str, Tensor], Statistics]:
        losses, statistics = stack.losses(rows.batch(u, noise), state)
        found: dict[str, Tensor] = {}
        for part, names in owned.items():
            wanted = [state[name] for name in names]
            given = torch.autograd.grad(losses[part].sum(), wanted, retain_graph=True)
            found |= dict(zip(names, given))
        told = {f"{part}_loss": value.detach() for part, value in losses.items()}
        return found, told | {name: value.detach() for name, value in statistics.items()}

    state = stack.state()
    run = torch.compile(make_fx(slopes)(state, u, noise))

    def set_gradients(u: Tensor, noise: Tensor) -> Statistics:
        with torch.no_grad():
            found, told = run(state, u, noise)
        for name, slope in found.items():
            parameter = state[name]
            # The fused optimiser asks for the same strides, also where an axis has one place.
            parameter.grad = slope.contiguous().as_strided(parameter.shape, parameter.stride())
        return told

    return set_gradients
