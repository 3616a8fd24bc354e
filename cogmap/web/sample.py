"""What the model says of a sample of what was seen: scores, and places in a plane.

All that is drawn is drawn of looks (temporal/model.py): an observation of numbers is its own look,
of a picture it is what the model's eye makes of it.

Shape letters: S sampled observations, d numbers in a look, D embedding, T octaves of the horizon.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cogmap.agent import Agent, load
from cogmap.errors import CogmapError
from cogmap.goals import Seen
from cogmap.planning.objective import Horizons
from cogmap.rival import Rival
from cogmap.temporal.scorer import LearnedScorer
from cogmap.web.plane import Plane, drawn
from cogmap.web.rounded import finite
from cogmap.web.scores import pca
from cogmap.web.terrain_messages import Method

SAMPLE, FEWEST = 1500, 300  # seen observations that are drawn: as many as their numbers allow
NUMBERS = 60_000  # of the sample, all in all
BATCH = 256  # pictures that are looked at together


class Sample:
    """What a run without a map has seen, or some of it, and its model."""

    methods: tuple[Method, ...] = ("pca", "tsne")  # ways to draw it in a plane
    episodes_differ: bool  # so a goal in words depends on how one begins

    def __init__(self, folder: Path, *, agent: Agent | Rival | None = None) -> None:
        found = agent or load(folder, device="cpu")
        if isinstance(found, Rival):
            raise CogmapError(
                f"{folder} holds a run of {found.method}; of rivals, page and report show those in "
                "mazes. `cogmap evaluate` and `cogmap plan` take any."
            )
        self.folder, self.agent = folder, found
        seen = self.agent.seen
        if seen is None:
            raise CogmapError(f"{folder} keeps no seen observations; there is nothing to draw.")
        self.seen: Seen = seen
        room = SAMPLE if seen.pictures else max(FEWEST, NUMBERS // seen.rows.shape[1])
        count = min(SAMPLE, room, len(seen.rows))
        some = np.linspace(0, len(seen.rows) - 1, count).round().astype(int)
        self.rows = seen.rows[some]  # (S, ...), evenly through the record
        free = ~seen.context.mask  # what an episode cannot change is not seen by the models
        self.names = [name for name, kept in zip(seen.names, free, strict=True) if kept]  # or none
        self.episodes_differ = not free.all()
        self.taus: list[int] = Horizons.octaves(self.agent.temporal.config.tau_max).taus.tolist()
        self._scorer = LearnedScorer(self.agent.temporal, torch.tensor(self.taus))
        self._looks = self._look(self.rows)  # (S, d)
        self.size = self._looks.shape[1]  # numbers of what is told of an observation
        self._spread = np.maximum(self._looks.numpy().std(axis=0), 1e-9)
        self._planes: dict[tuple[int, Method], Plane] = {}
        self._lock = threading.Lock()  # requests come from several threads; a t-SNE takes seconds

    def marks(self, rows: np.ndarray) -> list[int]:
        """Rows of the sample that are most like some observations. (N, ...)"""
        gaps = (self.look(rows)[:, None].astype(float) - self._looks.numpy()) / self._spread
        return np.unique(np.square(gaps).sum(-1).argmin(1)).tolist()

    def field(self, goals: np.ndarray, tau: int, heading: int | None = None) -> np.ndarray:
        """G towards a set of goals at one horizon from each of the sample. (N, ...) -> (S,)"""
        if heading is not None:
            raise CogmapError(f"heading={heading}: this run has no headings; leave it out.")
        self.check(tau)
        wanted = self._scorer.embed_goals(self._look(goals))
        at = torch.tensor([[self.taus.index(tau)]])
        return finite(self._scorer.score(self._looks[None], wanted[None], at)[0, :, 0].numpy())

    def scores(self, looks: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """G of a set of goals from some looks, at every octave. (K, d), (N, ...) -> (K, T)"""
        wanted = self._scorer.embed_goals(self._look(goals))
        here = torch.as_tensor(looks, dtype=torch.float32)
        return finite(self._scorer.score(here[None], wanted[None])[0])

    def plane(self, tau: int, method: Method) -> Plane:
        """The sample's embedding at one horizon, drawn."""
        self.check(tau, method)
        with self._lock:
            if (tau, method) not in self._planes:
                embedding = self._embedding(self._looks, tau)
                self._planes[tau, method] = drawn(
                    embedding, self._overview, method="tsne" if method == "tsne" else "pca"
                )
            return self._planes[tau, method]

    def places(self, looks: np.ndarray, tau: int, method: Method) -> np.ndarray:
        """Where looks lie in a plane. (N, d) -> (N, 2)"""
        here = torch.as_tensor(looks, dtype=torch.float32)
        return self.plane(tau, method).places(self._embedding(here, tau))

    def given(self, given: Sequence[Sequence[float]]) -> np.ndarray:
        """Looks that came from outside. -> (N, d)"""
        size = self.size
        named = f": {', '.join(self.names[:12])}." if self.names else "."
        for one in given:
            if len(one) != size:
                raise CogmapError(
                    f"an observation of {len(one)} numbers; here it has {size}{named}"
                )
        with np.errstate(over="ignore"):
            found = np.array(given).reshape(-1, size).astype(np.float32)
        if not np.isfinite(found).all():
            raise CogmapError("an observation has too large a number.")
        return found

    def check_row(self, row: int) -> int:
        if not 0 <= row < len(self.rows):
            raise CogmapError(f"row #{row}; the sample has rows #0 to #{len(self.rows) - 1}.")
        return row

    def check(self, tau: int, method: Method | None = None) -> None:
        if tau not in self.taus:
            raise CogmapError(f"tau={tau}; this page shows {', '.join(map(str, self.taus))}.")
        if method is not None and method not in self.methods:
            raise CogmapError(f"method={method}; this page has {' and '.join(self.methods)}.")

    @cached_property
    def _overview(self) -> np.ndarray:
        """What was seen, each number in units of its spread, from its widest side. -> (S, 2)"""
        looks = self._looks.numpy()
        flat = pca((looks - looks.mean(axis=0)) / self._spread)
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))

    def look(self, observations: np.ndarray) -> np.ndarray:
        """What the model sees of observations. (N, ...) -> (N, d)"""
        return self._look(observations).numpy()

    @torch.no_grad()
    def _look(self, observations: np.ndarray) -> Tensor:
        given = torch.as_tensor(np.ascontiguousarray(observations))
        looks = [self.agent.look(some.float()) for some in given.split(BATCH)]
        return torch.cat(looks)

    @torch.no_grad()
    def _embedding(self, looks: Tensor, tau: int) -> np.ndarray:
        """h(x, tau). (N, d) -> (N, D)"""
        temporal = self.agent.temporal
        horizon = temporal.horizon(torch.tensor([tau]))
        return temporal.source_head(temporal.source_trunk(looks), horizon)[:, 0].numpy()
