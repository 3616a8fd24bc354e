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
from cogmap.temporal.encoders import Eye
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
    eye = Eye((64, 64, 3), keypoints=4)
    eye.background.fill_(90)
    points = np.random.default_rng(0).uniform(4, 12, size=(50, 2))
    with torch.no_grad():
        looks = eye(*eye.window(torch.as_tensor(dots(points)).float())).numpy()
    fit = np.c_[looks, np.ones(50)]
    error = fit @ np.linalg.lstsq(fit, points, rcond=None)[0] - points
    pixel = 24 / 63  # units
    assert np.sqrt((error**2).sum(1).mean()) < 0.3 * pixel


def test_looks_point_to_the_right_and_upward():
    eye = Eye((64, 64, 3), keypoints=2)
    eye.background.fill_(90)
    with torch.no_grad():
        places = np.array([[4.0, 4.0], [8.0, 4.0], [4.0, 8.0]])
        here, right, up = eye(*eye.window(torch.as_tensor(dots(places)).float())).view(3, 2, 2)
    assert (right[:, 0] > here[:, 0] + 0.1).all() and (up[:, 1] > here[:, 1] + 0.1).all()
    assert torch.allclose(right[:, 1], here[:, 1], atol=0.05)
    assert torch.allclose(up[:, 0], here[:, 0], atol=0.05)


def test_the_window_gives_what_the_whole_picture_would():
    torch.manual_seed(1)
    eye = Eye((64, 64, 3), keypoints=4)
    eye.background.fill_(90)
    pictures = torch.as_tensor(dots(np.array([[-5.0, 4.0], [9.3, -5.5], [6.0, 5.0]]))).float()
    rows, columns = torch.meshgrid(
        torch.linspace(1, -1, 64), torch.linspace(-1, 1, 64), indexing="ij"
    )
    places = torch.stack([columns, rows], dim=-1).flatten(0, 1).expand(3, -1, -1)
    whole = ((pictures - 90) / 255).permute(0, 3, 1, 2)
    assert torch.allclose(eye(*eye.window(pictures)), eye(whole, places), atol=1e-5)


def test_an_empty_picture_gives_finite_looks():
    eye = Eye((64, 64, 3), keypoints=3)
    assert torch.equal(eye(*eye.window(torch.zeros(2, 64, 64, 3))), torch.zeros(2, 6))


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
    assert seen.observation_shape == (64, 64, 3) and seen.spread == 0.0


def small(**changes) -> TemporalTraining:
    settings = {"steps": 40, "tau_max": 64, "pairs": 4096, "width": 32, "embedding": 16}
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
    assert "exact score speaks of positions" in capsys.readouterr().err


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
