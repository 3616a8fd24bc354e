"""Training is repeatable, resumable, and learns what it should (Alg. 1)."""

import copy
import dataclasses
import json
import shutil
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from cogmap import runs
from cogmap.cli import main as cli
from cogmap.data.trajectories import Trajectories
from cogmap.envs.maze import Maze
from cogmap.envs.wandering import collect_walk
from cogmap.errors import CogmapError
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import (
    build_model,
    load_temporal,
    reference,
    stretch_of,
    train_temporal,
)
from cogmap.theory.walk import ReversibleWalk
from cogmap.training import Part, constant, one_cycle, train

ROOM = Maze.from_text("####\n#..#\n#..#\n####", name="room")


def small(**changes) -> TemporalTraining:
    base = {"steps": 12, "tau_max": 128, "width": 32, "embedding": 8, "batch": 64}
    return TemporalTraining(**(base | {"checkpoint_every": 4} | changes))


@pytest.fixture(scope="module")
def walk():
    return collect_walk(ROOM, steps=20_000, seed=1)


def reports(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def weights(folder) -> dict[str, torch.Tensor]:
    return load_temporal(folder).state_dict()


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a) and a.keys() == b.keys()


def test_one_seed_makes_a_run_repeatable_and_another_seed_another_run(walk, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train_temporal(walk, small(), tmp_path / name, seed=seed)
    assert same(weights(tmp_path / "a"), weights(tmp_path / "b"))
    assert not same(weights(tmp_path / "a"), weights(tmp_path / "c"))


class Killed(Exception):
    pass


def killed_after(steps: int):
    def progress(numbers):
        for done, number in enumerate(numbers):
            if done == steps:
                raise Killed
            yield number

    return progress


def test_a_killed_and_resumed_training_equals_an_uninterrupted_one(walk, tmp_path):
    train_temporal(walk, small(), tmp_path / "whole")
    with pytest.raises(Killed):
        train_temporal(walk, small(), tmp_path / "cut", progress=killed_after(6))
    load_temporal(tmp_path / "cut")  # killed between checkpoints, it is loadable
    train_temporal(walk, small(), tmp_path / "cut")
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


def test_a_run_killed_before_its_first_checkpoint_is_loadable_too(walk, tmp_path):
    with pytest.raises(Killed):
        train_temporal(walk, small(), tmp_path, progress=killed_after(1))
    load_temporal(tmp_path)


def test_resuming_writes_no_report_twice(walk, tmp_path, monkeypatch):
    monkeypatch.setattr("cogmap.training.REPORT_EVERY", 1)
    with pytest.raises(Killed):
        train_temporal(walk, small(), tmp_path, progress=killed_after(6))
    train_temporal(walk, small(), tmp_path)
    rows = reports(tmp_path)
    assert [row["step"] for row in rows] == list(range(1, 13))


def test_a_training_that_begins_anew_begins_its_reports_anew(walk, tmp_path):
    train_temporal(walk, small(), tmp_path)
    (tmp_path / "training_state.pt").unlink()  # as a damaged one asks for
    train_temporal(walk, small(), tmp_path)
    assert [row["step"] for row in reports(tmp_path)] == [12]


def test_a_run_does_not_resume_on_data_of_another_size(walk, tmp_path):
    train_temporal(walk, small(), tmp_path)
    wide = Trajectories(
        episode_starts=np.array([0]), observations=np.random.rand(500, 3).astype(np.float32)
    )
    with pytest.raises(CogmapError, match="another size"):
        train_temporal(wide, small(), tmp_path)


def test_resuming_a_finished_run_changes_nothing(walk, tmp_path):
    train_temporal(walk, small(), tmp_path)
    before = weights(tmp_path)
    train_temporal(walk, small(), tmp_path)
    assert same(before, weights(tmp_path))


def test_a_model_saved_is_the_model_loaded(walk, tmp_path):
    for tied in (True, False):
        folder = tmp_path / str(tied)
        model = train_temporal(walk, small(tied=tied), folder)
        loaded = load_temporal(folder)
        points = torch.as_tensor(np.array(walk.table))
        for tau in (1, 16, 128):
            expected = model.pair_score(points, points, tau)
            assert torch.equal(loaded.pair_score(points, points, tau), expected)


def test_tied_weights_are_written_once_and_are_shared_again_when_they_are_loaded(walk, tmp_path):
    model = train_temporal(walk, small(), tmp_path)
    written = load_file(tmp_path / "model.safetensors")
    assert not [name for name in written if name.startswith("target") or "signs" in name]
    loaded = load_temporal(tmp_path)
    assert loaded.target_head.head is loaded.source_head
    assert loaded.target_trunk is loaded.source_trunk
    feature, horizon = torch.randn(5, 32), loaded.horizon(torch.tensor([1, 60]))
    h, g = (head(feature, horizon) for head in (loaded.source_head, loaded.target_head))
    assert torch.equal(g, h * torch.tensor([1, 1, 1, 1, 1, 1, -1, -1]))
    assert torch.equal(g, model.target_head(feature, horizon))


def test_weights_of_a_mirror_outlive_a_save_and_a_load(walk, tmp_path):
    """Into a model of other weights, by cogmap.runs alone."""
    model, other = (build_model(walk, small(), seed=seed) for seed in (0, 1))
    points, taus = torch.as_tensor(np.array(walk.table)), torch.tensor([1, 60])
    expected = model.raw_pair_score(points, points, taus)
    assert not torch.allclose(other.raw_pair_score(points, points, taus), expected, atol=1e-3)
    runs.save_weights(tmp_path, model, model.config)
    runs.load_weights(tmp_path, other)
    assert torch.equal(other.raw_pair_score(points, points, taus), expected)
    copied = points.clone()  # so that each side is encoded by its own head
    assert torch.allclose(other.raw_pair_score(points, copied, taus), expected, atol=1e-5)


def test_metrics_are_one_json_line_a_report(walk, tmp_path):
    train_temporal(walk, small(loss="nce"), tmp_path)
    train_temporal(walk, small(loss="nce", steps=14), tmp_path)  # resumed
    rows = reports(tmp_path)
    assert [row["step"] for row in rows] == [12, 14]
    for row in rows:
        assert set(row) == {"step", "loss", "positive", "negative", "seconds", "memory"}


def test_the_reported_loss_is_the_agreement_less_the_information(walk, tmp_path, monkeypatch):
    monkeypatch.setattr("cogmap.training.REPORT_EVERY", 1)
    train_temporal(walk, small(steps=60), tmp_path)
    rows = reports(tmp_path)
    assert max(row["agreement"] for row in rows) > 1e-3 < max(row["information"] for row in rows)
    for row in rows:
        expected = row["agreement"] - row["information"]
        assert row["loss"] == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("changes", [{"recorded": None}, {"tau_max": 1}])
def test_where_nothing_is_composed_there_is_no_agreement_to_report(walk, tmp_path, changes):
    train_temporal(walk, small(**changes), tmp_path)
    row = reports(tmp_path)[-1]
    assert set(row) == {"step", "loss", "information", "seconds", "memory"}
    assert row["loss"] == -row["information"]


@pytest.mark.parametrize("changes", [{"tau_max": 2}, {"tau_max": 64, "recorded": 64}])
def test_horizons_that_could_all_be_recorded_are_composed_too(walk, tmp_path, changes):
    train_temporal(walk, small(**changes), tmp_path)
    assert reports(tmp_path)[-1]["agreement"] > 0


def test_a_model_trained_by_nce_has_a_bank_that_it_does_not_normalise_over(walk, tmp_path):
    model = train_temporal(walk, small(loss="nce"), tmp_path)
    points = torch.as_tensor(np.array(walk.table))
    assert torch.equal(model.bank, points)
    assert model.bank_log_share.exp().sum() == pytest.approx(1.0, rel=1e-4)
    raw = model.raw_pair_score(points, points, torch.tensor([5]))[0]
    assert torch.equal(model.pair_score(points, points, 5), raw)


def test_a_bank_that_leaves_observations_out_weighs_the_rest_as_they_were_seen(monkeypatch):
    """Half of them at random, of which odd ones are seen three times as often as even ones."""
    index = np.repeat(np.arange(2000), np.where(np.arange(2000) % 2, 3, 1))
    table = np.arange(2001, dtype=np.float32)[:, None]  # the last is never seen
    data = Trajectories(episode_starts=np.array([0]), table=table, index=index)
    monkeypatch.setattr("cogmap.temporal.train.BANK_LIMIT", 1000)
    bank, log_share = reference(data, seed=0)
    share = np.exp(log_share)
    assert len(np.unique(bank)) == len(bank) == 1000 and bank.max() < 2000
    assert share.sum() == pytest.approx(1.0)
    assert np.allclose(share, np.where(bank[:, 0] % 2, 3, 1) * share.min())
    assert 400 < (bank % 2).sum() < 600
    assert not np.array_equal(reference(data, seed=1)[0], bank)
    monkeypatch.setattr("cogmap.temporal.train.BANK_LIMIT", 2000)
    assert np.array_equal(reference(data, seed=0)[0], table[:2000])


def test_local_dynamics_learns_from_a_table_whose_actions_are_controls(walk, tmp_path, capsys):
    asked = ["train", "--steps", "2", "--dynamics.steps", "2", "--width", "16", "--tau-max", "64"]
    for controls in (True, False):
        dataclasses.replace(walk, controls=controls).save(tmp_path / "data")
        asked += ["--data", str(tmp_path / "data"), "--out", str(tmp_path / "run")]
        assert cli([*asked, "--device", "cpu"]) == (0 if controls else 2)
        assert (tmp_path / "run" / "dynamics").exists() == controls
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
    assert "no actions to learn local dynamics from" in capsys.readouterr().err


@pytest.mark.parametrize("tied", [True, False])
def test_training_reaches_every_weight(walk, tmp_path, tied):
    """DistributedDataParallel waits for the gradient of each, in every update."""
    before = build_model(walk, small(tied=tied)).state_dict()
    after = train_temporal(walk, small(tied=tied), tmp_path).named_parameters()
    assert [name for name, value in after if torch.equal(value, before[name])] == []


def test_a_damaged_checkpoint_is_named(walk, tmp_path):
    train_temporal(walk, small(), tmp_path)
    for name in ("model.safetensors", "training_state.pt"):
        copy = tmp_path.parent / f"damaged-{name}"
        shutil.copytree(tmp_path, copy)
        whole = (copy / name).read_bytes()
        (copy / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(CogmapError, match=name.replace(".", r"\.")):
            load_temporal(copy) if name.startswith("model") else train_temporal(walk, small(), copy)


def test_a_model_of_an_older_cogmap_is_refused_in_one_line(walk, tmp_path):
    """Its weights fit, but no units of its one encoder were turned."""
    train_temporal(walk, small(), tmp_path)
    config = runs.read_json(tmp_path / "config.json")
    assert config.pop("turned") == 2
    runs.write_json(tmp_path / "config.json", config)
    with pytest.raises(CogmapError, match="older cogmap; train it again") as error:
        load_temporal(tmp_path)
    assert "\n" not in str(error.value)


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "value.json"
    runs.write_json(path, 1)

    def fail(temporary):
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(CogmapError, match="No space left"):
        runs.replace_file(path, fail)
    assert path.read_text() == "1\n"
    assert [p.name for p in tmp_path.iterdir()] == ["value.json"]


def test_the_learned_score_approaches_the_exact_one_at_lags_that_are_recorded_and_beyond(tmp_path):
    """A quick fit of a corridor, which is slow to mix; only lags up to 32 are recorded."""
    corridor = Maze.from_text("########\n#......#\n########", name="corridor")
    walk = collect_walk(corridor, steps=20_000, seed=1)
    settings = small(steps=1000, width=64, embedding=16, learning_rate=5e-3, recorded=32)
    model = train_temporal(walk, dataclasses.replace(settings, tau_max=256), tmp_path)
    exact = ReversibleWalk.on(corridor.lattice.successors)
    points = torch.as_tensor(np.array(walk.table))
    for tau, bound in ((4, 0.22), (16, 0.18), (100, 0.22), (200, 0.17)):
        ratio = exact.power(tau) / exact.pi
        learned = model.pair_score(points, points, tau).detach().numpy()
        common = ratio > 0.3
        true = np.log(ratio[common])
        error = np.abs(learned[common] - true).mean()
        assert error < bound < np.abs(true).mean(), tau  # better than knowing nothing


def test_the_schedule_rises_then_falls_to_nothing():
    shares = [one_cycle(step, 100) for step in range(100)]
    assert max(shares) == pytest.approx(1.0)
    assert shares[0] < 0.2 and shares[-1] < 0.01
    assert shares.index(max(shares)) in (9, 10)


WRONG = [{"steps": -1}, {"tau_max": 0}, {"negatives": -1.0}, {"batch": 1}, {"recorded": 0}]


@pytest.mark.parametrize("wrong", WRONG)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(CogmapError, match=next(iter(wrong))):
        small(**wrong)


@pytest.mark.parametrize("width, stretched", [(6, False), (60, True)])
def test_a_world_that_is_wide_beside_what_a_walk_covers_is_stretched(width, stretched):
    text = "\n".join(["#" * (width + 2), "#" + "." * width + "#", "#" * (width + 2)])
    data = collect_walk(Maze.from_text(text, name="lane"), steps=50_000, seed=0)
    places, _ = data.distinct()
    half = torch.as_tensor(np.ptp(places, axis=0) / 2)
    along, across = stretch_of(data, half).tolist()
    assert across == 1.0  # the lane is narrow
    # 64 steps of a fifth each way: 5 units, and 7 times that is the half width of 18 cells.
    assert along == (pytest.approx(float(half[0]) / (7 * 5.06), rel=0.15) if stretched else 1.0)


def test_the_nce_loss_needs_every_horizon_recorded():
    small(loss="nce")
    with pytest.raises(CogmapError, match="nce loss composes nothing; leave --recorded at auto"):
        small(loss="nce", recorded=64)


def test_a_horizon_longer_than_every_episode_is_refused(walk, tmp_path):
    with pytest.raises(CogmapError, match="longest episode"):
        train_temporal(walk, small(tau_max=30_000), tmp_path)
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True)
class Steps:
    """Settings of the loop alone."""

    steps: int = 12
    learning_rate: float = 0.01
    weight_decay: float = 0.0
    checkpoint_every: int = 4


class Rival(torch.nn.Module):
    """A critic that learns from its own slow copy, an actor, and a multiplier of a constraint."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.critic, self.actor = torch.nn.Linear(3, 1), torch.nn.Linear(2, 1)
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self.multiplier = torch.nn.Parameter(torch.ones(()))
        self.follows = 0  # times that the target did

    def value(self, critic, states, actions):
        return critic(torch.cat([states, actions], dim=-1))

    def follow(self):
        self.follows += 1
        for slow, fast in zip(self.target.parameters(), self.critic.parameters()):
            slow.lerp_(fast, 0.1)
        self.multiplier.clamp_(min=0.0)

    def parts(self):
        return {
            "critic": Part(self.critic.parameters(), 0.02, weight_decay=0.1),
            "actor": Part(self.actor.parameters(), 0.01),
            "multiplier": Part([self.multiplier], 0.3),
        }


def train_rival(folder, *, schedule=one_cycle, progress=iter):
    rival, generator = Rival(), torch.Generator().manual_seed(1)

    def loss():
        states, actions = torch.randn(32, 2, generator=generator), torch.ones(32, 1)
        with torch.no_grad():
            wanted = states.sum(-1, keepdim=True) + 0.9 * rival.value(rival.target, states, actions)
        found = rival.value(rival.critic, states, actions)
        excess = found.square().mean() - 0.5
        lagrangian = (found - wanted).square().mean() + rival.multiplier * excess
        acted = rival.value(rival.critic, states, rival.actor(states).tanh())
        losses = {"critic": lagrangian, "actor": -acted.mean(), "multiplier": -lagrangian}
        return losses, {"excess": excess.detach()}

    train(
        rival,
        loss,
        Steps(),
        Steps(),
        generator=generator,
        folder=folder,
        progress=progress,
        parts=rival.parts(),
        schedule=schedule,
        after_step=rival.follow,
    )
    return rival


def test_parts_that_descend_their_own_losses_are_the_loop_written_out(tmp_path):
    """Three optimisers, gradients kept apart by hand, and the target moved after every step."""
    rival, generator = Rival(), torch.Generator().manual_seed(1)
    optimisers = [
        torch.optim.AdamW(part.parameters, lr=0.0, weight_decay=part.weight_decay, fused=True)
        for part in rival.parts().values()
    ]
    for number in range(12):
        for optimiser, peak in zip(optimisers, (0.02, 0.01, 0.3)):
            optimiser.param_groups[0]["lr"] = torch.tensor(peak * one_cycle(number, 12))
            optimiser.zero_grad()
        states, actions = torch.randn(32, 2, generator=generator), torch.ones(32, 1)
        after = rival.value(rival.target, states, actions)
        found = rival.value(rival.critic, states, actions)
        excess = found.square().mean() - 0.5
        error = (found - (states.sum(-1, keepdim=True) + 0.9 * after)).square().mean()
        (error + rival.multiplier.detach() * excess).backward()
        (-rival.multiplier * excess.detach()).backward()
        frozen = copy.deepcopy(rival.critic).requires_grad_(False)
        (-rival.value(frozen, states, rival.actor(states).tanh()).mean()).backward()
        for optimiser in optimisers:
            optimiser.step()
        with torch.no_grad():
            rival.follow()
    trained = train_rival(tmp_path)
    assert same(rival.state_dict(), trained.state_dict())
    untrained = Rival().state_dict()
    moved = [not torch.equal(v, untrained[name]) for name, v in trained.state_dict().items()]
    assert all(moved)


@pytest.mark.parametrize("name", ["step", "seconds", "memory"])
def test_a_statistic_does_not_hide_a_column(name, tmp_path):
    """It did: a distance of one step called `step` was written as the number of updates."""
    model = torch.nn.Linear(1, 1)
    settings = small(steps=1)
    with pytest.raises(ValueError, match=name):
        train(
            model,
            lambda: (model.weight.sum(), {name: torch.zeros(())}),
            settings,
            settings,
            generator=torch.Generator(),
            folder=tmp_path,
        )


def test_the_hook_follows_every_update_once(tmp_path):
    assert train_rival(tmp_path).follows == 12
    assert train_rival(tmp_path).follows == 0  # nothing is left to do


def test_parts_target_and_multiplier_resume_where_they_were(tmp_path):
    whole = train_rival(tmp_path / "whole")
    with pytest.raises(Killed):
        train_rival(tmp_path / "cut", progress=killed_after(6))
    assert same(whole.state_dict(), train_rival(tmp_path / "cut").state_dict())
    states = [
        torch.load(tmp_path / name / "training_state.pt", weights_only=True)["optimiser"]["state"]
        for name in ("whole", "cut")
    ]
    assert len(states[0]) == 5
    for mine, theirs in zip(*(state.values() for state in states), strict=True):
        assert mine["step"] == 12 and same(mine, theirs)


def test_each_loss_is_reported_by_the_name_of_its_part(tmp_path):
    train_rival(tmp_path)
    row = json.loads((tmp_path / "metrics.jsonl").read_text())
    names = ["step", "critic_loss", "actor_loss", "multiplier_loss", "excess"]
    names += ["seconds", "memory"]
    assert list(row) == names and row["critic_loss"] == -row["multiplier_loss"]


def test_a_schedule_is_a_function_of_the_step(tmp_path):
    asked = []

    def schedule(step, steps):
        asked.append((step, steps))
        return constant(step, steps)

    always = train_rival(tmp_path / "always", schedule=schedule)
    assert sorted(set(asked)) == [(step, 12) for step in range(12)]
    assert not same(always.state_dict(), train_rival(tmp_path / "cycle").state_dict())
    still = train_rival(tmp_path / "still", schedule=lambda step, steps: 0.0)
    assert same(dict(still.named_parameters()), dict(Rival().named_parameters()))


def test_a_part_without_a_loss_is_named(tmp_path):
    rival = Rival()
    with pytest.raises(ValueError, match="losses critic do not match the parts critic, actor"):
        train(
            rival,
            lambda: ({"critic": rival.critic.weight.sum()}, {}),
            Steps(),
            Steps(),
            generator=torch.Generator(),
            folder=tmp_path,
            parts=rival.parts(),
        )


def test_seconds_go_on_where_a_training_was_stopped(tmp_path):
    told = [{"step": 100, "seconds": 2.5}, {"step": 200, "seconds": 5.0}]
    path = tmp_path / "metrics.jsonl"
    assert runs.trim_metrics(tmp_path, 0) == 0.0
    path.write_text("".join(json.dumps(row) + "\n" for row in told))
    assert runs.trim_metrics(tmp_path, 150) == 2.5
    assert [json.loads(line) for line in path.read_text().splitlines()] == told[:1]
    with pytest.raises(Killed):
        train_rival(tmp_path / "run", progress=killed_after(6))
    state, reports = tmp_path / "run" / "training_state.pt", tmp_path / "run" / "metrics.jsonl"
    done = torch.load(state, weights_only=True)["step"]
    reports.write_text(json.dumps({"step": done, "seconds": 1000.0}) + "\n")
    train_rival(tmp_path / "run")
    assert json.loads(reports.read_text().splitlines()[-1])["seconds"] >= 1000.0
