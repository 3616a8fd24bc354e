"""Planner.decide: predict, score, choose (Alg. 3)."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from cogmap import Agent
from cogmap.envs.maze import Maze
from cogmap.envs.tasks import Task, draw_pairs
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import PlannerPolicy, run_episodes
from cogmap.planning.candidates import Candidates, directions
from cogmap.planning.memory import Memory
from cogmap.planning.objective import IN_VIEW, Horizons, Rule, in_view, rule
from cogmap.planning.planner import Planner
from cogmap.planning.settings import PAPER, Planning
from cogmap.theory.scorer import ExactScorer
from cogmap.theory.walk import ReversibleWalk

LARGE = "models/pointmaze-large"
OCTAVES = tuple(2**k for k in range(12))
UP_TO_64 = [64 // 2**k for k in reversed(range(IN_VIEW))]  # as many as are asked


class Straight:
    """Dynamics written by hand, of a world without walls: an action moves by itself."""

    hold = 1
    reach = torch.ones(2)

    def along(self, states, actions, steps):
        k = torch.arange(1, steps + 1)[None, :, None]
        return (states[:, None] + k * actions[:, None])[:, None]


class Bowl:
    """A score that falls with the distance to the goal, sharper at short horizons."""

    def __init__(self, taus=(1, 4, 16), *, plus=0.0):
        self.taus = torch.tensor(taus)
        self.embedded = 0
        self._plus = plus

    def embed_goals(self, goals):
        self.embedded += len(goals)
        return goals

    def score(self, observations, goals, at=None):
        square = (observations[:, None] - goals[:, :, None]).double().square().sum(-1)
        score = self._plus - square[..., None] / self.taus  # (E, S, K, T)
        score = score.logsumexp(1) - math.log(goals.shape[1])
        return score if at is None else score.gather(-1, at[:, None].expand(-1, len(score[0]), -1))


def planner_with(scorer, *, beta=math.inf, radii=(1,), actions=16, **rest):
    horizons = Horizons(scorer.taus.numpy(), np.full(len(scorer.taus), 1 / len(scorer.taus)))
    chosen = Rule("test", horizons, beta, radii=radii, **rest)
    return Planner(scorer, Straight(), chosen, Candidates(directions(actions), radii))


def best_of(here, goal, taus):
    """GP written out: V of each of 16 moves is the largest gain in exp(G). -> (16,)"""

    def ratio(x):
        return np.exp(-np.sum((x - goal) ** 2) / np.array(taus))

    return [np.max(ratio(here + move) - ratio(here)) for move in directions(16)]


@pytest.mark.parametrize("beta", [0.0, 0.3, math.inf])
def test_in_the_open_every_temperature_heads_for_the_goal(beta):
    planner = planner_with(Bowl(), beta=beta)
    for angle in range(0, 360, 45):
        goal = 2.0 * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
        decision = planner.decide(np.zeros(2), goal)
        np.testing.assert_allclose(decision.action, goal / 2.0, atol=1e-6)


def test_what_may_turn_out_in_two_ways_makes_the_goal_as_likely_as_they_do_on_average():
    class Lottery(Straight):
        """An action leads where it points, or as often the other way."""

        def along(self, states, actions, steps):
            ahead = super().along(states, actions, steps)
            return torch.cat([ahead, super().along(states, -actions, steps)], 1)

    scorer, goal = Bowl(), np.array([[2.0, 1.0]])
    mean = Rule("test", Horizons(scorer.taus.numpy(), np.full(3, 1 / 3)), math.inf)
    sure, either = (
        Planner(scorer, world, mean, Candidates(directions(4), (1,))).weigh(np.zeros((1, 2)), goal)
        for world in (Straight(), Lottery())
    )
    there, back = sure.score[0], sure.score[0].roll(2, 0)  # directions 0 and 2 are opposite
    assert torch.allclose(either.score[0], torch.logaddexp(there, back) - math.log(2), atol=1e-6)


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


def test_without_a_view_every_horizon_is_asked_and_gp_takes_the_best_of_all():
    here, goal = np.zeros(2), np.array([5.0, 1.0])
    decision = planner_with(Bowl(OCTAVES), beta=0.0).decide(here, goal)
    assert decision.taus.tolist() == list(OCTAVES)
    np.testing.assert_allclose(decision.values, best_of(here, goal, OCTAVES), atol=1e-6)


def test_with_a_view_gp_takes_the_best_of_the_horizons_in_view_alone():
    here, goal = np.zeros(2), np.array([20.0, 3.0])  # G = -409 / tau: in view from 64 on
    decision = planner_with(Bowl(OCTAVES), beta=0.0, view=8.0).decide(here, goal)
    assert decision.taus.tolist() == UP_TO_64
    np.testing.assert_allclose(decision.values, best_of(here, goal, UP_TO_64), rtol=1e-4)
    assert not np.allclose(decision.values, best_of(here, goal, OCTAVES), rtol=1e-2)


@pytest.mark.parametrize("beta", [0.0, 0.3, math.inf])
def test_weights_of_the_horizons_in_view_sum_to_one(beta):
    """Or a temperature would mean one thing near the goal and another far from it."""
    here, goal = np.zeros(2), np.array([20.0, 3.0])
    some = planner_with(Bowl(OCTAVES), beta=beta, view=8.0).decide(here, goal)
    alone = planner_with(Bowl(UP_TO_64), beta=beta).decide(here, goal)
    np.testing.assert_allclose(some.values, alone.values, rtol=1e-6)


@pytest.mark.parametrize("view", [None, 8.0])
def test_progress_belongs_to_the_horizons_that_a_decision_asked(view):
    planner = planner_with(Bowl(OCTAVES), beta=0.0, view=view)
    here, goals = np.zeros((2, 2)), np.array([[2.0, 0.0], [40.0, 9.0]])
    decisions = planner.decide_many(here, goals)
    if view is not None:
        assert decisions[0].taus.max() < decisions[1].taus.min()
    for decision, goal in zip(decisions, goals):
        ratio = [np.exp(-np.sum((x - goal) ** 2) / decision.taus) for x in (decision.outcome, 0.0)]
        np.testing.assert_allclose(decision.progress, ratio[0] - ratio[1], rtol=1e-4)
        assert decision.horizon == decision.taus[decision.progress.argmax()]


@pytest.mark.parametrize("beta", [0.0, math.inf])
@pytest.mark.parametrize("plus", [-13.8, 13.8])
def test_adding_a_constant_to_every_score_changes_no_choice(beta, plus):
    rng = np.random.default_rng(1)
    here, goals = rng.normal(size=(20, 2)), 9 * rng.normal(size=(20, 2))

    def chosen(plus, view):
        planner = planner_with(Bowl(OCTAVES, plus=plus), beta=beta, radii=(1, 3), view=view)
        return [(d.candidate, d.horizon) for d in planner.decide_many(here, goals)]

    assert chosen(plus, None) == chosen(0.0, None)
    assert chosen(plus, 20.0 - plus) == chosen(0.0, 20.0)  # what is in view stays in view


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
    return planner_with(scorer, memory=True, **rest)


def having_seen(planner, goal, *places):
    """The choice at the origin of an episode that has seen these places before."""
    memory = Memory([np.array(place) for place in places], [0] * len(places))
    [decision] = planner.decide_many(np.zeros((1, 2)), np.array([goal]), memories=[memory])
    return decision


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


@pytest.mark.parametrize("plus", [0.0, math.log(1e-6), math.log(1e6)])
@pytest.mark.parametrize("actions", [2, 16])
def test_a_place_that_was_seen_comes_after_every_other_whatever_the_scale_of_the_values(
    plus, actions
):
    planner = remembering(Bowl(plus=plus), beta=0.0, actions=actions)
    moves, goal = planner.candidates.actions, (5.0, 0.0)
    ranked = np.argsort(-having_seen(planner, goal).values, kind="stable")
    assert ranked[0] == 0 and ranked[-1] == actions // 2  # towards the goal, and away from it
    for count in range(1, actions):
        places = [move for move in moves[ranked[:count]]]
        after = having_seen(planner, goal, *places)
        near = np.linalg.norm(moves[:, None] - places, axis=-1).min(1) < math.sqrt(2) / 2
        if near.all():
            break
        assert not near[after.candidate]
        assert after.values[near].max() < after.values[~near].min()
        np.testing.assert_array_equal(after.values[~near], having_seen(planner, goal).values[~near])
    assert count > actions // 4


def test_a_place_that_was_seen_twice_comes_after_one_that_was_seen_once():
    planner, moves = remembering(Bowl(), actions=2), directions(2)
    assert having_seen(planner, (5.0, 0.0), *moves).candidate == 0
    assert having_seen(planner, (5.0, 0.0), *moves, moves[0]).candidate == 1


def test_a_place_is_known_again_by_its_first_numbers_where_the_others_are_the_past():
    moves, goal, past = directions(2), (5.0, 0.0), np.array([0.0, 9.0])
    whole = remembering(Bowl(), actions=2)
    assert having_seen(whole, goal, moves[0] + past).candidate == 0
    placed = Planner(whole.scorer, whole.dynamics, whole.rule, whole.candidates, placed=1)
    assert having_seen(placed, goal, moves[0] + past).candidate == 1


def test_a_memory_counts_each_place_once_and_what_was_done_there_as_often_as_it_was():
    rng = np.random.default_rng(0)
    places = rng.integers(8, size=(200, 2)).astype(np.float32)  # more than there is room for
    chosen = rng.integers(3, size=200).tolist()
    memory = Memory(list(np.c_[places, rng.random(200)][:50]), chosen[:50])
    memory.spots(2, 3)
    for place, candidate in zip(np.c_[places, rng.random(200)][50:], chosen[50:]):
        memory.places.append(place)
        memory.chosen.append(candidate)
    spots, taken = memory.spots(2, 3)
    expected = Counter(zip(map(tuple, places.tolist()), chosen))
    found = {(tuple(s), k): n for s, row in zip(spots.tolist(), taken) for k, n in enumerate(row)}
    assert len(spots) == len(np.unique(places, axis=0)) and taken.sum() == 200
    assert {pair: n for pair, n in found.items() if n} == expected


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


@pytest.mark.parametrize("goal", [np.zeros(3), np.array([np.nan, 0.0])])
def test_observations_and_goals_that_do_not_fit_are_refused(goal):
    with pytest.raises(CogmapError, match="finite|one shape"):
        planner_with(Bowl()).decide(np.zeros(2), goal)


@pytest.fixture(scope="module")
def agent():
    return Agent.load(LARGE, device="cpu")


@pytest.fixture(scope="module")
def world(agent):
    return replace(agent.world, physics="kinematic")


@pytest.mark.parametrize("name", ["gp", "pap", "beta=0.3"])
def test_the_quadrature_chooses_as_every_integer_horizon_does(agent, world, name):
    pairs = draw_pairs(world.maze, count=6, seed=3)
    here = np.array([pair.start for pair in pairs])
    goals = np.array([pair.goal for pair in pairs])
    paper = replace(PAPER, planner=name)
    few = agent.planner(paper, world=world, tau_max=1024)
    every = agent.planner(paper, world=world, tau_max=1024, every_horizon=True)
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


@pytest.mark.parametrize("name", ["gp", "pap"])
def test_planning_with_the_exact_score_reaches_every_goal(agent, world, name):
    tasks = draw_pairs(world.maze, count=8, seed=42)
    planner = agent.planner(name, world=world, score="exact")
    episodes = run_episodes(world, tasks, PlannerPolicy(planner, hold=world.hold), budget=1500)
    assert all(episode.success for episode in episodes)


def test_a_decision_asks_the_horizons_that_have_the_goal_in_view(agent, world):
    planner = agent.planner(world=world)
    here, goals = np.zeros((3, 2)), np.array([[2.0, 0.0], [8.0, 8.0], [36.0, 24.0]])
    taus = planner.scorer.taus
    embedded = planner.scorer.embed_goals(torch.as_tensor(goals).float())[:, None]
    score = planner.scorer.score(torch.zeros(3, 1, 2), embedded)[:, 0]
    wanted = taus[in_view(score, planner.rule.view)]
    asked = [decision.taus for decision in planner.decide_many(here, goals)]
    np.testing.assert_array_equal(asked, wanted)
    assert asked[0].max() < asked[1].max() < asked[2].max()


def test_the_exact_scorer_is_the_walks_score_on_lattice_points():
    lattice = Maze.load("medium").lattice
    taus = torch.tensor([1, 8, 64])
    scorer = ExactScorer(lattice.points, lattice.successors, taus)
    goal = 17
    points = torch.as_tensor(lattice.points, dtype=torch.float32)
    score = scorer.score(points[None], scorer.embed_goals(points[goal][None])[None])[0]
    expected = ReversibleWalk.on(lattice.successors).score(taus.numpy(), goal)
    np.testing.assert_allclose(score.numpy(), expected, atol=1e-4)


def test_horizons_beyond_the_models_are_refused(agent, world):
    with pytest.raises(CogmapError, match="horizons this model learned"):
        agent.planner(world=world, tau_max=10_000)
    with pytest.raises(CogmapError, match="below 1"):
        agent.planner(world=world, tau_max=0)


def test_gp_and_pap_are_as_the_paper_runs_them():
    for name, beta in (("gp", 0.0), ("pap", math.inf)):
        chosen = rule(replace(PAPER, planner=name), tau_max=512, every_horizon=True)
        assert chosen.beta == beta and chosen.radii == (1,) and not chosen.memory
        assert chosen.view is None
        np.testing.assert_array_equal(chosen.horizons.taus, np.arange(1, 513))
    default = rule(Planning(), tau_max=512)
    assert default.view and default.memory and len(default.radii) > 1


def test_towards_a_set_of_goals_the_likelier_one_draws():
    planner = planner_with(Bowl())
    here, near, far = np.zeros((1, 2)), np.array([0.0, 2.0]), np.array([5.0, 0.0])
    alone = planner.decide_many(here, near[None])[0]
    assert planner.decide_many(here, np.stack([far, near])[None])[0].candidate == alone.candidate
    assert planner.decide_many(here, near[None, None])[0].value == alone.value
