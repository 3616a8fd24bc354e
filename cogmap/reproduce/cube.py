"""Table 3: cube-single from expert and from noisy episodes, at a fixed number of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cogmap.config import METHOD
from cogmap.explore.settings import Exploration
from cogmap.reproduce import work
from cogmap.reproduce.grid import Job
from cogmap.reproduce.scale import Scale
from cogmap.settings import RunSettings
from cogmap.sight.settings import SightTraining

# The paper's rules ask every horizon; candidates and the steps that they are judged at are ours.
RULES: dict[str, dict] = {"ours": {}, "gp": {"view": None}, "pap": {"view": None, "planner": "pap"}}
FEW = 150  # pairs a model for the paper's rules, which take four times as long
STEPS = 200  # control steps of an episode


@dataclass(frozen=True)
class Seen:
    """What models see, and how many there are."""

    name: str  # that its folders and cells begin with
    world: dict[str, Any]
    episodes: int  # of a mixture
    experts: tuple[float, ...]  # shares of expert episodes
    seeds: int  # at most
    sight: SightTraining | None = None  # how to learn to see; None: there is nothing to be seen
    noise: float = 0.0  # on looks, while the temporal model learns


SIGHT = SightTraining()
STATES = Seen("cube", {"kind": "cube-single"}, 2000, (0.0, 0.25, 0.5, 0.75, 1.0), 3)
# Two cores draw the pictures of as many episodes in half an hour.
PICTURES = Seen(
    "cube-pictures", STATES.world | {"observation": "image"}, 600, (0.0, 0.25), 2, SIGHT
)
MORE_PICTURES = Seen("cube-pictures-800", PICTURES.world, 800, (0.25,), 2, SIGHT)
# What is seen of the cube to 6 to 12 mm after 3,000 updates is to 6 to 8 after 9,000 (round 47).
LONGER_SEEN = replace(MORE_PICTURES, sight=replace(SIGHT, steps=9000))
MOST_PICTURES = replace(LONGER_SEEN, name="cube-pictures-1200", episodes=1200)
NOISY_LOOKS = replace(MOST_PICTURES, noise=0.1)  # learns fewer of them by heart (round 49)


def cube(scale: Scale) -> list[Job]:
    """Five mixtures, three rules, and what a success rate must be read beside."""
    models = mixtures(scale, STATES)
    tasks = [planned(scale, model, "ours", "held-out") for model in models]
    expert = [model for model in models if model.about["expert"] == 1.0]
    tasks += [planned(scale, model, rule, "lewm") for model in expert for rule in RULES]
    tasks += [
        planned(scale, model, rule, "held-out", FEW) for model in models for rule in ("gp", "pap")
    ]
    return [*references(scale), *tasks]


def cube_pictures(scale: Scale) -> list[Job]:
    """The same from pictures: two mixtures; one of them also of more episodes, seen longer, noisy.

    Some models also see OGBench's own pixels.
    """
    models = mixtures(scale, PICTURES)
    kinds = (MORE_PICTURES, LONGER_SEEN, MOST_PICTURES, NOISY_LOOKS)
    more = [model for seen in kinds for model in mixtures(scale, seen)]
    first = [model for model in models if model.about["train_seed"] == 0]
    exact = PICTURES.world | {"pictures": "camera"}
    return [
        *(planned(scale, model, "ours", "held-out") for model in models),
        *(planned(scale, model, rule, "held-out", FEW) for model in first for rule in RULES),
        *(planned(scale, model, "ours", "held-out", FEW, world=exact) for model in first),
        *(planned(scale, model, "ours", "held-out") for model in more),
    ]


def mixtures(scale: Scale, seen: Seen) -> list[Job]:
    """A run with every default of each mixture and training seed."""
    seeds = range(min(scale.seeds, seen.seeds))
    return [learned(scale, seen, share, seed) for seed in seeds for share in seen.experts]


def episodes(scale: Scale, seen: Seen) -> int:
    """How many episodes every model learns from."""
    if "exploration" not in scale.gym:
        return seen.episodes
    return scale.gym["exploration"].steps // STEPS * seen.episodes // STATES.episodes


def recorded(scale: Scale, seen: Seen, policy: str) -> Job:
    """As many episodes of one policy as any mixture needs, once."""
    name, share = f"{seen.name}-{policy}", 1.0 if policy == "expert" else 0.0
    most = max(seen.experts) if policy == "expert" else 1 - min(seen.experts)
    steps = STEPS * round(most * episodes(scale, seen))
    told = Exploration(walk_steps=steps, expert=share)
    arguments = {"folder": scale.runs / name, "world": seen.world, "exploration": told}
    return Job(name, work.explored, arguments)


def learned(scale: Scale, seen: Seen, expert: float, seed: int) -> Job:
    """A run with every default, on a share of expert episodes."""
    count = episodes(scale, seen)
    experts = round(expert * count)
    parts = {f"{seen.name}-expert": experts, f"{seen.name}-noisy": count - experts}
    mixed = f"{seen.name}-mixture-{round(100 * expert)}"
    mixture = Job(
        mixed,
        work.mixed,
        {"folder": scale.runs / mixed, "parts": parts},
        needs=tuple(recorded(scale, seen, policy) for policy in ("expert", "noisy")),
    )
    name = f"{seen.name}-{round(100 * expert)}-{seed}"
    about = {"world": "cube-single", "method": METHOD, "train_seed": seed, "expert": expert}
    about |= {"learned_from": count}
    settings = RunSettings(seed=seed)
    if seen.sight is not None:
        settings = replace(settings, sight=seen.sight)
        about |= {"sight_updates": seen.sight.steps, "noise": seen.noise}
        if seen.sight != SIGHT:
            name += f"-sight-{seen.sight.steps}"
    if seen.noise:
        settings = replace(settings, temporal=replace(settings.temporal, noise=seen.noise))
        name += f"-noise-{seen.noise:g}"
    settings = replace(settings, **scale.gym)
    arguments = {"world": seen.world, "settings": settings, "data": mixture.arguments["folder"]}
    arguments |= {"folder": scale.runs / name, "device": scale.device}
    return Job(name, work.model, arguments, (mixture,), about=about)


def planned(
    scale: Scale,
    of: Job,
    rule: str,
    tasks: str,
    episodes: int | None = None,
    *,
    world: dict[str, Any] | None = None,
) -> Job:
    """One rule on one set of pairs, or the first so many of them, in the run's own world or not."""
    arguments = {"folder": of.arguments["folder"], "device": scale.device}
    arguments |= {"changes": RULES[rule], "tasks": tasks}
    arguments |= {"episodes": scale.episodes or episodes, "budget": scale.budget}
    cell, about = f"{of.name}/{rule}/{tasks}", of.about | {"variant": rule}
    if episodes is not None and rule == "ours":
        cell += f"/{episodes}"
    if world is not None:
        arguments["world"], cell = world, f"{cell}/{world['pictures']}"
    return Job(cell, work.planned_otherwise, arguments, (of,), measures=True, about=about)


def references(scale: Scale) -> list[Job]:
    """Random actions, no action, and the record played again."""
    return [
        Job(
            f"cube/references/{tasks}",
            work.references,
            {
                "world": STATES.world,
                "tasks": tasks,
                "episodes": scale.episodes,
                "budget": scale.budget,
            },
            measures=True,
            about={"world": "cube-single", "variant": "", "train_seed": None, "expert": None},
        )
        for tasks in ("held-out", "lewm")
    ]
