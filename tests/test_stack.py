"""Runs that are trained as one are what each would be alone."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from cogmap import several
from cogmap.baselines.goals import Batch, Rows
from cogmap.baselines.method import Shape
from cogmap.baselines.settings import RivalTraining
from cogmap.baselines.stack import Stack, compiled
from cogmap.baselines.train import METHODS, Member, load_rival, train_together
from cogmap.data.trajectories import Trajectories
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.errors import CogmapError
from cogmap.rival import Rival
from cogmap.settings import RunSettings

TINY = RivalTraining(steps=4, batch=16, width=16, checkpoint_every=2)


def wandering(seed, *, base=0.0):
    """Three episodes of 50 rows in a box at `base`."""
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1, 1, size=(150, 2)).astype(np.float32)
    seen = base + rng.uniform(0, 4, size=(150, 2)).astype(np.float32)
    return Trajectories(episode_starts=np.arange(0, 150, 50), observations=seen, actions=actions)


def stacked(method):
    """Two runs that differ in seed, data and discount, alone and as one; and a batch for both."""
    data = [wandering(0), wandering(1, base=10.0)]
    settings = [replace(TINY, discount=d).settled(method) for d in (0.9, 0.99)]
    alone = []
    for seed, own in enumerate(settings):
        torch.manual_seed(seed)
        alone.append(METHODS[method](Shape(2, 2, 16), own))
    return alone, Stack(alone), Rows(data, settings)


@pytest.mark.parametrize("method", METHODS)
def test_losses_and_slopes_are_those_of_each_run_alone(method):
    alone, stack, rows = stacked(method)
    batch = rows.batch(*rows.chances(32, torch.Generator().manual_seed(0)))
    losses, _ = stack.losses(batch)
    for part, module in stack.parts.items():
        losses[part].sum().backward(inputs=list(module.parameters()), retain_graph=True)
    for number, model in enumerate(alone):
        own = Batch(*(getattr(batch, field.name)[number] for field in fields(batch)))
        expected, _ = model.losses(own)
        for part, module in model.parts.items():
            torch.testing.assert_close(losses[part][number], expected[part])
            expected[part].backward(inputs=list(module.parameters()), retain_graph=True)
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                found = stack.all.get_parameter(name).grad[number]
                torch.testing.assert_close(found, parameter.grad, rtol=1e-3, atol=1e-6)


def test_each_run_draws_from_its_own_data():
    _, _, rows = stacked("gciql")
    batch = rows.batch(*rows.chances(500, torch.Generator().manual_seed(0)))
    for field in ("observations", "next_observations", "value_goals", "actor_goals", "soon"):
        first, second = getattr(batch, field)
        assert first.max() <= 4 and second.min() >= 10, field


def test_a_compiled_step_has_the_slopes_of_a_plain_one(monkeypatch):
    """Compilation itself is left to a GPU: here only what is traced runs."""
    monkeypatch.setattr(torch, "compile", lambda traced: traced)
    _, stack, rows = stacked("gciql")
    u, noise = rows.chances(32, torch.Generator().manual_seed(0))
    compiled(stack, rows, u, noise)(u, noise)
    found = {name: p.grad.clone() for name, p in stack.all.named_parameters() if p.grad is not None}
    stack.zero_grad()
    losses, _ = stack.losses(rows.batch(u, noise))
    for part, module in stack.parts.items():
        losses[part].sum().backward(inputs=list(module.parameters()), retain_graph=True)
    trained = {name for name, p in stack.all.named_parameters() if p.requires_grad}
    assert found.keys() == trained
    for name in trained:
        torch.testing.assert_close(found[name], stack.all.get_parameter(name).grad)


def members(folder, **changes):
    settled = replace(TINY, **changes).settled("gciql")
    data = wandering(0), wandering(1, base=10.0)
    return [Member(one, settled, seed, folder / f"run{seed}") for seed, one in enumerate(data)]


def test_each_run_has_its_own_weights_and_reports_and_all_go_on_where_they_stopped(tmp_path):
    def until_three(numbers):
        for number in numbers:
            if number == 3:
                raise KeyboardInterrupt
            yield number

    whole = members(tmp_path / "whole")
    models = train_together("gciql", whole, tmp_path / "whole" / "all", device="cpu")
    cut = members(tmp_path / "cut")
    with pytest.raises(KeyboardInterrupt):
        train_together("gciql", cut, tmp_path / "cut" / "all", device="cpu", progress=until_three)
    train_together("gciql", cut, tmp_path / "cut" / "all", device="cpu")
    here = torch.rand(5, 2)
    for one, other, model in zip(whole, cut, models):
        both = [(x.folder / "model.safetensors").read_bytes() for x in (one, other)]
        assert both[0] == both[1]
        [report] = (one.folder / "metrics.jsonl").read_text().splitlines()
        report = json.loads(report)
        assert report["step"] == 4 and report["together"] == 2 and "value_loss" in report
        assert not [name for name in report if "/" in name]
        again = load_rival("gciql", one.settings, one.folder)
        assert torch.equal(again.act(here, here), model.act(here, here))
    first, second = (model.act(here, here) for model in models)
    assert not torch.equal(first, second)
    reports = [json.loads((x.folder / "metrics.jsonl").read_text()) for x in whole]
    assert reports[0]["value_loss"] != reports[1]["value_loss"]
    before = (whole[0].folder / "model.safetensors").stat().st_mtime_ns
    train_together(
        "gciql", whole, tmp_path / "whole" / "all", device="cpu"
    )  # nothing is left to do
    train_together("gciql", whole[:1], whole[0].folder, device="cpu")  # nor for one of them
    settled = whole[0].settings
    for _ in range(2):  # nor, the second time, for one that was trained alone
        [alone] = train_together(
            "gciql",
            [replace(whole[0], folder=tmp_path / "alone")],
            tmp_path / "alone",
            device="cpu",
        )
        again = load_rival("gciql", settled, tmp_path / "alone")
        assert torch.equal(again.act(here, here), alone.act(here, here))
    assert (whole[0].folder / "model.safetensors").stat().st_mtime_ns == before


def test_runs_of_other_sizes_are_not_trained_as_one(tmp_path):
    one, other = members(tmp_path)
    other = replace(other, settings=replace(other.settings, width=32))
    with pytest.raises(CogmapError, match="differs .* in its size"):
        train_together("gciql", [one, other], tmp_path / "all", device="cpu")


def test_several_runs_are_made_from_a_file_and_act_like_any_other(tmp_path, capsys):
    world = PointMaze(Maze.load("medium"))
    data = tmp_path / "data"
    world.walked("actions", 600, data, seed=0, bars=lambda *words: iter)
    sizes = {"steps": 2, "batch": 8, "width": 8}
    runs = [
        {"world": world.describe(), "data": str(data), "out": str(tmp_path / f"run{seed}")}
        | {"seed": seed, "rival": sizes | {"value_goals": [0.1, 0.4, 0.5]}}
        for seed in (0, 1)
    ]
    told = {"method": "hiql", "folder": str(tmp_path / "all"), "device": "cpu", "runs": runs}
    path = tmp_path / "several.json"
    path.write_text(json.dumps(told))
    several.main(str(path))
    rivals = [Rival.load(tmp_path / f"run{seed}", device="cpu") for seed in (0, 1)]
    assert [rival.model.settings.value_goals for rival in rivals] == [(0.1, 0.4, 0.5)] * 2
    acts = [rival.act([[0.0, 0.0]], [[4.0, 4.0]]) for rival in rivals]
    assert (acts[0] != acts[1]).any()
    runs[0]["rival"] = sizes
    path.write_text(json.dumps(told))
    with pytest.raises(CogmapError, match="run0 holds a run of other settings"):
        several.main(str(path))
    path.write_text(json.dumps({"method": "hiql"}))
    with pytest.raises(CogmapError, match='must hold {"method"'):
        several.main(str(path))
    path.write_text(json.dumps(told | {"runs": [{"data": "x"}]}))
    with pytest.raises(CogmapError, match="a run is"):
        several.main(str(path))


def test_a_run_trained_with_others_is_not_trained_anew(tmp_path):
    world = PointMaze(Maze.load("medium"))
    data = tmp_path / "data"
    world.walked("actions", 600, data, seed=0, bars=lambda *words: iter)
    settings = RunSettings(device="cpu", rival=RivalTraining(steps=2, batch=8, width=8))
    runs = [
        several.Run(world, replace(settings, seed=s), tmp_path / f"run{s}", data) for s in (0, 1)
    ]
    several.train("gcbc", runs, tmp_path / "all")
    from cogmap import rival

    before = (tmp_path / "run0" / "rival" / "model.safetensors").read_bytes()
    rival.resume(tmp_path / "run0")
    assert (tmp_path / "run0" / "rival" / "model.safetensors").read_bytes() == before
    assert not (tmp_path / "run0" / "rival" / "training_state.pt").exists()
