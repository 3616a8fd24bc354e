"""cube-single as a world: the protocol, its floors, and a small run from the oracle to a plan."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import cogmap
from cogmap.envs import cube, cube_pairs, handling
from cogmap.envs.arm import CUBE, NAMES, Arm
from cogmap.envs.cube import CubeSingle, episodes_of
from cogmap.envs.cube_pairs import LEWM_EPISODES, OFFSET, Pairs
from cogmap.envs.kinds import restored
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import all_references
from cogmap.evaluation.rollout import run_episodes

pytest.importorskip("ogbench")

SMALL = cogmap.RunSettings(
    exploration=cogmap.Exploration(walk_steps=800, expert=0.5),
    temporal=cogmap.TemporalTraining(steps=30, batch=32, width=32, embedding=16),
    dynamics=cogmap.DynamicsTraining(steps=30, batch=64, width=32),
    device="cpu",
)


@pytest.fixture(scope="module")
def world():
    return CubeSingle()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cube") / "run"
    cogmap.train(CubeSingle(), SMALL, folder)
    return folder


@pytest.mark.parametrize("name", ["held-out", "lewm"])
def test_replaying_what_was_recorded_reaches_every_goal_and_doing_nothing_few(world, name):
    tasks = world.tasks(name, episodes=None, budget=None, seed=0)
    references = world.references(tasks.tasks)
    replayed = run_episodes(
        world, tasks.tasks, references["replay of the record"], budget=tasks.budget
    )
    assert len(replayed) == {"held-out": 1000, "lewm": 50}[name]
    assert all(episode.success for episode in replayed)
    assert max(episode.steps for episode in replayed) <= OFFSET
    solved = np.array([episode.solved for episode in replayed])
    assert 0.3 < solved.mean() < 0.5  # LeWM's released data: 0.38


def test_nothing_but_the_solved_pairs_is_reached_by_doing_nothing(world):
    tasks = world.tasks("held-out", episodes=200, budget=None, seed=0)
    random, still, replay = all_references(world, tasks)
    for result in (random, still):
        needed = [episode.success for episode in result.unsolved]
        assert np.mean(needed) < 0.25
        assert all(episode.success for episode in result.episodes if episode.solved)
    assert still.summary()["unsolved"] + sum(e.solved for e in still.episodes) == 200
    assert replay.summary()["unsolved_sr"] == 1.0


def test_the_manifest_says_where_each_pair_was_recorded(world):
    from cogmap.envs.handling import handle

    pairs = Pairs.packaged()
    (episode, row), number = cube_pairs.places("held-out")[3], 3
    one = handle(world.arm, "expert", seed=cube_pairs.HELD_OUT_SEED, number=episode)
    np.testing.assert_allclose(pairs.starts[number], one.states[row], atol=1e-5)
    np.testing.assert_allclose(pairs.goals[number], one.observations[row + OFFSET], atol=1e-4)
    drawn = cube_pairs.places("lewm")
    assert len(set(drawn)) == 50 and max(drawn)[0] < LEWM_EPISODES
    manifest = Path(cube_pairs.__file__).parent / "pairs" / "cube-single.json"
    told = json.loads(manifest.read_text())["sets"]
    for name, about in told.items():
        assert [tuple(place) for place in about["pairs"]] == cube_pairs.places(name)


def test_states_that_are_not_the_manifests_are_refused(tmp_path):
    source = Path(cube_pairs.__file__).parent / "pairs"
    for kind in ("json", "npz"):
        shutil.copy(source / f"cube-single.{kind}", tmp_path)
    assert len(Pairs.load(tmp_path).starts) == 1050
    states = tmp_path / "cube-single.npz"
    states.write_bytes(states.read_bytes()[:-1])
    with pytest.raises(CogmapError, match="not the manifest's.*copy both anew") as caught:
        Pairs.load(tmp_path)
    assert "\n" not in str(caught.value)
    states.unlink()
    with pytest.raises(CogmapError, match="cannot be read"):
        Pairs.load(tmp_path)


def test_success_is_asked_for_after_a_step_and_ends_an_episode(world):
    solved = int(np.flatnonzero(Pairs.packaged().solved)[0])
    running = world.begin([cogmap.envs.world.Task("one", (float(solved),), ())])
    assert running.solved[0] and not running.succeeded[0] and running.there[0]
    moved = running.act(np.array([0]), np.zeros((1, 5)), 5)
    assert running.succeeded[0] and moved.steps[0] == 1


def test_a_small_run_from_the_oracle_to_a_plan(run):
    agent = cogmap.Agent.load(run)
    config = agent.temporal.config
    assert config.target == (CUBE.start, CUBE.start + 1, CUBE.start + 2) and not config.tied
    result = cogmap.evaluate(agent, episodes=4, budget=5)
    assert result.summary()["candidates"] == 32 and result.spl is None
    decision = result.episodes[-1].decisions[0]
    assert decision.action.shape == (5,) and len(decision.values) == 32
    assert restored(agent.world.describe()) == agent.world
    assert agent.world.observation_names == NAMES


def test_goals_are_told_by_the_cubes_place_alone(run):
    agent = cogmap.Agent.load(run)
    planner = agent.planner()
    goal = Pairs.packaged().goals[:1]
    other = goal.copy()
    other[:, [i for i in range(28) if not CUBE.start <= i < CUBE.stop]] += 0.3
    here = Pairs.packaged().goals[1:2]
    values = [planner.weigh(here, g).value.numpy() for g in (goal, other)]
    np.testing.assert_array_equal(*values)
    moved = goal.copy()
    moved[:, CUBE] += 0.3
    assert np.abs(planner.weigh(here, moved).value.numpy() - values[0]).max() > 0


def test_a_share_of_experts_is_recorded():
    def of(share):
        return episodes_of(cogmap.Exploration(walk_steps=1000, expert=share))

    assert of(0.25) == {"expert": 1, "noisy": 4} and of(1.0) == {"expert": 5, "noisy": 0}


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"walk_steps": 150}, "multiple of 200"),
        ({"walk_steps": 400, "expert": 1.5}, "share from 0 to 1"),
    ],
)
def test_wrong_sizes_are_refused_before_anything_is_recorded(world, settings, line, tmp_path):
    wrong = cogmap.RunSettings(exploration=cogmap.Exploration(**settings))
    with pytest.raises(CogmapError, match=line):
        cogmap.train(world, wrong, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ({"name": "official"}, "cube-single has held-out and lewm"),
        ({"name": "lewm", "episodes": 51}, "lewm has 50 pairs"),
        ({"name": "lewm", "budget": 0}, "at least 1 simulator step"),
    ],
)
def test_wrong_tasks_are_refused(world, told, line):
    with pytest.raises(CogmapError, match=line):
        world.tasks(**({"episodes": None, "budget": None, "seed": 0} | told))


def test_a_pair_that_is_not_there_is_refused(world):
    with pytest.raises(CogmapError, match="pairs 0 to 1049"):
        world.begin([cogmap.envs.world.Task("one", (2000.0,), ())])


def test_a_run_of_another_world_cannot_act_here(world):
    agent = cogmap.Agent.load("models/pointmaze-large")
    with pytest.raises(CogmapError, match="cube-single shows"):
        cogmap.evaluate(agent, world=world)


def test_a_small_run_from_pictures(tmp_path, monkeypatch):
    """Of short episodes: forty pictures a second are drawn here."""
    monkeypatch.setattr(handling, "STEPS", 20)
    monkeypatch.setattr(cube, "STEPS", 20)
    monkeypatch.setattr(cube, "CHECKED", 1)
    here = handling.handled_part
    monkeypatch.setattr(handling, "_make", lambda parts, workers, bar: [here(*p) for p in parts])
    small = cogmap.RunSettings(
        exploration=cogmap.Exploration(walk_steps=20),
        sight=cogmap.SightTraining(steps=4, batch=8),
        temporal=cogmap.TemporalTraining(steps=4, tau_max=16, batch=8, width=16, embedding=8),
        dynamics=cogmap.DynamicsTraining(steps=4, batch=16, width=16),
        device="cpu",
    )
    world = CubeSingle(observation="image")
    agent = cogmap.train(world, small, tmp_path / "run")
    sight = agent.sight.config
    assert sight.frames == 4 and agent.temporal.config.target == tuple(range(sight.numbers))
    assert agent.world == world and agent.sees
    result = cogmap.evaluate(agent, episodes=2, budget=2)
    assert result.episodes[0].decisions[0].here.shape == (sight.state_size,)
    assert result.summary()["observation"] == "image"
    with pytest.raises(CogmapError, match="no words"):
        cogmap.evaluate(agent, episodes=1, world=CubeSingle(observation="image", goal="cube_x=1"))


def test_what_the_user_says_of_planning_stands_beside_what_the_world_chooses(world):
    told = cogmap.RunSettings(planning=cogmap.Planning(planner="pap", radii=(1, 2)))
    planning = world.settled(told, tell=print)[1].planning
    assert (planning.planner, planning.radii, planning.recalled) == ("pap", (1, 2), 32)
    assert not planning.memory


def test_states_are_alike_wherever_on_the_table_they_are(world):
    here = Pairs.packaged().goals[0].astype(np.float64)
    aside = here.copy()
    for axis in "xy":
        for what in ("gripper", "cube"):
            aside[NAMES.index(f"{what}_{axis}")] += 1.0
    np.testing.assert_allclose(world.likeness @ here, world.likeness @ aside, atol=1e-5)
    nearer = here.copy()
    nearer[CUBE] += 0.1
    assert np.linalg.norm(world.likeness @ (nearer - here)) == pytest.approx(0.3 * 3**0.5)


def test_pictures_that_a_world_does_not_have_are_refused():
    from cogmap.commands.worlds import pictured

    seen = CubeSingle(observation="image")
    assert pictured(seen, "camera").pictures == "camera"
    assert pictured(seen, "camera").conditions()["pictures"] == "camera"
    with pytest.raises(CogmapError, match="--pictures grid: .*cube-single; it has quick and cam"):
        pictured(seen, "grid")
    maze = cogmap.PointMaze(cogmap.Maze.load("medium"), observation="image")
    with pytest.raises(CogmapError, match="it has camera and grid"):
        pictured(maze, "quick")


def test_of_pictures_goals_are_few_learned_numbers_and_of_states_the_cubes_place():
    settings = cogmap.RunSettings()
    seen = CubeSingle(observation="image").settled(settings, tell=print)[1]
    assert (seen.sight.frames, seen.temporal.goal_numbers, seen.temporal.target) == (4, 3, ())
    told = CubeSingle().settled(settings, tell=print)[1]
    assert (told.sight.frames, told.temporal.goal_numbers) == (0, 0)
    assert told.temporal.target == (19, 20, 21)
    own = cogmap.RunSettings(temporal=cogmap.TemporalTraining(goal_numbers=5))
    assert CubeSingle().settled(own, tell=print)[1].temporal.target == ()


def test_references_draw_nothing(world, monkeypatch):
    """A picture takes as long as many steps of the simulator."""
    from cogmap.evaluation.evaluate import all_references

    def drawn(self, **how):
        raise AssertionError("a picture was drawn")

    monkeypatch.setattr(Arm, "frame", drawn)
    seen = CubeSingle(observation="image")
    tasks = seen.tasks(None, episodes=2, budget=3, seed=0)
    same = [[e.steps for e in r.episodes] for r in all_references(seen, tasks)]
    assert same == [[e.steps for e in r.episodes] for r in all_references(world, tasks)]
