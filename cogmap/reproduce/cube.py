"""Table 3: cube-single from expert and from noisy episodes, at a fixed number of them."""

from __future__ import annotations

from dataclasses import replace

from cogmap.config import METHOD
from cogmap.explore.settings import Exploration
from cogmap.reproduce import work
from cogmap.reproduce.grid import Job
from cogmap.reproduce.scale import Scale
from cogmap.settings import RunSettings

WORLD = {"kind": "cube-single"}
EXPERTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# The paper's rules ask every horizon; candidates and the steps that they are judged at are ours.
RULES: dict[str, dict] = {"ours": {}, "gp": {"view": None}, "pap": {"view": None, "planner": "pap"}}
FEW = 150  # pairs a model for the paper's rules, which take four times as long
EPISODES, STEPS = 2000, 200  # of a mixture; control steps of each


def cube(scale: Scale) -> list[Job]:
    """Five mixtures, three rules, and what a success rate must be read beside."""
    models = [learned(scale, share, seed) for seed in range(scale.seeds) for share in EXPERTS]
    tasks = [planned(scale, model, "ours", "held-out") for model in models]
    expert = [model for model in models if model.about["expert"] == 1.0]
    tasks += [planned(scale, model, rule, "lewm") for model in expert for rule in RULES]
    tasks += [
        planned(scale, model, rule, "held-out", FEW) for model in models for rule in ("gp", "pap")
    ]
    return [*references(scale), *tasks]


def episodes(scale: Scale) -> int:
    """How many episodes every model learns from."""
    return scale.gym["exploration"].steps // STEPS if "exploration" in scale.gym else EPISODES


def recorded(scale: Scale, policy: str) -> Job:
    """As many episodes of one policy as any mixture needs, once."""
    name, share = f"cube-{policy}", 1.0 if policy == "expert" else 0.0
    told = Exploration(walk_steps=STEPS * episodes(scale), expert=share)
    return Job(
        name, work.explored, {"folder": scale.runs / name, "world": WORLD, "exploration": told}
    )


def learned(scale: Scale, expert: float, seed: int) -> Job:
    """A run with every default, on a share of expert episodes."""
    count = episodes(scale)
    parts = {"cube-expert": round(expert * count)}
    parts["cube-noisy"] = count - parts["cube-expert"]
    mixture = Job(
        f"cube-mixture-{round(100 * expert)}",
        work.mixed,
        {"folder": scale.runs / f"cube-mixture-{round(100 * expert)}", "parts": parts},
        needs=tuple(recorded(scale, policy) for policy in ("expert", "noisy")),
    )
    settings = replace(RunSettings(seed=seed), **scale.gym)
    arguments = {"world": WORLD, "settings": settings, "data": mixture.arguments["folder"]}
    name = f"cube-{round(100 * expert)}-{seed}"
    arguments |= {"folder": scale.runs / name, "device": scale.device}
    about = {"world": "cube-single", "method": METHOD, "train_seed": seed, "expert": expert}
    return Job(name, work.model, arguments, (mixture,), about=about)


def planned(scale: Scale, of: Job, rule: str, tasks: str, episodes: int | None = None) -> Job:
    """One rule on one set of pairs, or the first so many of them."""
    arguments = {"folder": of.arguments["folder"], "device": scale.device}
    arguments |= {"changes": RULES[rule], "tasks": tasks}
    arguments |= {"episodes": scale.episodes or episodes, "budget": scale.budget}
    cell, about = f"{of.name}/{rule}/{tasks}", of.about | {"variant": rule}
    return Job(cell, work.planned_otherwise, arguments, (of,), measures=True, about=about)


def references(scale: Scale) -> list[Job]:
    """Random actions, no action, and the record played again."""
    return [
        Job(
            f"cube/references/{tasks}",
            work.references,
            {"world": WORLD, "tasks": tasks, "episodes": scale.episodes, "budget": scale.budget},
            measures=True,
            about={"world": "cube-single", "variant": "", "train_seed": None, "expert": None},
        )
        for tasks in ("held-out", "lewm")
    ]
