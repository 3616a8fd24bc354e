"""The same tasks by the paper's rules and by ours, for figures of routes and horizons (Fig. 1C).

The paper draws GP and PAP with every integer horizon up to 512 in Large and 2,048 in Giant, judged
and executed one simulator step (0.2 units) at a time. Here candidates are judged and executed one
unit at a time, and a quadrature stands in for the integers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cogmap.agent import Agent
from cogmap.envs.tasks import OFFICIAL_BUDGET
from cogmap.envs.world import World, map_of
from cogmap.evaluation.rollout import Episode, PlannerPolicy, run_episodes
from cogmap.planning.settings import PAPER, Planning

# All on one model. The names have colours in cogmap.report.curves.
RULES = {
    "the paper's GP": PAPER,
    "the paper's PAP": replace(PAPER, planner="pap"),
    "ours, GP": Planning(),
}
PAPER_TAU_MAX = {"large": 512, "giant": 2048}  # App. D, planning demonstrations
OTHER_TAU_MAX = 2048  # for the paper's rules in other mazes
DRAWN = {"large": ("task1", "task3"), "giant": ("task1", "task2")}  # App. D
TASKS = 5  # at most


@dataclass(frozen=True)
class Journey:
    """What one rule did on a set of tasks."""

    rule: str  # one of RULES
    tau_max: int  # longest horizon it planned with, in moves
    episodes: list[Episode]

    @property
    def title(self) -> str:
        """The rule, its horizons and how many of its routes arrived."""
        reached = sum(episode.success for episode in self.episodes)
        counted = f"reached {reached} of {len(self.episodes)}"
        return f"{self.rule}, tau up to {self.tau_max}: {counted}"

    def only(self, names: tuple[str, ...]) -> Journey:
        """The episodes of some tasks; where none has such a name, the first two."""
        some = [episode for episode in self.episodes if episode.task.name in names]
        return replace(self, episodes=some or self.episodes[:2])


def plan_journeys(
    agent: Agent, world: World, *, budget: int = OFFICIAL_BUDGET
) -> dict[str, Journey]:
    """One episode of each official task, or of the first random pairs where there are none."""
    tasks = world.tasks(None, episodes=1, budget=None, seed=0).tasks[:TASKS]
    maze = map_of(world, "a figure of routes").maze
    journeys = {}
    for name, planning in RULES.items():
        longest = agent.temporal.config.tau_max
        if planning.view is None:
            longest = min(longest, PAPER_TAU_MAX.get(maze.name, OTHER_TAU_MAX))
        planner = agent.planner(planning, world=world, tau_max=longest)
        policy = PlannerPolicy(planner, hold=world.hold)
        episodes = run_episodes(world, tasks, policy, budget=budget)
        journeys[name] = Journey(name, longest, episodes)
    return journeys


def drawn_tasks(maze: str) -> tuple[str, ...]:
    """The tasks that the paper draws in this maze, or the first two pairs."""
    return DRAWN.get(maze, ("pair1", "pair2"))
