"""Where computation happens: a device, and a rank among the processes of torchrun."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import distributed

from cogmap.choices import Device
from cogmap.errors import CogmapError

__all__ = ["Device", "Rank", "hardware", "peak_memory", "pick", "rank", "together"]


@dataclass(frozen=True)
class Rank:
    """One process among those that train one model together."""

    number: int = 0
    of: int = 1

    def share(self, count: int, what: str) -> slice:
        """Its equal part of `count` things."""
        if count % self.of:
            raise CogmapError(
                f"{what}={count} cannot be shared by {self.of} processes; "
                f"make it a multiple of {self.of}."
            )
        each = count // self.of
        return slice(self.number * each, (self.number + 1) * each)


def rank() -> Rank:
    """This process's; alone unless it is inside `together`."""
    if distributed.is_available() and distributed.is_initialized():
        return Rank(distributed.get_rank(), distributed.get_world_size())
    return Rank()


@contextmanager
def together(device: str) -> Iterator[None]:
    """Joins the other processes where torchrun started several, each on a GPU of its own."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    on_gpu = pick(device).type == "cuda"
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    # DistributedDataParallel imports this module, whose default arguments keep the process group
    # of that moment: imported once there is one, it would keep the group's threads alive beyond
    # destroy_process_group, and those can abort Python at its exit (pytorch/pytorch#190489).
    importlib.import_module("torch.distributed.nn.functional")
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()


def pick(device: str | torch.device) -> torch.device:
    """The named device; 'auto' takes a GPU where there is one."""
    if isinstance(device, torch.device):
        return device
    available = {"cpu": True, "cuda": torch.cuda.is_available()}
    available["mps"] = torch.backends.mps.is_available()
    if device == "auto":
        return torch.device(next(name for name in ("cuda", "mps", "cpu") if available[name]))
    if device not in available:
        raise CogmapError(f"device {device!r}; choose auto, cpu, cuda or mps.")
    if not available[device]:
        raise CogmapError(f"device {device!r} is not available here; choose --device cpu or auto.")
    return torch.device(device)


def hardware(device: torch.device | None = None) -> str:
    """What a row of results was measured on; by default it names a GPU where there is one."""
    device = pick("auto") if device is None else device
    words = [f"{os.cpu_count()} CPU cores ({_processor()})", f"threads {torch.get_num_threads()}"]
    if device.type != "cpu":
        words.append(torch.cuda.get_device_name(device) if device.type == "cuda" else device.type)
    return ", ".join([*words, f"torch {torch.__version__}"])


def peak_memory(device: torch.device) -> int:
    """Bytes at the peak: of tensors on a CUDA device since `forget_peak`, else of the process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return process_memory()


def forget_peak(device: torch.device) -> None:
    """The peak of a CUDA device is sought anew; that of a process never falls."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def process_memory() -> int:
    """Bytes of main memory that the process held at its peak; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak  # Linux counts in kibibytes


def _processor() -> str:
    """The CPU's model, or at least its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return next(iter(models), platform.machine())
