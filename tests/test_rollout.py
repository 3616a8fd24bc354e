from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.tasks import Task, random_tasks
from cogmap.envs.world import TaskSet
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import ceiling, floor, run
from cogmap.evaluation.explored import are_near, with_both_ends
from cogmap.evaluation.metrics import path_efficiency, success_rate, wilson_interval
from cogmap.evaluation.rollout import (
    OraclePolicy,
    PlannerPolicy,
    RandomPolicy,
    Restless,
    run_episodes,
)
from cogmap.planning.planner import Decision

EAST, NORTH = (1.0, 0.0), (0.0, 1.0)


@pytest.fixture(scope="module")
def corridor() -> PointMaze:
    return PointMaze(Maze.from_text("#######\n#.....#\n#######", name="hall"), physics="kinematic")


@pytest.fixture(scope="module")
def medium() -> PointMaze:
    return PointMaze(Maze.load("medium"), physics="kinematic")


class Constant(Restless):
    """Always the same action; remembers which episodes asked."""

    def __init__(self, action=EAST, hold: int = 5) -> None:
        self.action, self.hold, self.asked = action, hold, []

    def act(self, episodes, positions, goals):
        self.asked.append(episodes.tolist())
        return np.tile(self.action, (len(positions), 1)), [None] * len(positions)


class Stubborn:
    """Stands in for a planner: takes the first candidate, and remembers what it was told."""

    def __init__(self) -> None:
        self.candidates = SimpleNamespace(actions=np.array([EAST, NORTH, (-1.0, 0.0)]))
        self.told = []

    def decide_many(self, observations, goals, *, memories):
        self.told.append([(np.round(m.places, 6).tolist(), list(m.chosen)) for m in memories])
        nothing = np.zeros(2)
        action = self.candidates.actions[0]
        return [
            Decision(
                candidate=0,
                action=action,
                value=0.0,
                horizon=1,
                taus=nothing,
                progress=nothing,
                values=nothing,
                outcome=nothing,
                here=observation,
            )
            for observation in observations
        ]


def tried(policy: PlannerPolicy, episodes: list[int], positions: list) -> list[int]:
    places = np.array(positions, dtype=float)
    _, decisions = policy.act(np.array(episodes), places, np.zeros_like(places))
    return [decision.candidate for decision in decisions]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_wilson_interval_is_that_of_scipy(counts):
    expected = binomtest(*counts).proportion_ci(method="wilson")
    assert np.allclose(wilson_interval(*counts), (expected.low, expected.high), atol=1e-6)


@pytest.mark.parametrize(
    ("success", "length", "shortest", "efficiency"),
    [
        (True, 10.0, 8.0, 0.8),
        (True, 8.0, 8.0, 1.0),
        (True, 7.9, 8.0, 1.0),
        (False, 8.0, 8.0, 0.0),
        (True, 0.0, 0.0, 1.0),
        (False, 3.0, 0.0, 0.0),
    ],
)
def test_path_efficiency_is_one_term_of_eq_11(success, length, shortest, efficiency):
    assert path_efficiency(success, length, shortest) == pytest.approx(efficiency)


def test_the_success_rate_is_the_share_of_successes():
    assert success_rate([True, False, False, True, True]) == 0.6


def test_success_ends_an_episode_at_the_first_step_inside_one_unit(corridor):
    task = Task("hall", (0.0, 0.0), (10.1, 0.0))
    [episode] = run_episodes(corridor, [task], Constant(), budget=1000)
    assert episode.success
    assert episode.steps == 46  # 9.2 units at 0.2 a step; after 45 steps 1.1 units are left
    assert episode.length == pytest.approx(9.2)
    assert episode.shortest == pytest.approx(9.1)
    assert episode.efficiency == pytest.approx(9.1 / 9.2)
    assert np.allclose(episode.route[-1], [9.2, 0.0])


def test_the_route_holds_the_position_at_each_decision_and_the_end(corridor):
    task = Task("hall", (0.0, 0.0), (4.5, 0.0))
    [episode] = run_episodes(corridor, [task], Constant(), budget=1000)
    assert np.allclose(episode.route, [(x, 0.0) for x in (0.0, 1.0, 2.0, 3.0, 3.6)])


@pytest.mark.parametrize("budget", [1, 4, 5, 10, 12])
def test_the_budget_is_respected_whether_or_not_the_hold_divides_it(budget, corridor):
    policy = Constant(hold=5)
    tasks = [Task("far", (0.0, 0.0), (16.0, 0.0)), Task("near", (0.0, 0.0), (1.1, 0.0))]
    far, near = run_episodes(corridor, tasks, policy, budget=budget)
    assert (far.success, far.steps) == (False, budget)
    assert far.length == pytest.approx(0.2 * budget)
    assert far.efficiency == 0.0
    assert (near.success, near.steps) == (True, 1)
    assert policy.asked == [[0, 1]] + [[0]] * (len(range(0, budget, 5)) - 1)


