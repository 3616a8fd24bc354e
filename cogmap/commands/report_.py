"""cogmap report"""

from __future__ import annotations

from cogmap import runs
from cogmap.cli import Report
from cogmap.commands.worlds import EpisodeBar
from cogmap.envs.tasks import pairs_file
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import evaluate
from cogmap.report.tables import as_text, result_rows

OFFICIAL_EPISODES = 4  # of each of OGBench's five tasks


def run(settings: Report) -> None:
    try:
        from cogmap.web.chart import Chart
        from cogmap.web.report import page
    except ImportError as error:
        raise CogmapError(f"the report needs {error.name}; pip install 'cogmap[web]'.") from None
    chart = Chart(settings.run, id="run")
    chart.agent.check_positions("cogmap report")
    runs.check_writable(settings.html)  # before minutes are spent, not after
    official = settings.tasks == "official" or (
        settings.tasks is None and pairs_file(chart.plane.maze) is not None
    )
    episodes = settings.episodes
    if episodes is None and official:
        episodes = OFFICIAL_EPISODES
    result = evaluate(
        chart.agent,
        tasks=settings.tasks,
        planner=settings.planner,
        world=chart.world,
        episodes=episodes,
        budget=settings.budget,
        seed=settings.seed,
        report=EpisodeBar(),
    )
    text = page(chart, result, planner=settings.planner or chart.agent.planning.planner)
    runs.replace_file(settings.html, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    print(as_text(result_rows([result])))
    print(f"{len(text) / 1e6:.1f} MB -> {settings.html}")
