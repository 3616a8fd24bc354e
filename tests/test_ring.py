"""A world of one's own: a ring of 50 states, known to this file alone, from wandering to plans."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import cogmap
from cogmap.data.trajectories import Trajectories
from cogmap.envs.world import Moved, Task, TaskSet
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import floor, with_references
from cogmap.planning.candidates import Candidates
from cogmap.progress import no_bars

STATES = 50
STEPS = np.eye(2, dtype=np.float32)  # two discrete actions, as one-hot: forward and back


def seen(states: np.ndarray) -> np.ndarray:
    """A state is seen as a point on a circle, which has no end where the states' numbers have."""
    angle = 2 * np.pi * np.asarray(states) / STATES
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1).astype(np.float32)


class Ring:
    """Fifty states in a circle. No map, no shortest ways."""

    name = "ring"
    observation_shape = (2,)
    action_size = 2
    hold = 1
    map = None

    def describe(self):
        return {"kind": "ring", "states": STATES}

    def conditions(self):
        return {"states": STATES}

    def settled(self, settings, *, tell):
        return self, settings

    def check(self, settings, *, tau_max):
        if tau_max > settings.walk_steps:
            raise CogmapError(f"tau_max={tau_max} exceeds the walk.")

    def explore(self, settings, folder, *, seed, bars, pairs=None, transitions=None):
        """Random actions serve for both: their pairs and their transitions are the same rows."""
        if not (folder / "meta.json").exists():
            rng = np.random.default_rng(seed)
            choice = rng.integers(2, size=settings.walk_steps + 1)
            states = np.cumsum(np.where(choice == 0, 1, -1))[:-1]
            Trajectories(
                episode_starts=np.array([0]),
                observations=seen(np.concatenate([[0], states])),
                actions=STEPS[choice],
            ).save(folder)
        data = Trajectories.load(folder)
        return data, data

    def random_actions(self, rng, count):
        return STEPS[rng.integers(2, size=count)]

    def candidates(self, settings, *, radii, hold):
        return Candidates(STEPS, radii)

    def tasks(self, name, *, episodes=None, budget=None, seed=0):
        rng = np.random.default_rng(seed)
        starts = rng.integers(STATES, size=episodes or 20)
        goals = (starts + rng.integers(10, 41, size=len(starts))) % STATES
        tasks = [
            Task(f"task{k}", (float(s),), (float(g),))
            for k, (s, g) in enumerate(zip(starts, goals))
        ]
        return TaskSet(name or "random", tasks, budget or 60, seed)

    def begin(self, tasks: Sequence[Task]):
        return RingRun(tasks)


class RingRun:
    places = None

    def __init__(self, tasks):
        self._states = np.array([int(task.start[0]) for task in tasks])
        self._goals = np.array([int(task.goal[0]) for task in tasks])
        self.goals = seen(self._goals)
        self.succeeded = self._states == self._goals

    stayed = None

    @property
    def finished(self):
        return self.succeeded

    def observe(self, which):
        return seen(self._states[which])

    def act(self, which, actions, steps):
        assert steps == 1 and actions.shape == (len(which), 2)
        forward = actions.argmax(axis=1) == 0
        self._states[which] = (self._states[which] + np.where(forward, 1, -1)) % STATES
        self.succeeded[which] = self._states[which] == self._goals[which]
        return Moved(np.ones(len(which), dtype=int), np.ones(len(which)))

    def shortest(self):
        return None


SETTINGS = cogmap.RunSettings(
    exploration=cogmap.Exploration(walk_steps=40_000),
    temporal=cogmap.TemporalTraining(steps=150, tau_max=512, batch=256, width=48, embedding=16),
    dynamics=cogmap.DynamicsTraining(steps=200, batch=256, width=48, cycles=0.5),
    planning=cogmap.Planning(radii=(1, 2, 3)),
    device="cpu",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ring") / "run"
    cogmap.train(Ring(), SETTINGS, folder)
    return folder


@pytest.fixture(scope="module")
def agent(folder):
    return cogmap.Agent.load(folder, world=Ring(), device="cpu")


def test_a_ring_is_explored_learned_and_planned_in_by_the_public_functions(agent):
    result = cogmap.evaluate(agent)
    assert result.sr == 1.0 and len(result.episodes) == 20
    steps = [episode.steps for episode in result.episodes]
    shorter = [
        min(way := int(abs(e.task.start[0] - e.task.goal[0])), STATES - way)
        for e in result.episodes
    ]
    assert np.mean(steps) < 1.6 * np.mean(shorter)
    assert floor(Ring(), Ring().tasks(None)).sr < 0.8


def test_a_world_that_knows_no_shortest_ways_has_no_spl(agent):
    result = cogmap.evaluate(agent, episodes=3)
    assert result.spl is None and result.summary()["spl"] is None
    assert [row["shortest"] for row in result.rows()] == [None] * 3
    assert len(with_references(Ring(), result)) == 2  # the floor; there is no oracle


def test_one_plan_in_the_ring(agent):
    episode = cogmap.plan(agent, [0], [12], budget=40)
    assert episode.success and 12 <= episode.steps <= 20 and episode.route == []
    assert {tuple(d.action) for d in episode.decisions} <= {(1.0, 0.0), (0.0, 1.0)}


def test_a_run_of_a_world_of_ones_own_is_loaded_with_it_and_refused_without(folder):
    alone = cogmap.Agent.load(folder, device="cpu")
    assert alone.world is None
    with pytest.raises(CogmapError, match="give --maze"):
        cogmap.evaluate(alone)


def test_without_its_world_a_run_still_leads_by_the_actions_that_it_saw(folder):
    alone, state, goal = cogmap.Agent.load(folder, device="cpu"), 0, 12
    controller = alone.controller(seen(goal))
    for _ in range(30):
        action = controller.act(seen(state))
        if controller.arrived:
            break
        state = (state + (1 if action.argmax() == 0 else -1)) % STATES
    assert controller.arrived and state == goal


def test_what_needs_a_map_says_so(agent):
    with pytest.raises(CogmapError, match="the exact score draws on a map; ring has none"):
        agent.planner(score="exact")


def test_a_finished_run_is_resumed_without_another_step(folder):
    before = (folder / "temporal" / "model.safetensors").read_bytes()
    cogmap.resume(folder, world=Ring())
    assert (folder / "temporal" / "model.safetensors").read_bytes() == before
    with pytest.raises(CogmapError, match="holds a run already"):
        cogmap.train(Ring(), SETTINGS, folder)


def test_what_cannot_be_explored_is_refused_before_anything_is_written(tmp_path):
    short = cogmap.RunSettings(exploration=cogmap.Exploration(walk_steps=10))
    with pytest.raises(CogmapError, match="exceeds the walk"):
        cogmap.train(Ring(), short, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_ring_keeps_what_it_explored(tmp_path):
    settings = cogmap.Exploration(walk_steps=100)
    first, _ = Ring().explore(settings, tmp_path, seed=0, bars=no_bars)
    again, _ = Ring().explore(settings, tmp_path, seed=1, bars=no_bars)
    assert np.array_equal(first.observations, again.observations)
    gaps = np.linalg.norm(np.diff(first.observations, axis=0), axis=1)
    np.testing.assert_allclose(gaps, 2 * np.sin(np.pi / STATES), rtol=1e-4)