def test_an_episode_that_reaches_its_goal_with_the_last_step_succeeds(corridor):
    task = Task("hall", (0.0, 0.0), (10.1, 0.0))
    for budget, success in ((45, False), (46, True)):
        [episode] = run_episodes(corridor, [task], Constant(), budget=budget)
        assert episode.success == success


def test_an_episode_that_starts_at_its_goal_succeeds_with_no_step(corridor):
    policy = Constant()
    [episode] = run_episodes(corridor, [Task("here", (0.0, 0.0), (1.0, 0.0))], policy, budget=50)
    assert episode.success
    assert (episode.steps, episode.length, episode.efficiency) == (0, 0.0, 1.0)
    assert len(episode.route) == 1
    assert policy.asked == []


def test_a_wall_stops_the_agent_but_not_the_count_of_steps(corridor):
    task = Task("hall", (16.0, 0.0), (0.0, 0.0))
    [episode] = run_episodes(corridor, [task], Constant(), budget=100)
    assert episode.steps == 100
    assert episode.route[-1][0] == pytest.approx(17.34, abs=0.02)
    assert episode.length == pytest.approx(1.34, abs=0.02)


def test_the_length_of_a_path_counts_its_bends_between_decisions(corridor):
    start, action = np.zeros((1, 2)), (1.0, -1.0)
    [episode] = run_episodes(
        corridor, [Task("hall", (0.0, 0.0), (16.0, 0.0))], Constant(action, hold=20), budget=20
    )
    physics = corridor.simulator()
    physics.reset(start)
    path = np.concatenate([start, physics.hold(np.array([action]), 20, [True])[0]])
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert episode.length == pytest.approx(steps.sum())
    assert episode.length > np.linalg.norm(path[-1]) + 0.1  # the wall bends the way


def test_episodes_run_together_equal_episodes_run_alone(medium):
    tasks = random_tasks(medium.maze)[:4] + [Task("here", (0.0, 0.0), (0.5, 0.0))]
    together = run_episodes(medium, tasks, OraclePolicy(medium.map, hold=medium.hold), budget=5000)
    assert len({episode.steps for episode in together}) > 2
    for task, one in zip(tasks, together, strict=True):
        [alone] = run_episodes(
            medium, [task], OraclePolicy(medium.map, hold=medium.hold), budget=5000
        )
        assert (alone.task, alone.success, alone.steps) == (task, one.success, one.steps)
        assert alone.length == one.length
        assert np.array_equal(alone.route, one.route)


def test_progress_is_reported_up_to_the_last_episode(corridor):
    tasks = [Task("a", (0.0, 0.0), (2.9, 0.0)), Task("b", (0.0, 0.0), (8.9, 0.0))]
    reports = []
    run_episodes(corridor, tasks, Constant(), budget=100, report=lambda *now: reports.append(now))
    assert [finished for finished, _ in reports] == [0, 0, 1, 1, 1, 1, 1, 1, 2]
    assert {total for _, total in reports} == {2}


def test_the_oracle_reaches_the_random_pairs_of_medium_almost_as_straight_as_can_be():
    pytest.importorskip("ogbench")
    world = PointMaze(Maze.load("medium"))
    result = ceiling(world, world.tasks("random"))
    assert len(result.episodes) == 20
    assert result.sr == 1.0
    assert 0.97 < result.spl < 1.0


def test_the_random_policy_fails_the_official_tasks_of_large():
    world = PointMaze(Maze.load("large"), physics="kinematic")
    result = floor(world, world.tasks("official", episodes=1))
    assert result.budget == 1000
    assert [episode.task.name for episode in result.episodes] == [f"task{i}" for i in range(1, 6)]
    assert (result.sr, result.spl) == (0.0, 0.0)
    assert all(episode.steps == 1000 and episode.length > 80 for episode in result.episodes)


