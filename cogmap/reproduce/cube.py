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
FEW = 300  # pairs for the paper's rules
EPISODES, STEPS = 2000, 200  # of a mixture; control steps of each


def cube(scale: Scale) -> list[Job]:
    """Five mixtures, three rules, and what a success rate must be read beside."""
    tasks = []
    for expert in EXPERTS:
        for seed in range(scale.seeds):
            model = learned(scale, expert, seed)
            for rule, changes in RULES.items():
                few = None if rule == "ours" else FEW
                tasks.append(planned(scale, model, rule, changes, "held-out", few))
                if expert == 1.0:
                    tasks.append(planned(scale, model, rule, changes, "lewm", None))
    return [*tasks, *references(scale)]


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


def planned(
    scale: Scale, of: Job, rule: str, changes: dict, tasks: str, episodes: int | None
) -> Job:
    """One rule on one set of pairs."""
    arguments = {"folder": of.arguments["folder"], "device": scale.device, "changes": changes}
    arguments |= {"tasks": tasks, "episodes": scale.episodes or episodes, "budget": scale.budget}
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
