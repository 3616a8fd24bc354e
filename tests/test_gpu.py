"""What only a GPU can show: steps captured as CUDA graphs, and products of short numbers.

    python tests/test_gpu.py

runs all of it on a host that has numpy, torch and safetensors and no pytest.
"""

import copy
import importlib.util
import json
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))  # a script finds the package beside it

from cogmap import training
from cogmap.baselines import fused
from cogmap.baselines.goals import Rows
from cogmap.baselines.method import Shape
from cogmap.baselines.settings import RivalTraining
from cogmap.baselines.stack import Stack, compiled
from cogmap.baselines.train import METHODS, Member, train_together
from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.dynamics.train import train_dynamics
from cogmap.planning.candidates import Candidates, directions
from cogmap.planning.memory import Memory
from cogmap.planning.objective import Horizons, Rule
from cogmap.planning.planner import Planner
from cogmap.temporal.batches import Batches
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import train_temporal
from cogmap.training import Part, constant, train

if importlib.util.find_spec("pytest") is not None:
    import pytest

    pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

DEVICE = torch.device("cuda")
RING = 24  # points on a circle
CAPTURE_CALLS = 4  # of the loss: three to warm up, one that is recorded


def ring_walk(*, rows: bool = False) -> Trajectories:
    """A walk around a circle, a point to the left, to the right or none; actions say which."""
    moves = np.random.default_rng(0).integers(-1, 2, size=20_000)
    index = np.append(0, moves.cumsum())[:-1] % RING
    angle = 2 * np.pi * np.arange(RING) / RING
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    about = {"episode_starts": np.array([0]), "actions": moves[:, None].astype(np.float32)}
    if rows:
        return Trajectories(observations=points[index], **about)
    return Trajectories(table=points, index=index, **about)


def recipe(**changes) -> TemporalTraining:
    base = {"steps": 20, "tau_max": 1024, "lags": 4, "width": 32, "embedding": 8, "batch": 128}
    return TemporalTraining(**(base | {"checkpoint_every": 5} | changes))


@contextmanager
def plain_steps() -> Iterator[None]:
    """Inside, no step is captured."""
    with mock.patch.object(training, "captured", lambda step, *rest: step):
        yield


class Killed(Exception):
    pass


def killed_after(steps: int):
    def progress(numbers):
        for done, number in enumerate(numbers):
            if done == steps:
                raise Killed
            yield number

    return progress


def begin_and_kill(function, *arguments, **rest) -> None:
    """Thirteen steps, of which a checkpoint keeps ten."""
    try:
        function(*arguments, progress=killed_after(13), **rest)
    except Killed:
        return
    raise AssertionError("it was to be killed")


