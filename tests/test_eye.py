"""Pictures: the eye, the album, and a model that learns from them."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cogmap.agent import Agent
from cogmap.cli import main
from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.dynamics.train import train_dynamics
from cogmap.envs.album import VIEWS, Album
from cogmap.envs.camera import grid_points
from cogmap.envs.maze import Maze
from cogmap.envs.tasks import Task
from cogmap.envs.wandering import collect_walk
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import PlannerPolicy, run_episodes
from cogmap.pipeline import looked_at
from cogmap.planning.candidates import Candidates, directions
from cogmap.planning.objective import rule
from cogmap.planning.planner import Planner
from cogmap.planning.settings import Planning
from cogmap.temporal.eyes import SAME, Convolution, Keypoints, fits_window
from cogmap.temporal.scorer import LearnedScorer
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import build_model, load_temporal, train_temporal

CORRIDOR = Maze.from_text("######\n#....#\n######", name="corridor")


def dots(points: np.ndarray, *, background: int = 90) -> np.ndarray:
    """Pictures of a soft dot at each place, as a stand-in for the camera."""
    low, high = CORRIDOR.bounds
    centre = (points - low) / (high - low).max() * 63
    rows, columns = np.mgrid[:64, :64]
    gap = (columns - centre[:, 0, None, None]) ** 2 + (63 - rows - centre[:, 1, None, None]) ** 2
    dot = np.where(gap < 6, np.exp(-gap / 2), 0.0)[..., None] * np.array([120, 60, 20])
    return np.round(background + dot).astype(np.uint8)


@pytest.fixture(scope="module")
def album():
    points = grid_points(CORRIDOR)
    return Album(points, dots(points))


def test_an_untrained_eye_finds_a_dot_to_a_fraction_of_a_pixel():
    torch.manual_seed(0)
    eye = Keypoints((64, 64, 3), keypoints=4)
    eye.background.fill_(90)
    points = np.random.default_rng(0).uniform(4, 12, size=(50, 2))
    with torch.no_grad():
        looks = eye.see(eye.prepare(torch.as_tensor(dots(points)))).numpy()
    fit = np.c_[looks, np.ones(50)]
    error = fit @ np.linalg.lstsq(fit, points, rcond=None)[0] - points
    pixel = 24 / 63  # units
    assert np.sqrt((error**2).sum(1).mean()) < 0.3 * pixel


def test_looks_point_to_the_right_and_upward():
    eye = Keypoints((64, 64, 3), keypoints=2)
    eye.background.fill_(90)
    with torch.no_grad():
        places = np.array([[4.0, 4.0], [8.0, 4.0], [4.0, 8.0]])
        here, right, up = eye.see(eye.prepare(torch.as_tensor(dots(places)))).view(3, 2, 2)
    assert (right[:, 0] > here[:, 0] + 0.1).all() and (up[:, 1] > here[:, 1] + 0.1).all()
    assert torch.allclose(right[:, 1], here[:, 1], atol=0.05)
    assert torch.allclose(up[:, 0], here[:, 0], atol=0.05)


def test_the_window_gives_what_the_whole_picture_would():
    torch.manual_seed(1)
    eye = Keypoints((64, 64, 3), keypoints=4)
    eye.background.fill_(90)
    pictures = torch.as_tensor(dots(np.array([[-5.0, 4.0], [9.3, -5.5], [6.0, 5.0]]))).float()
    rows, columns = torch.meshgrid(
        torch.linspace(1, -1, 64), torch.linspace(-1, 1, 64), indexing="ij"
    )
    across = torch.stack([columns, rows], dim=-1).flatten(0, 1).expand(3, -1, -1)
    whole = ((pictures - 90) / 255).permute(0, 3, 1, 2)
    assert torch.allclose(eye.see(eye.prepare(pictures)), eye.see((whole, across)), atol=1e-5)


def test_an_empty_picture_gives_finite_looks():
    eye = Keypoints((64, 64, 3), keypoints=3)
    assert torch.equal(eye.see(eye.prepare(torch.zeros(2, 64, 64, 3))), torch.zeros(2, 6))


def square(row: int, column: int, size: int) -> torch.Tensor:
    """A grey picture but for a square of a size at a corner. (1, 64, 64, 3)"""
    picture = torch.full((1, 64, 64, 3), 90, dtype=torch.uint8)
    picture[0, row : row + size, column : column + size, 1] = 200
    return picture


@pytest.mark.parametrize(("row", "column"), [(0, 0), (20, 31), (40, 10), (44, 44)])
def test_a_square_fits_the_window_until_the_window_would_cut_it(row, column):
    eye = Keypoints((64, 64, 3), keypoints=2)
    eye.background.fill_(90)
    for size in range(1, 21):
        picture = square(row, column, size)
        whole = picture.float().sub(90).abs().sum()
        kept = eye.prepare(picture)[0].mul(255).abs().sum()
        assert bool(fits_window(picture, eye.background)) == bool(torch.isclose(kept, whole))
    assert fits_window(square(row, column, 14), eye.background)
    assert not fits_window(square(row, column, 18), eye.background)


def test_keypoints_refuse_a_picture_that_they_would_have_to_crop(album):
    seen = album.walked(collect_walk(CORRIDOR, steps=3000, seed=0), seed=0)
    model = build_model(seen, small())
    model.look(square(3, 5, 6))
    with pytest.raises(CogmapError, match="--encoder convolution") as error:
        model.look(torch.cat([square(3, 5, 6), square(3, 5, 30)]))
    assert "\n" not in str(error.value)


def noisy(count: int, *, size: int = 18, seed: int = 0) -> tuple[Trajectories, np.ndarray]:
    """A bright square that wanders in a row over noise that is new in every picture.

    Its place goes to and fro in small random steps. -> data, (N,) places
    """
    rng = np.random.default_rng(seed)
    places = np.empty(count, dtype=int)
    place = 0
    for t in range(count):
        places[t] = place
        place = int(np.clip(place + rng.integers(-1, 2), 0, size - 4))
    pictures = rng.integers(0, 120, size=(count, size, size, 3), dtype=np.uint8)
    for picture, column in zip(pictures, places):
        picture[7:11, column : column + 4] = 255
    return Trajectories(episode_starts=np.array([0]), observations=pictures), places


def test_auto_takes_keypoints_for_a_small_thing_and_a_convolution_for_anything_else(album):
    seen = album.walked(collect_walk(CORRIDOR, steps=3000, seed=0), seed=0)
    assert build_model(seen, small()).config.encoder == "keypoints"
    pictures, _ = noisy(300)
    assert build_model(pictures, small()).config.encoder == "convolution"
    states = collect_walk(CORRIDOR, steps=300, seed=0)
    assert build_model(states, small()).config.encoder == "state"
    with pytest.raises(CogmapError, match="--encoder convolution"):
        build_model(pictures, small(encoder="keypoints"))
    for data, encoder in ((states, "convolution"), (states, "keypoints"), (pictures, "state")):
        with pytest.raises(CogmapError, match=f"encoder={encoder}"):
            build_model(data, small(encoder=encoder))


@pytest.mark.parametrize("shape", [(16, 16, 1), (17, 40, 3), (84, 84, 4), (120, 64, 9)])
def test_a_convolution_takes_pictures_of_any_size_and_number_of_channels(shape):
    torch.manual_seed(0)
    eye = Convolution(shape, size=12)
    pictures = torch.randint(0, 256, (3, *shape), dtype=torch.uint8)
    looks = eye.see(eye.prepare(pictures))
    assert looks.shape == (3, 12) and looks.abs().max() <= 1
    assert torch.cdist(looks, looks)[0, 1] > 1e-3
    looks.square().sum().backward()
    assert all(value.grad.abs().max() > 0 for value in eye.parameters())


def test_a_convolution_refuses_pictures_that_are_too_small():
    with pytest.raises(CogmapError, match="15 x 40 pixels"):
        Convolution((15, 40, 3), size=12)


@pytest.mark.parametrize("table", [True, False])
def test_a_convolution_learns_where_a_square_is_before_noise(tmp_path, table):
    """Nobody tells it: a straight line through its looks finds the place in new pictures."""
    data, _ = noisy(200 if table else 2000)
    if table:
        rows = np.arange(len(data), dtype=np.int32)
        data = Trajectories(episode_starts=np.array([0]), table=data.observations, index=rows)
    asked = small(steps=40, tau_max=16, lags=1, batch=64, learning_rate=3e-3)
    first, model = build_model(data, asked), train_temporal(data, asked, tmp_path)
    fresh, places = noisy(600, seed=1)
    errors = []  # pixels
    for each in (first, model):
        with torch.no_grad():
            looks = each.look(torch.as_tensor(fresh.observations)).numpy()
        fit = np.c_[looks, np.ones(len(looks))]
        line = np.linalg.lstsq(fit[:300], places[:300], rcond=None)[0]
        errors.append(np.sqrt(np.mean((fit[300:] @ line - places[300:]) ** 2)))
    assert errors[1] < 0.6 < 1.2 < errors[0], errors
    again = load_temporal(tmp_path)
    some = torch.as_tensor(fresh.observations[:5])
    assert again.config.encoder == "convolution" and again.bank.shape[1] == 32
    assert torch.equal(again.look(some), model.look(some))


def test_pictures_learned_by_nce_have_a_bank_to_measure_a_goals_share_with(album, tmp_path):
    seen = album.walked(collect_walk(CORRIDOR, steps=3000, seed=0), seed=0)
    model = train_temporal(seen, small(loss="nce", steps=2), tmp_path)
    assert len(model.bank) == len(np.unique(seen.index)) and model.bank.abs().max() > 0
    assert model.bank_log_share.exp().sum() == pytest.approx(1.0, rel=1e-4)


def test_the_nearest_place_is_the_nearest(album):
    xy = np.random.default_rng(1).uniform(*CORRIDOR.bounds, size=(200, 2))
    gaps = np.linalg.norm(xy[:, None] - album.points[None], axis=-1)
    assert np.allclose(gaps[np.arange(200), album.nearest(xy)], gaps.min(1), atol=0.1)
    on = album.nearest(album.points)
    assert np.array_equal(on, np.arange(len(album.points)))


def test_a_walk_sees_each_lattice_point_from_a_few_places_around_it(album):
    walk = collect_walk(CORRIDOR, steps=5000, seed=0)
    seen = album.walked(walk, seed=0)
    gap = np.abs(album.points[seen.index] - walk.rows(np.arange(len(walk))))
    assert gap.max() <= 0.25 + 1e-6
    places = {(int(s), int(v)) for s, v in zip(walk.index, seen.index)}
    assert len(CORRIDOR.lattice) < len(places) <= VIEWS * len(CORRIDOR.lattice)
    assert seen.observation_shape == (64, 64, 3)


def small(**changes) -> TemporalTraining:
    settings = {"steps": 40, "tau_max": 64, "width": 32, "embedding": 16}
    return TemporalTraining(**(settings | {"learning_rate": 1e-2} | changes))


def test_the_background_is_what_is_in_every_picture(album):
    seen = album.walked(collect_walk(CORRIDOR, steps=3000, seed=0), seed=0)
    model = build_model(seen, small())
    assert (model.eye.background == 90).all()


def test_a_model_learns_from_pictures_and_plans_in_its_looks(album, tmp_path):
    seen = album.walked(collect_walk(CORRIDOR, steps=20_000, seed=0), seed=0)
    model = train_temporal(seen, small(), tmp_path / "temporal").eval()
    again = load_temporal(tmp_path / "temporal")
    some = torch.as_tensor(album.pictures[:5])
    assert torch.equal(model.look(some), again.look(some))
    # The saved bank is what the trained eye sees, not what the first one saw.
    rows = np.flatnonzero(np.bincount(seen.index, minlength=len(album.points)))
    bank = model.look(torch.as_tensor(np.array(album.pictures[rows])))
    assert torch.allclose(again.bank, bank, atol=1e-5)

    rng = np.random.default_rng(0)
    here = album.points[rng.choice(len(album.points), 4000)]
    actions = rng.uniform(-1, 1, size=(4000, 2))
    there = np.clip(here + actions, [-1.3, -1.3], [13.3, 1.3])
    both = np.stack([here, there], axis=1).reshape(-1, 2)
    moves = Trajectories(
        episode_starts=np.arange(0, 8000, 2),
        observations=both.astype(np.float32),
        actions=np.repeat(actions, 2, axis=0).astype(np.float32),
        hold=5,
    )
    looks = looked_at(album.acted(moves), model)
    settings = DynamicsTraining(steps=150, width=32, batch=512)
    dynamics = train_dynamics(looks, settings, tmp_path / "dynamics", seed=0, device="cpu").eval()

    chosen = rule(Planning(planner="gp"), tau_max=64)
    scorer = LearnedScorer(model, torch.as_tensor(chosen.horizons.taus))
    planner = Planner(scorer, dynamics, chosen, Candidates(directions(8), (1,)), look=model.look)
    start, goal = dots(np.array([[2.0, 0.0], [8.0, 0.0]]))
    assert planner.decide(start, goal).action[0] > 0.5
    assert planner.decide(goal, start).action[0] < -0.5


IMAGE = Path("models/pointmaze-large-image")


def test_what_draws_over_positions_refuses_a_run_that_sees_pictures(tmp_path, capsys):
    for command in (
        ["figures", str(IMAGE), "--out", str(tmp_path)],
        ["report", str(IMAGE), "--html", str(tmp_path / "a.html")],
        ["bench", "--run", str(IMAGE), "--quick"],
    ):
        assert main(command) == 2
        assert "learned from positions" in capsys.readouterr().err
    assert main(["evaluate", str(IMAGE), "--score", "exact"]) == 2
    assert "the exact score is for runs that learned from positions" in capsys.readouterr().err


def test_a_run_that_sees_says_so(capsys):
    assert main(["info", str(IMAGE)]) == 0
    assert "pictures of 64 x 64" in capsys.readouterr().out


def test_pictures_are_explored_not_imported(tmp_path, capsys):
    asked = [
        "train",
        "--observation",
        "image",
        "--data",
        str(tmp_path),
        "--out",
        str(tmp_path / "a"),
    ]
    assert main(asked) == 2
    assert "leave --data out" in capsys.readouterr().err


@pytest.mark.parametrize("walk", ["lattice", "actions"])
def test_exploring_in_pictures_writes_each_of_them_once(walk, tmp_path):
    asked = ["explore", "--maze", "large", "--observation", "image", "--steps", "400"]
    assert main([*asked, "--walk", walk, "--out", str(tmp_path / "seen")]) == 0
    data = Trajectories.load(tmp_path / "seen")
    assert data.observation_shape == (64, 64, 3) and data.table.dtype == np.uint8
    assert len(np.unique(data.index)) == len(data.table) <= len(data) == 401
    whole = data.table.reshape(len(data.table), -1)
    assert len(np.unique(whole, axis=0)) == len(whole)


def test_the_shipped_model_plans_from_pictures_it_takes_on_the_way():
    agent = Agent.load(IMAGE, device="cpu")
    world = agent.world
    assert world.observation == "image"
    tasks = [Task("near", (0.0, 0.0), (8.0, 0.4)), Task("corner", (36.0, 24.0), (34.0, 16.5))]
    policy = PlannerPolicy(agent.planner(world=world), hold=world.hold)
    episodes = run_episodes(world, tasks, policy, budget=150)
    assert all(episode.success for episode in episodes)
    assert min(episode.efficiency for episode in episodes) > 0.7


def test_one_decision_from_a_picture_takes_less_than_a_tenth_of_a_second():
    agent = Agent.load(IMAGE, device="cpu")
    world = agent.world
    planner = agent.planner(world=world)
    album = Album.packaged(world.maze)
    here, goal = album.pictures[0], album.pictures[-1]
    planner.decide(here, goal)
    began = time.perf_counter()
    for _ in range(5):
        planner.decide(here, goal)
    assert (time.perf_counter() - began) / 5 < 0.1


def test_pictures_of_the_grid_lead_to_the_goal_as_the_cameras_do(capsys):
    asked = ["evaluate", str(IMAGE), "--tasks", "random", "--pictures", "grid"]
    assert main(asked) == 0
    assert "1.00" in capsys.readouterr().out
    agent = Agent.load(IMAGE, device="cpu")
    with pytest.raises(CogmapError, match="no pictures of corridor"):
        replace(agent.world, maze=CORRIDOR, pictures="grid").observe(np.zeros((1, 2)))


def test_another_shading_of_the_background_is_no_difference():
    eye = Keypoints((64, 64, 3), keypoints=4)
    eye.background.fill_(90)
    pictures = torch.as_tensor(dots(np.array([[8.0, 4.0]])))
    shaded = pictures.clone().int()
    shaded[:, :, ::2] += torch.where(pictures[:, :, ::2] == 90, SAME, 0)
    shaded = shaded.to(torch.uint8)
    eye.check(shaded)
    assert torch.equal(eye.prepare(shaded)[0], eye.prepare(pictures)[0])
    with pytest.raises(CogmapError, match="convolution"):
        eye.check((shaded.int() + 1).to(torch.uint8))
