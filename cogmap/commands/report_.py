"""cogmap report"""

from __future__ import annotations

from cogmap import runs
from cogmap.agent import Agent
from cogmap.cli import Report
from cogmap.commands.worlds import EpisodeBar, told
from cogmap.envs.tasks import pairs_file
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import Evaluation, evaluate
from cogmap.report.tables import as_text, result_rows

OFFICIAL_EPISODES = 4  # of each of OGBench's five tasks
EPISODES = 20  # of a world without a map


def run(settings: Report) -> None:
    try:
        from cogmap.web.terrain import without_map
    except ImportError as error:
        raise CogmapError(f"the report needs {error.name}; pip install 'cogmap[web]'.") from None
    agent = told(Agent.load(settings.run, device="cpu"), settings, goals=True)
    runs.check_writable(settings.html)  # before minutes are spent, not after
    text, result = (of_a_world if without_map(agent) else of_a_maze)(agent, settings)
    runs.replace_file(settings.html, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    if result is None:
        print("no episodes: there is no simulator to plan in; this run was learned from data alone")
    else:
        print(as_text(result_rows([result])))
    print(f"{len(text) / 1e6:.1f} MB -> {settings.html}")


def of_a_maze(agent: Agent, settings: Report) -> tuple[str, Evaluation]:
    """The file's text, and the episodes that it tells of."""
    from cogmap.web.chart import Chart
    from cogmap.web.report import page

    agent.check_positions("cogmap report")
    chart = Chart(settings.run, id="run", agent=agent)
    official = settings.tasks == "official" or (
        settings.tasks is None and pairs_file(chart.plane.maze) is not None
    )
    episodes = settings.episodes
    if episodes is None and official:
        episodes = OFFICIAL_EPISODES
    result = evaluated(agent, settings, episodes=episodes)
    return page(chart, result, planner=settings.planner or agent.planning.planner), result


def of_a_world(agent: Agent, settings: Report) -> tuple[str, Evaluation | None]:
    """The same of a world without a map; no episodes where there is none to plan in."""
    from cogmap.web.terrain import Terrain
    from cogmap.web.terrain_report import page, page_of_goals

    terrain = Terrain(settings.run, agent=agent)
    if agent.world is None:
        return page_of_goals(terrain, settings.goal), None
    planner = agent.planner(settings.planner, world=terrain.world)
    episodes = EPISODES if settings.episodes is None else settings.episodes
    result = evaluated(agent, settings, episodes=episodes)
    return page(terrain, result, terrain.world, planner), result


def evaluated(agent: Agent, settings: Report, *, episodes: int | None) -> Evaluation:
    return evaluate(
        agent,
        tasks=settings.tasks,
        planner=settings.planner,
        episodes=episodes,
        budget=settings.budget,
        seed=settings.seed,
        report=EpisodeBar(),
    )