def reports(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def state(folder: Path) -> dict:
    return torch.load(folder / "training_state.pt", map_location="cpu", weights_only=True)


@dataclass(frozen=True)
class Steps:
    """Settings of the loop alone."""

    steps: int = 20
    learning_rate: float = 0.01
    weight_decay: float = 0.0
    checkpoint_every: int = 5


class Rival(torch.nn.Module):
    """A critic that learns from its own slow copy, an actor, and a multiplier of a constraint."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.critic, self.actor = torch.nn.Linear(3, 1), torch.nn.Linear(2, 1)
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self.multiplier = torch.nn.Parameter(torch.ones(()))
        self.calls = 0  # of the loss, from Python

    def value(self, critic, states, actions):
        return critic(torch.cat([states, actions], dim=-1))

    def follow(self) -> None:
        for slow, fast in zip(self.target.parameters(), self.critic.parameters()):
            slow.lerp_(fast, 0.1)
        self.multiplier.clamp_(min=0.0)


def train_rival(folder: Path, *, reads_values: bool = False, progress=iter, **rest) -> Rival:
    rival = Rival().to(DEVICE)
    generator = torch.Generator(DEVICE).manual_seed(1)

    def loss():
        rival.calls += 1
        states = torch.randn(64, 2, generator=generator, device=DEVICE)
        actions = torch.ones(64, 1, device=DEVICE)
        if reads_values:  # on the host, as a captured step must not
            actions = torch.as_tensor(np.ones((64, 1), dtype=np.float32)).to(DEVICE)
            assert states.abs().max().item() < 10.0
        with torch.no_grad():
            wanted = states.sum(-1, keepdim=True) + 0.9 * rival.value(rival.target, states, actions)
        found = rival.value(rival.critic, states, actions)
        excess = found.square().mean() - 0.5
        lagrangian = (found - wanted).square().mean() + rival.multiplier * excess
        acted = rival.value(rival.critic, states, rival.actor(states).tanh())
        losses = {"critic": lagrangian, "actor": -acted.mean(), "multiplier": -lagrangian}
        return losses, {"excess": excess.detach()}

    parts = {
        "critic": Part(rival.critic.parameters(), 0.02, weight_decay=0.1),
        "actor": Part(rival.actor.parameters(), 0.01),
        "multiplier": Part([rival.multiplier], 0.1),
    }
    train(
        rival,
        loss,
        Steps(**rest.pop("steps", {})),
        Steps(),
        generator=generator,
        folder=folder,
        progress=progress,
        parts=parts,
        schedule=constant,
        after_step=rival.follow,
        **rest,
    )
    return rival


def assert_same_state(one: Path, other: Path, *, steps: int) -> None:
    """Weights, moments, counters and randomness, to rounding."""
    mine, theirs = state(one), state(other)
    for name, value in mine["model"].items():
        torch.testing.assert_close(value, theirs["model"][name], rtol=1e-4, atol=1e-5)
    moments = mine["optimiser"]["state"], theirs["optimiser"]["state"]
    for a, b in zip(*(each.values() for each in moments), strict=True):
        assert a["step"] == b["step"] == steps
        for name in ("exp_avg", "exp_avg_sq"):
            torch.testing.assert_close(a[name], b[name], rtol=1e-3, atol=1e-5)
    assert torch.equal(mine["generator"], theirs["generator"])


def test_a_captured_step_is_the_plain_one_and_its_warm_up_leaves_no_trace():
    for steps in (1, 20):
        with tempfile.TemporaryDirectory() as name:
            captured, plain = Path(name) / "captured", Path(name) / "plain"
            asked = {"steps": steps}
            assert train_rival(captured, steps=asked).calls == CAPTURE_CALLS
            assert train_rival(plain, steps=asked, capture=False).calls == steps
            assert_same_state(captured, plain, steps=steps)


def test_a_captured_training_that_was_killed_resumes_to_the_same_end():
    with tempfile.TemporaryDirectory() as name:
        whole, cut = Path(name) / "whole", Path(name) / "cut"
        train_rival(whole)
        begin_and_kill(train_rival, cut)
        assert state(cut)["step"] == 10
        assert train_rival(cut).calls == CAPTURE_CALLS
        assert_same_state(whole, cut, steps=20)


def test_a_captured_training_goes_on_plain():
    with tempfile.TemporaryDirectory() as name:
        whole, cut = Path(name) / "whole", Path(name) / "cut"
        train_rival(whole)
        begin_and_kill(train_rival, cut)
        assert train_rival(cut, capture=False).calls == 10
        assert_same_state(whole, cut, steps=20)


def test_a_loss_that_reads_values_trains_where_it_is_not_captured():
    with tempfile.TemporaryDirectory() as name:
        reading, plain = Path(name) / "reading", Path(name) / "plain"
        assert train_rival(reading, reads_values=True, capture=False).calls == 20
        train_rival(plain)
        assert_same_state(reading, plain, steps=20)


def assert_same_map(data: Trajectories, one: Path, other: Path, models) -> None:
    """The same reports and scores; rounding moves single weights more than what they say."""
    for mine, theirs in zip(reports(one), reports(other), strict=True):
        assert mine["step"] == theirs["step"]
        for key in ("loss", "information", "agreement"):
            assert abs(mine[key] - theirs[key]) < 1e-3, (mine, theirs)
    points = torch.as_tensor(np.unique(data.rows(np.arange(len(data))), axis=0)).to(DEVICE)
    for tau in (1, 40, 1024):
        scores = [model.pair_score(points, points, tau).detach() for model in models]
        torch.testing.assert_close(*scores, rtol=1e-2, atol=1e-2)
    for path in (one, other):
        assert {float(each["step"]) for each in state(path)["optimiser"]["state"].values()} == {20}


def test_a_captured_map_is_the_plain_one_from_a_table_and_from_rows():
    for rows in (False, True):
        data = ring_walk(rows=rows)
        with (
            tempfile.TemporaryDirectory() as name,
            mock.patch.object(training, "REPORT_EVERY", 4),
        ):
            captured, plain = Path(name) / "captured", Path(name) / "plain"
            models = [train_temporal(data, recipe(), captured, device=DEVICE)]
            with plain_steps():
                models.append(train_temporal(data, recipe(), plain, device=DEVICE))
            assert_same_map(data, captured, plain, models)


def test_a_captured_map_that_was_killed_resumes_to_the_same_end():
    data = ring_walk()
    with tempfile.TemporaryDirectory() as name, mock.patch.object(training, "REPORT_EVERY", 4):
        whole, cut = Path(name) / "whole", Path(name) / "cut"
        models = [train_temporal(data, recipe(), whole, device=DEVICE)]
        begin_and_kill(train_temporal, data, recipe(), cut, device=DEVICE)
        models.append(train_temporal(data, recipe(), cut, device=DEVICE))
        assert_same_map(data, whole, cut, models)


def composed(kind: torch.dtype) -> torch.Tensor:
    """What a first update composes with products of numbers of that kind. (T, B, B)"""
    drawn, draw = [], Batches.draw

    def noted(self, *arguments, **rest):
        self._short = kind
        drawn.append(draw(self, *arguments, **rest))
        return drawn[-1]

    with (
        tempfile.TemporaryDirectory() as name,
        plain_steps(),
        mock.patch.object(Batches, "draw", noted),
    ):
        train_temporal(ring_walk(), recipe(steps=1), Path(name), device=DEVICE)
    return drawn[0].expected


def test_products_in_bfloat16_are_those_in_float32_within_three_roundings():
    """Of both kernels and of their product: all positive, so no digits cancel."""
    exact, short = composed(torch.float32), composed(torch.bfloat16)
    assert (exact > 0).all()
    one_rounding = 2.0**-8  # bfloat16 keeps eight digits of two
    wrong = (short - exact).abs() / exact
    assert 0 < wrong.max() < 3 * one_rounding


def test_maps_are_learned_from_a_table_and_from_rows():
    for rows in (False, True):
        with tempfile.TemporaryDirectory() as name:
            settings = recipe(steps=300, tau_max=64, learning_rate=5e-3)
            train_temporal(ring_walk(rows=rows), settings, Path(name), device=DEVICE)
            assert reports(Path(name))[-1]["information"] > 0.5  # an untrained model has none


def test_local_dynamics_is_learned_and_captured_as_it_would_be_plain():
    settings = DynamicsTraining(steps=300, batch=256, width=64, checkpoint_every=300)
    with tempfile.TemporaryDirectory() as name:
        captured, plain = Path(name) / "captured", Path(name) / "plain"
        train_dynamics(ring_walk(rows=True), settings, captured, seed=0, device=DEVICE)
        with plain_steps():
            train_dynamics(ring_walk(rows=True), settings, plain, seed=0, device=DEVICE)
        ends = [reports(folder)[-1]["squared_error"] for folder in (captured, plain)]
        assert max(ends) < 1e-3
        first = [reports(folder)[0]["squared_error"] for folder in (captured, plain)]
        assert abs(first[0] - first[1]) < 0.05 * first[1] + 1e-4


def box_of_actions() -> Trajectories:
    """Random actions in an open box; nobody is ever at exactly zero, where LayerNorm has a pole."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, size=(20_000, 2)).astype(np.float32)
    seen = 10 + rng.uniform(0, 4, size=(20_000, 2)).astype(np.float32)
    starts = np.arange(0, 20_000, 500)
    return Trajectories(episode_starts=starts, observations=seen, actions=actions)


def rival_settings(method: str, **changes) -> list[RivalTraining]:
    base = RivalTraining(size="ogbench", batch=256, width=128, checkpoint_every=10, **changes)
    return [replace(base, discount=d).settled(method) for d in (0.9, 0.99)]


def test_a_compiled_step_of_every_rival_has_the_slopes_of_plain_operations():
    data = box_of_actions()
    for method in METHODS:
        settings = rival_settings(method)
        rows = Rows([data, data], settings, device=DEVICE)
        models = []
        for seed, own in enumerate(settings):
            torch.manual_seed(seed)
            models.append(METHODS[method](Shape(2, 2, 128), own))
        stack = Stack(models).to(DEVICE)
        u, noise = rows.chances(256, torch.Generator(DEVICE).manual_seed(0))
        with mock.patch.object(fused, "usable", lambda x: False):
            losses, _ = stack.losses(rows.batch(u, noise))
            for part, module in stack.parts.items():
                losses[part].sum().backward(inputs=list(module.parameters()), retain_graph=True)
        plain = {n: p.grad.clone() for n, p in stack.all.named_parameters() if p.grad is not None}
        stack.zero_grad()
        compiled(stack, rows, u, noise)(u, noise)
        largest = max(slope.norm() for slope in plain.values())
        for name, expected in plain.items():
            off = (stack.all.get_parameter(name).grad - expected).norm()
            assert off < 0.1 * expected.norm() + 1e-4 * largest, (method, name, off)


def test_rivals_trained_as_one_go_on_where_they_were_killed():
    data = box_of_actions()
    with tempfile.TemporaryDirectory() as name:

        def train(folder: Path, progress=iter) -> list[dict]:
            members = [
                Member(data, own, seed, folder / str(seed))
                for seed, own in enumerate(rival_settings("gciql", steps=400))
            ]
            train_together("gciql", members, folder, device=DEVICE, progress=progress)
            return reports(folder / "0")

        whole = train(Path(name) / "whole")
        begin_and_kill(lambda *words, **rest: train(*words, **rest), Path(name) / "cut")
        cut = train(Path(name) / "cut")
        assert [each["step"] for each in whole] == [100, 200, 300, 400]
        for mine, theirs in zip(whole, cut, strict=True):
            assert abs(mine["value_mean"] - theirs["value_mean"]) < 0.05 * abs(mine["value_mean"])


class Straight:
    """Dynamics written by hand: an action moves by itself."""

    hold = 1

    def __init__(self) -> None:
        self.reach = torch.ones(2, device=DEVICE)

    def along(self, states, actions, steps):
        k = torch.arange(1, steps + 1, device=DEVICE)[None, :, None]
        return (states[:, None] + k * actions[:, None])[:, None]


class Bowl:
    """A score that falls with the distance to the goal."""

    def __init__(self) -> None:
        self.taus = torch.tensor([1, 4, 16], device=DEVICE)

    def embed_goals(self, goals):
        return goals

    def score(self, observations, goals, at=None):
        score = -(observations - goals).square().sum(-1)[..., None] / self.taus
        return score if at is None else score.gather(-1, at[:, None].expand(-1, len(score[0]), -1))


def test_a_planner_computes_where_its_dynamics_lies():
    horizons = Horizons(np.array([1, 4, 16]), np.full(3, 1 / 3))
    here, goal = np.zeros((1, 2)), np.array([[0.0, 2.0]])
    for view in (None, 8.0):
        mean = Rule("test", horizons, float("inf"), view, memory=True)
        planner = Planner(Bowl(), Straight(), mean, Candidates(directions(4), (1,)))
        options = planner.weigh(here, goal)
        assert options.value.device.type == options.taus.device.type == DEVICE.type
        memory, ways = Memory(), []
        for _ in range(4):  # nothing that is tried moves the agent
            [decision] = planner.decide_many(here, goal, memories=[memory])
            memory.add(decision)
            ways.append(decision.candidate)
        assert ways[0] == 1 and sorted(ways) == [0, 1, 2, 3]
        np.testing.assert_allclose(planner.decide(here[0], goal[0]).action, [0.0, 1.0], atol=1e-6)


def main() -> int:
    if not torch.cuda.is_available():
        print("needs a CUDA device")
        return 2
    tests = {name: value for name, value in globals().items() if name.startswith("test_")}
    failed = 0
    for name, test in tests.items():
        print(name, flush=True)
        try:
            test()
        except Exception:
            traceback.print_exc()
            failed += 1
    print(f"{len(tests) - failed} passed" + (f", {failed} failed" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