def test_the_random_policy_follows_its_seed(medium):
    which, places = np.arange(3), np.zeros((3, 2))
    first, again, other = (
        RandomPolicy(medium, seed=seed).act(which, places, places)[0] for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_each_episode_remembers_where_it_decided_what():
    planner = Stubborn()
    policy = PlannerPolicy(planner, hold=5)
    tried(policy, [3, 5], [(0.0, 0.0), (9.0, 9.0)])
    tried(policy, [3, 5], [(1.0, 0.0), (9.0, 9.0)])
    tried(policy, [5], [(8.0, 9.0)])  # episode 3 is over
    assert planner.told[0] == [([], []), ([], [])]
    assert planner.told[1] == [([[0.0, 0.0]], [0]), ([[9.0, 9.0]], [0])]
    assert planner.told[2] == [([[9.0, 9.0], [9.0, 9.0]], [0, 0])]


def test_an_evaluation_sums_up_its_episodes(corridor):
    tasks = [
        Task("near", (0.0, 0.0), (5.1, 0.0)),
        Task("wrong way", (8.0, 0.0), (0.0, 0.0)),
        Task("here", (0.0, 0.0), (0.0, 0.0)),
    ]
    result = run(corridor, TaskSet("mine", tasks, 100, 7), Constant(), name="east")
    assert result.sr == pytest.approx(2 / 3)
    assert result.spl == pytest.approx((4.1 / 4.2 + 0 + 1) / 3)
    assert result.interval == wilson_interval(2, 3)
    summary = result.summary()
    expected = {
        "planner": "east",
        "world": "pointmaze-hall",
        "tasks": "mine",
        "episodes": 3,
        "sr": 0.6667,
    }
    expected |= {"seed": 7, "budget": 100, "physics": "kinematic"}
    assert {name: summary[name] for name in expected} == expected
    assert result.rows()[0] == {
        "task": "near",
        "start": [0.0, 0.0],
        "goal": [5.1, 0.0],
        "success": True,
        "steps": 21,
        "length": 4.2,
        "shortest": 4.1,
        "spl": round(4.1 / 4.2, 4),
    }


def test_a_place_counts_as_seen_up_to_the_given_distance_and_no_farther():
    seen = np.array([(0.0, 0.0), (4.0, 0.0)])
    places = np.array([(0.6, 0.8), (0.61, 0.8), (3.5, 0.5), (2.0, 0.0)])
    assert are_near(places, seen, within=1.0).tolist() == [True, False, True, False]


def test_rates_where_both_ends_were_explored_leave_out_episodes_with_one(corridor):
    tasks = [
        Task("explored", (0.0, 0.0), (5.1, 0.0)),
        Task("explored, wrong way", (5.0, 0.0), (0.0, 0.0)),
        Task("goal unseen", (0.0, 0.0), (12.0, 0.0)),
        Task("start unseen", (12.0, 0.0), (5.0, 0.0)),
    ]
    result = run(corridor, TaskSet("mine", tasks, 100, 7), Constant(), name="east")
    seen = np.array([(x, 0.0) for x in range(6)])
    assert result.sr == 0.5
    assert with_both_ends(result, seen, within=1.0) == {
        "explored": 2,
        "explored_sr": 0.5,
        "explored_spl": round(4.1 / 4.2 / 2, 4),
    }
    nowhere = {"explored": 0, "explored_sr": None, "explored_spl": None}
    assert with_both_ends(result, seen[:1], within=1.0) == nowhere


def test_tasks_are_official_where_ogbench_has_some_and_random_elsewhere(medium, corridor):
    chosen = medium.tasks(None, episodes=2)
    assert (chosen.name, len(chosen.tasks), chosen.budget) == ("official", 10, 1000)
    chosen = corridor.tasks(None)
    assert (chosen.name, len(chosen.tasks), chosen.budget) == ("random", 20, 5000)


def test_a_file_of_pairs_can_be_evaluated_with_repeats_and_a_budget(corridor, tmp_path):
    file = tmp_path / "mine.json"
    file.write_text('[{"start": [0, 0], "goal": [8, 0]}]')
    chosen = corridor.tasks(str(file), episodes=3, budget=77, seed=5)
    assert (chosen.name, chosen.budget, chosen.seed) == ("mine.json", 77, 5)
    assert chosen.tasks[0] == Task("pair1", (0.0, 0.0), (8.0, 0.0))
    assert all(replace(task, start=(0.0, 0.0)) == chosen.tasks[0] for task in chosen.tasks)
    assert len(set(chosen.tasks)) == 3


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"episodes": 0}, "episodes=0; give at least 1"),
        ({"budget": 0}, "budget=0; give at least 1 simulator step"),
        ({"name": "official"}, "maze hall has no official tasks"),
        ({"name": "none.json"}, "none.json cannot be read"),
    ],
)
def test_impossible_task_sets_are_refused(settings, complaint, corridor):
    with pytest.raises(CogmapError, match=complaint):
        corridor.tasks(**{"name": None, **settings})
