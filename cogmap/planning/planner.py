"""Planning by probability improvement (Alg. 3): look, score every candidate, take the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from cogmap.dynamics.model import Dynamics
from cogmap.errors import CogmapError
from cogmap.planning.candidates import Foreseen, Offer
from cogmap.planning.memory import Memory
from cogmap.planning.objective import Rule, in_view, objective, progress


class Scorer(Protocol):
    """G towards goals at fixed horizons: learned (LearnedScorer) or exact (ExactScorer)."""

    taus: Tensor  # (T,)

    def embed_goals(self, goals: Tensor) -> Tensor:
        """(S, ...) -> one row an observation, to be given back to score"""

    def score(self, observations: Tensor, goals: Tensor, at: Tensor | None = None) -> Tensor:
        """(E, K, ...), sets of S goals (E, S, ...) -> (E, K, T), or (E, K, t) at some (E, t)"""


@dataclass(frozen=True)
class Decision:
    """One choice, and why: the hub that the command line, figures and results share."""

    candidate: int  # which of the candidates
    action: np.ndarray  # (action size,) to be held for one unit
    value: float  # V_beta of the chosen candidate
    horizon: int  # the horizon that argued for it
    taus: np.ndarray  # (t,) the horizons that were asked
    progress: np.ndarray  # (t,) of the chosen candidate at its best radius
    values: np.ndarray  # (A,) of every candidate
    outcome: np.ndarray  # (d,) the predicted look that won
    here: np.ndarray  # (d,) the look that it was decided on


@dataclass(frozen=True)
class Options:
    """What each candidate offers at each radius, for several episodes."""

    actions: Tensor  # (E, A, action size) that each candidate begins with
    outcomes: Tensor  # (E, A, R, ...) where the local model expects to be
    score: Tensor  # (E, A, R, t) G of the goal from there
    progress: Tensor  # (E, A, R, t)
    value: Tensor  # (E, A, R) V_beta, less for places that were seen; -inf: tried from here before
    taus: Tensor  # (E, t) the horizons that were asked
    here: Tensor  # (E, d) the looks they start from


class Planner:
    """Frozen models, a rule and candidates; `decide` is one pass of Algorithm 3's loop.

    Scores and dynamics speak of looks; `look` makes them of observations (a state is its own).
    """

    def __init__(
        self,
        scorer: Scorer,
        dynamics: Dynamics,
        rule: Rule,
        candidates: Offer,
        *,
        look: Callable[[Tensor], Tensor] = lambda observations: observations,
        follow: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
        placed: int | None = None,
    ) -> None:
        """`follow` makes looks of what was decided on last, what was done, and a look now; the
        first `placed` numbers of one tell whether a place was seen before."""
        self.scorer, self.dynamics, self.rule, self.candidates = scorer, dynamics, rule, candidates
        self._look, self._follow = look, follow
        self._device = dynamics.reach.device
        self._weights = torch.as_tensor(rule.horizons.weights).to(self._device)
        # A typical move, in units of each dimension's own: metres and radians do not add.
        self._placed = len(dynamics.reach) if placed is None else placed
        self._unit = math.sqrt(self._placed) * candidates.steps_per_unit
        self._goals: dict[bytes, Tensor] = {}

    def decide(self, observation: np.ndarray, goal: np.ndarray) -> Decision:
        """The action whose predicted outcome makes the goal likeliest."""
        return self.decide_many(np.asarray(observation)[None], np.asarray(goal)[None])[0]

    def decide_many(
        self,
        observations: np.ndarray,
        goals: np.ndarray,
        *,
        memories: Sequence[Memory] | None = None,
        ahead: np.ndarray | None = None,
    ) -> list[Decision]:
        """One decision for each of E episodes, in one pass. (E, ...), (E, ...)

        A goal is an observation, or a set of them (E, S, ...), any of which will do. `ahead` is
        what is seen where each candidate leads (E, A, ...), in worlds that show it.
        """
        options = self.weigh(observations, goals, memories=memories, ahead=ahead)
        row = torch.arange(len(options.value), device=self._device)

        # A candidate is worth its best radius; the best candidate is chosen (line 8).
        by_action, radius = options.value.max(-1)
        chosen = by_action.argmax(-1)
        best = row, chosen, radius[row, chosen]
        gain = options.progress[best]
        horizon = options.taus[row, self._argument(gain, options.score[best])]
        taken = options.actions[row, chosen]
        parts = (chosen, taken, horizon, options.taus, gain, by_action, options.outcomes[best])
        # One transfer each for all episodes.
        each = zip(*(part.cpu().numpy() for part in (*parts, options.here)))
        return [
            Decision(
                candidate=int(candidate),
                action=action,
                value=float(values[candidate]),
                horizon=int(tau),
                taus=taus,
                progress=gains,
                values=values,
                outcome=outcome,
                here=here,
            )
            for candidate, action, tau, taus, gains, values, outcome, here in each
        ]

    @torch.no_grad()
    def weigh(
        self,
        observations: np.ndarray,
        goals: np.ndarray,
        *,
        memories: Sequence[Memory] | None = None,
        ahead: np.ndarray | None = None,
    ) -> Options:
        """What every candidate of each of E episodes is worth. (E, ...), (E, ...)"""
        seen, wanted = np.asarray(observations), np.asarray(goals)
        sets = wanted[:, None] if wanted.ndim == seen.ndim else wanted  # (E, S, ...)
        if sets.shape[:1] + sets.shape[2:] != seen.shape:
            raise CogmapError(
                f"observations {seen.shape} and goals {wanted.shape} must be of one shape "
                "(episodes, numbers), or goals sets of such (episodes, rows, numbers)."
            )
        here = self.here(seen, memories)
        offered = self.candidates.offered(here)  # (E, A, ...) (line 3)
        episodes, actions, radii = len(here), offered.shape[1], len(self.candidates.radii)
        shape = episodes, actions, radii, -1

        # Predict where each candidate leads, at each radius, in each of L ways (Alg. 3, line 5).
        if ahead is not None:
            passed = self._looks(ahead.reshape(-1, *ahead.shape[2:]))[:, None, None]
        elif isinstance(self.candidates, Foreseen):
            raise CogmapError("these candidates are looked at: give what is seen at their ends.")
        else:
            steps = [radius * self.candidates.steps_per_unit for radius in self.candidates.radii]
            passed = self.dynamics.along(
                here.repeat_interleave(actions, 0), offered.flatten(0, 1), max(steps)
            )[:, :, [step - 1 for step in steps]]
        lots = passed.shape[1]
        passed = passed.transpose(1, 2).reshape(episodes, actions * radii, lots, -1)
        outcomes = passed[:, :, 0]

        # Score the present state against the goal at every horizon, and the outcomes at those that
        # have it in view (line 6).
        embedded = torch.stack([self._goal(rows) for rows in sets])  # (E, S, ...)
        now = self.scorer.score(here[:, None], embedded)  # (E, 1, T)
        at = torch.arange(now.shape[-1], device=self._device).expand(episodes, -1)
        if self.rule.view is not None:
            at = in_view(now[:, 0], self.rule.view)  # (E, t)
        asked = None if self.rule.view is None else at
        there = self.scorer.score(passed.flatten(1, 2), embedded, asked)
        if lots > 1:  # the goal is as likely as it is on average over how things turn out
            there = there.unflatten(1, (-1, lots)).logsumexp(2) - math.log(lots)
        now = now.gather(-1, at[:, None])
        delta = progress(there.double(), now.double())  # (E, A R, t)
        weights = self._weights[at] / self._weights[at].sum(-1, keepdim=True)
        value = objective(delta, weights[:, None], self.rule.beta).view(episodes, actions, radii)

        if memories is not None and self.rule.memory:
            last = self._seen_last(value, outcomes, here, memories)
            # Where one decision may turn out otherwise the next time, it may well be tried again.
            near = passed.unflatten(1, (actions, radii))[:, :, 0]  # (E, A, L, d)
            certain = (near == near[:, :, :1]).flatten(1).all(-1)
            value = torch.where(certain[:, None, None], last, value)
        outcomes, there, delta = (part.view(shape) for part in (outcomes, there, delta))
        first = offered if offered.ndim == 3 else offered[:, :, 0]
        return Options(first, outcomes, there, delta, value, self.scorer.taus[at], here)

    def _seen_last(
        self, value: Tensor, outcomes: Tensor, here: Tensor, memories: Sequence[Memory]
    ) -> Tensor:
        """Puts places that were seen before after all that were not. (E, A, R) -> (E, A, R)

        Of what was tried from here the least tried comes first: the models are wrong here, or the
        agent would be gone.
        """
        spots = [memory.spots(self._placed, value.shape[1]) for memory in memories]
        # Short memories are filled up with places that are near nothing.
        places, taken = (
            pad_sequence(
                [torch.as_tensor(part) for part in parts], batch_first=True, padding_value=filling
            ).to(self._device)
            for parts, filling in zip(zip(*spots), (math.inf, 0.0))
        )  # (E, N, d), (E, N, A)
        reach = self.dynamics.reach[: self._placed]
        places = places / reach

        def near(points: Tensor) -> Tensor:  # (E, K, d) -> (E, K, N)
            exact = "donot_use_mm_for_euclid_dist"  # the product's rounding is as large as a step
            points = points[..., : self._placed] / reach
            distance = torch.cdist(points, places, compute_mode=exact)
            return (distance < self._unit / 2).float()

        visits = (near(outcomes) @ taken.sum(-1, keepdim=True)).view_as(value)
        span = value.amax((1, 2), keepdim=True) - value.amin((1, 2), keepdim=True)
        tries = (near(here[:, None]) @ taken)[:, 0]  # (E, A)
        if not len(self.candidates.actions):  # the next time others are on offer
            tries.zero_()
        barred = tries > tries.amin(-1, keepdim=True)
        seen = value - 1.1 * span * visits  # 1 would tie the best seen with the worst unseen
        return seen.masked_fill(barred[..., None], -math.inf)

    def _argument(self, gain: Tensor, score: Tensor) -> Tensor:
        """Which horizon spoke for the choice. (E, T), (E, T) -> (E,)

        The one of largest progress; for pooled exp(G), the one that contributes most (App. D.2).
        """
        if math.isinf(self.rule.beta):
            return score.argmax(-1)
        return gain.argmax(-1)

    @torch.no_grad()
    def here(self, observations: np.ndarray, memories: Sequence[Memory] | None = None) -> Tensor:
        """Looks that know what each episode saw and did before. (E, ...) -> (E, d)"""
        looks = self._looks(observations)
        if self._follow is None or memories is None:
            return looks
        lasts = [(k, memory.last) for k, memory in enumerate(memories) if memory.last is not None]
        if not lasts:
            return looks
        rows = [k for k, _ in lasts]
        before, actions = (
            torch.as_tensor(np.stack([getattr(last, name) for _, last in lasts])).to(looks)
            for name in ("here", "action")
        )
        looks[rows] = self._follow(before, actions, looks[rows])
        return looks

    def _looks(self, observations: np.ndarray) -> Tensor:
        """What models see of observations. (N, ...) -> (N, d)"""
        given = torch.as_tensor(np.ascontiguousarray(observations), dtype=torch.float32)
        looks = self._look(given.to(self._device))
        if not looks.isfinite().all():
            raise CogmapError("observations and goals must be finite; these hold NaN or infinity.")
        return looks

    def _goal(self, rows: np.ndarray) -> Tensor:
        """A goal's embeddings, computed once. (S, ...) -> (S, ...)"""
        key = np.ascontiguousarray(rows).tobytes()
        found = self._goals.get(key)  # looked up once: another thread may clear in between
        if found is None:
            if len(self._goals) >= 1024:  # a long-lived planner does not grow without end
                self._goals.clear()
            found = self._goals[key] = self.scorer.embed_goals(self._looks(rows))
        return found
