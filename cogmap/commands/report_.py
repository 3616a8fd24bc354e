"""cogmap report"""

from __future__ import annotations

from cogmap import runs
from cogmap.agent import Agent, load
from cogmap.cli import Report
from cogmap.commands.worlds import EpisodeBar, bars, told
from cogmap.envs.tasks import pairs_file
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import Evaluation, evaluate
from cogmap.report.tables import as_text, result_rows
from cogmap.rival import Rival

OFFICIAL_EPISODES = 4  # of each of OGBench's five tasks
EPISODES = 20  # of a world without a map
OF_A_BUILDING = 5  # of each of its four tasks


def run(settings: Report) -> None:
    try:
        from cogmap.web.terrain import without_map
    except ImportError as error:
        raise CogmapError(f"the report needs {error.name}; pip install 'cogmap[web]'.") from None
    agent = told(load(settings.run, device="cpu"), settings, goals=True)
    runs.check_writable(settings.html)  # before minutes are spent, not after
    text, results = (of_a_world if without_map(agent) else of_a_maze)(agent, settings)
    runs.replace_file(settings.html, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    if results:
        print(as_text(result_rows(results)))
    else:
        print("no episodes: there is no simulator to plan in; this run was learned from data alone")
    print(f"{len(text) / 1e6:.1f} MB -> {settings.html}")


def of_a_maze(agent: Agent | Rival, settings: Report) -> tuple[str, list[Evaluation]]:
    """The file's text, and the episodes that it tells of."""
    from cogmap.web.report import page
    from cogmap.web.rival_chart import chart_of

    chart = chart_of(settings.run, id="run", agent=agent)
    chart.check_report()
    official = settings.tasks == "official" or (
        settings.tasks is None and pairs_file(chart.plane.maze) is not None
    )
    episodes = settings.episodes
    if episodes is None and official:
        episodes = OFFICIAL_EPISODES
    result = evaluated(agent, settings, episodes=episodes)
    results = chart.beside(result)
    planner = settings.planner or chart.acts_by
    return page(chart, result, planner=planner, beside=results), results


def of_a_world(agent: Agent | Rival, settings: Report) -> tuple[str, list[Evaluation]]:
    """The same of a world without a map; no episodes where there is none to plan in."""
    from cogmap.web.storey import Storey, terrain_of
    from cogmap.web.terrain_report import page, page_of_goals

    terrain = terrain_of(settings.run, agent=agent, bars=bars)
    if agent.world is None:
        return page_of_goals(terrain, settings.goal), []
    planner = terrain.agent.planner(settings.planner, world=terrain.world)
    usual = OF_A_BUILDING if isinstance(terrain, Storey) else EPISODES
    episodes = usual if settings.episodes is None else settings.episodes
    result = evaluated(terrain.agent, settings, episodes=episodes)
    return page(terrain, result, terrain.world, planner), [result]


def evaluated(agent: Agent | Rival, settings: Report, *, episodes: int | None) -> Evaluation:
    return evaluate(
        agent,
        tasks=settings.tasks,
        planner=settings.planner,
        episodes=episodes,
        budget=settings.budget,
        seed=settings.seed,
        report=EpisodeBar(),
    )
