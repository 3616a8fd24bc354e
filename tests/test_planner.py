"""Planner.decide: predict, score, choose (Alg. 3)."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from cogmap import Agent
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.tasks import Task, draw_pairs
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import PlannerPolicy, run_episodes
from cogmap.planning.candidates import Candidates, directions
from cogmap.planning.objective import Horizons, Rule, rule
from cogmap.planning.planner import GoalRegion, Memory, Planner
from cogmap.planning.settings import Planning
from cogmap.theory.scorer import ExactScorer
from cogmap.theory.walk import ReversibleWalk

LARGE = "models/pointmaze-large"
REGION = PointMaze(Maze.load("large")).goal_region()


class Straight:
    """Dynamics written by hand, of a world without walls: an action moves by itself."""

    hold = 1
    reach = torch.ones(2)

    def along(self, states, actions, steps):
        k = torch.arange(1, steps + 1)[None, :, None]
        return states[:, None] + k * actions[:, None]


class Bowl:
    """A score that falls with the distance to the goal, sharper at short horizons."""

    def __init__(self, taus=(1, 4, 16)):
        self.taus = torch.tensor(taus)
        self.embedded = 0

    def embed_goals(self, goals):
        self.embedded += len(goals)
        return goals

    def score(self, observations, goals):
        square = (observations - goals[:, None]).square().sum(-1)
        return -square[..., None] / self.taus


def planner_with(scorer, *, beta=math.inf, floor=None, radii=(1,), zero_weight=0.0, **rest):
    horizons = Horizons(scorer.taus.numpy(), np.full(len(scorer.taus), 1 / len(scorer.taus)))
    chosen = Rule("test", horizons, beta, floor, zero_weight, radii=radii)
    return Planner(scorer, Straight(), chosen, Candidates(directions(16), radii), **rest)


@pytest.mark.parametrize("beta", [0.0, 0.3, math.inf])
def test_in_the_open_every_temperature_heads_for_the_goal(beta):
    planner = planner_with(Bowl(), beta=beta)
    for angle in range(0, 360, 45):
        goal = 2.0 * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
        decision = planner.decide(np.zeros(2), goal)
        np.testing.assert_allclose(decision.action, goal / 2.0, atol=1e-6)


def test_any_dynamics_will_do_that_say_where_an_action_leads():
    class Walled(Straight):
        """With a wall to the right of the start, which nothing passes."""

        def along(self, states, actions, steps):
            return super().along(states, actions, steps).clamp(max=torch.tensor([0.1, 9.0]))

    scorer, goal = Bowl(), np.array([2.0, 1.0])
    mean = Rule("test", Horizons(scorer.taus.numpy(), np.full(3, 1 / 3)), math.inf)
    candidates = Candidates(directions(4), (1,))
    chosen = [
        Planner(scorer, world, mean, candidates).decide(np.zeros(2), goal).action
        for world in (Straight(), Walled())
    ]
    np.testing.assert_allclose(chosen, [[1.0, 0.0], [0.0, 1.0]], atol=1e-6)


def test_a_decision_is_the_formula_written_out():
    scorer = Bowl()
    planner = planner_with(scorer, beta=0.5)
    here, goal = np.array([0.3, -0.2]), np.array([1.1, 0.4])
    decision = planner.decide(here, goal)
    taus = scorer.taus.numpy()

    def ratio(x):
        return np.exp(-np.sum((x - goal) ** 2) / taus)

    values = []
    for action in directions(16):
        delta = ratio(here + action) - ratio(here)
        values.append(0.5 * np.log(np.mean(np.exp(delta / 0.5))))
    np.testing.assert_allclose(decision.values, values, rtol=1e-4, atol=1e-5)
    assert decision.candidate == int(np.argmax(values))
    best = ratio(here + decision.action) - ratio(here)
    np.testing.assert_allclose(decision.progress, best, rtol=1e-4, atol=1e-5)
    assert decision.horizon == taus[np.argmax(best)]
    np.testing.assert_allclose(decision.outcome, here + decision.action, atol=1e-6)


def test_a_candidate_is_worth_its_best_radius():
    goal = np.array([3.0, 0.0])
    near = planner_with(Bowl(), radii=(1,)).decide(np.zeros(2), goal)
    far = planner_with(Bowl(), radii=(1, 3, 5)).decide(np.zeros(2), goal)
    assert far.value > near.value
    np.testing.assert_allclose(far.outcome, goal, atol=1e-6)


def test_many_decisions_at_once_are_the_same_as_one_by_one():
    planner = planner_with(Bowl(), radii=(1, 2))
    rng = np.random.default_rng(0)
    here, goals = rng.normal(size=(7, 2)), rng.normal(size=(7, 2))
    together = planner.decide_many(here, goals)
    for row, decision in enumerate(together):
        alone = planner.decide(here[row], goals[row])
        assert alone.candidate == decision.candidate
        assert alone.value == pytest.approx(decision.value, rel=1e-5)


def test_a_goal_is_embedded_once():
    scorer = Bowl()
    planner = planner_with(scorer)
    for _ in range(5):
        planner.decide(np.zeros(2), np.ones(2))
    planner.decide(np.zeros(2), np.array([2.0, 1.0]))
    assert scorer.embedded == 2


def remembering(scorer, **rest):
    planner = planner_with(scorer, **rest)
    planner.rule = replace(planner.rule, memory=0.1)
    return planner


def test_what_was_tried_at_a_place_waits_until_the_rest_was_tried_too():
    planner, memory = remembering(Bowl()), Memory()
    here, goal = np.zeros((1, 2)), np.array([[5.0, 0.0]])
    order = []
    for _ in range(17):  # nothing that is tried moves the agent
        [decision] = planner.decide_many(here, goal, memories=[memory])
        memory.add(decision)
        order.append(decision.candidate)
    assert order[0] == 0 and order[1] in (1, 15)
    assert sorted(order[:16]) == list(range(16)) and order[16] == 0


def test_a_place_that_was_seen_is_worth_less_each_time():
    planner, memory = remembering(Bowl()), Memory()
    goal = np.array([[5.0, 0.0]])
    [before] = planner.decide_many(np.zeros((1, 2)), goal, memories=[memory])
    for _ in range(3):
        memory.add(replace(before, here=np.array([1.0, 0.0])))  # where candidate 0 leads
    [after] = planner.decide_many(np.zeros((1, 2)), goal, memories=[memory])
    assert after.values[0] == pytest.approx(before.values[0] - 0.3, abs=1e-6)
    assert after.values[8] == pytest.approx(before.values[8])


def test_a_rule_without_memory_does_the_same_again():
    planner, memory = planner_with(Bowl()), Memory()
    goal = np.array([[5.0, 0.0]])
    for _ in range(3):
        [decision] = planner.decide_many(np.zeros((1, 2)), goal, memories=[memory])
        memory.add(decision)
        assert decision.candidate == 0


def test_episodes_side_by_side_remember_each_for_itself():
    """A short memory is filled up beside a long one; what fills it, zeros, is no place seen."""
    planner, goals = remembering(Bowl()), np.array([[5.0, 0.0], [0.0, 5.0]])
    here = np.zeros((2, 2))  # at the origin, where the filling would lie
    long, none = Memory(), Memory()
    for _ in range(4):
        [decision] = planner.decide_many(here[:1], goals[:1], memories=[long])
        long.add(decision)
    together = planner.decide_many(here, goals, memories=[long, none])
    for k, memory in enumerate((long, none)):
        [alone] = planner.decide_many(here[[k]], goals[[k]], memories=[memory])
        assert alone.candidate == together[k].candidate
        np.testing.assert_allclose(alone.values, together[k].values, atol=1e-5)


def test_scores_below_the_floor_do_not_count():
    """Far off, only the long horizon still speaks; above the floor all do."""
    planner = planner_with(Bowl(taus=(1, 100)), floor=-6.0)
    decision = planner.decide(np.zeros(2), np.array([20.0, 0.0]))
    np.testing.assert_allclose(decision.progress[0], 0.0)
    assert decision.progress[1] > 0 and decision.horizon == 100


def test_the_horizon_zero_term_rewards_arrival():
    rewarded = planner_with(
        Bowl(), zero_weight=0.5, region=GoalRegion(REGION.arrived, 0.01), radii=(1, 2)
    )
    decision = rewarded.decide(np.zeros(2), np.array([2.5, 0.0]))
    assert decision.value > 0.5 / 0.01 * 0.99
    with pytest.raises(CogmapError, match="GoalRegion"):
        planner_with(Bowl(), zero_weight=0.5)


@pytest.mark.parametrize("goal", [np.zeros(3), np.array([np.nan, 0.0])])
def test_observations_and_goals_that_do_not_fit_are_refused(goal):
    with pytest.raises(CogmapError, match="finite"):
        planner_with(Bowl()).decide(np.zeros(2), goal)


@pytest.fixture(scope="module")
def agent():
    return Agent.load(LARGE, device="cpu")


@pytest.fixture(scope="module")
def world(agent):
    return replace(agent.world, physics="kinematic")


@pytest.mark.parametrize("name", ["gp", "pap", "geometric", "beta=0.3"])
def test_the_quadrature_chooses_as_every_integer_horizon_does(agent, world, name):
    pairs = draw_pairs(world.maze, count=6, seed=3)
    here = np.array([pair.start for pair in pairs])
    goals = np.array([pair.goal for pair in pairs])
    few = agent.planner(name, world=world, tau_max=1024)
    every = agent.planner(name, world=world, tau_max=1024, every_horizon=True)
    assert len(few.rule.horizons.taus) < len(every.rule.horizons.taus) / 8
    for one, two in zip(few.decide_many(here, goals), every.decide_many(here, goals)):
        gap = two.values.max() - two.values[one.candidate]
        assert gap <= 1e-3 * max(1.0, abs(two.values.max())), (one.candidate, two.candidate)


def test_the_shipped_model_reaches_far_goals(agent, world):
    tasks = draw_pairs(world.maze, count=5, seed=41)
    planner = agent.planner(world=world)
    episodes = run_episodes(world, tasks, PlannerPolicy(planner, hold=world.hold), budget=1000)
    assert all(episode.success for episode in episodes)
    assert np.mean([episode.efficiency for episode in episodes]) > 0.9


def test_horizons_shorten_on_the_way(agent, world):
    [episode] = run_episodes(
        world,
        [Task("far", (0.0, 0.0), (36.0, 24.0))],
        PlannerPolicy(agent.planner(world=world), hold=world.hold),
        budget=1000,
    )
    horizons = [decision.horizon for decision in episode.decisions]
    assert np.median(horizons[:8]) > 8 * np.median(horizons[-8:])


def test_planning_with_the_exact_score_reaches_every_goal(agent, world):
    tasks = draw_pairs(world.maze, count=8, seed=42)
    for name in ("gp", "log"):
        planner = agent.planner(name, world=world, score="exact")
        planner.rule = replace(planner.rule, memory=0.1)
        episodes = run_episodes(world, tasks, PlannerPolicy(planner, hold=world.hold), budget=1500)
        assert all(episode.success for episode in episodes), name


def test_the_exact_scorer_is_the_walks_score_on_lattice_points():
    lattice = Maze.load("medium").lattice
    taus = torch.tensor([1, 8, 64])
    scorer = ExactScorer(lattice.points, lattice.successors, taus)
    goal = 17
    points = torch.as_tensor(lattice.points, dtype=torch.float32)
    score = scorer.score(points[None], scorer.embed_goals(points[goal][None]))[0]
    expected = ReversibleWalk.on(lattice.successors).score(taus.numpy(), goal)
    np.testing.assert_allclose(score.numpy(), expected, atol=1e-4)


def test_horizons_beyond_the_models_are_refused(agent, world):
    with pytest.raises(CogmapError, match="horizons this model learned"):
        agent.planner(world=world, tau_max=10_000)
    with pytest.raises(CogmapError, match="below 1"):
        agent.planner(world=world, tau_max=0)


def test_gp_and_pap_are_as_the_paper_runs_them():
    for name, beta in (("gp", 0.0), ("pap", math.inf)):
        chosen = rule(Planning(planner=name), tau_max=512, every_horizon=True)
        assert chosen.beta == beta and chosen.radii == (1,) and chosen.memory == 0.0
        assert chosen.floor is None
        np.testing.assert_array_equal(chosen.horizons.taus, np.arange(1, 513))
