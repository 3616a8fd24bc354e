"""Makes a Gymnasium environment of its name: a registered id, or module:Class."""

from __future__ import annotations

import difflib
import importlib
import json
import warnings
from typing import Any

import gymnasium

from cogmap.errors import CogmapError


def make(
    env: str, *, package: str | None = None, kwargs: dict[str, Any] | None = None
) -> gymnasium.Env:
    """A fresh environment without a time limit; `package` is imported first."""
    kwargs = kwargs or {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that an id has a newer version: it was asked for
            if package is not None:
                importlib.import_module(package)
            if _is_class(env):
                module, _, name = env.partition(":")
                made = getattr(importlib.import_module(module), name)(**kwargs)
            else:
                made = gymnasium.make(_registered(env), max_episode_steps=-1, **kwargs)
    except gymnasium.error.UnregisteredEnv:
        raise CogmapError(_unknown(env)) from None
    except ModuleNotFoundError as error:
        raise CogmapError(
            f"{env} needs the package {error.name!r}, which is not installed."
        ) from None
    except Exception as error:  # an environment may raise anything
        raise CogmapError(f"cannot make {env}: {reason_of(error)}") from None
    if not isinstance(made, gymnasium.Env):
        raise CogmapError(f"{env} is no gymnasium.Env; give a registered id, or module:Class.")
    for space in ("observation_space", "action_space"):
        if not isinstance(getattr(made, space, None), gymnasium.Space):
            raise CogmapError(f"{env} has no {space}; an environment says its spaces.")
    return made


def limit_of(env: str) -> int | None:
    """Steps after which an environment would cut an episode by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return gymnasium.spec(_registered(env)).max_episode_steps
        except gymnasium.error.Error:
            return None  # a class knows none


def reason_of(error: Exception) -> str:
    """What an environment said, as one line."""
    return " ".join(str(error).split()) or repr(error)


def read_kwargs(text: str | None) -> dict[str, Any]:
    """--env-kwargs as JSON."""
    try:
        kwargs = json.loads(text or "{}")
    except ValueError:
        kwargs = None
    if not isinstance(kwargs, dict):
        raise CogmapError(f"env-kwargs {text!r}; give JSON such as '{{\"g\": 9.81}}'.")
    return kwargs


def _is_class(env: str) -> bool:
    """Whether it is module:Class, and no id of a module, as module:Name-v0."""
    module, colon, name = env.partition(":")
    return bool(colon and module) and name.isidentifier()


def _registered(env: str) -> str:
    """The id; of module:Name-v0 after an import of the module, which registers it."""
    module, colon, name = env.partition(":")
    if not (colon and module):
        return env
    importlib.import_module(module)
    return name


def _unknown(env: str) -> str:
    name = env.rpartition(":")[2]
    near = difflib.get_close_matches(name, list(gymnasium.registry), n=3, cutoff=0.6)
    nearest = f"is it {' or '.join(near)}? Else say" if near else "say"
    return (
        f"no environment is registered as {name!r}; {nearest} which package registers it "
        "(--env-package), or give module:Class."
    )
