"""The exploration walk, exactly: P^tau, the ideal score G*, its spectrum, bounds (Sec. 3, App. B).

Shape letters: S states, M moves, T horizons.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

SMALLEST_RATIO = 1e-12  # below this a float64 spectrum holds only rounding


def transition_matrix(successors: np.ndarray) -> np.ndarray:
    """P of a walk that takes each of its moves equally often. (S, M) -> (S, S)"""
    states, moves = successors.shape
    matrix = np.zeros((states, states))
    np.add.at(matrix, (np.arange(states)[:, None], successors), 1.0 / moves)
    return matrix


def stationary(matrix: np.ndarray) -> np.ndarray:
    """pi with pi P = pi. (S, S) -> (S,)"""
    equations = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
    right = np.append(np.zeros(len(matrix)), 1.0)
    return np.linalg.lstsq(equations, right, rcond=None)[0]


@dataclass(frozen=True)
class ReversibleWalk:
    """A finite walk with detailed balance, and everything that Sec. 3 says of it."""

    matrix: np.ndarray  # (S, S) transition matrix P
    pi: np.ndarray  # (S,) stationary distribution; p0 = pi

    @classmethod
    def on(cls, successors: np.ndarray) -> ReversibleWalk:
        """The lattice walk: P is symmetric, so pi is uniform (also where parts are not joined)."""
        matrix = transition_matrix(successors)
        return cls(matrix, np.full(len(matrix), 1.0 / len(matrix)))

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Prop. 2: eigenvalues, falling, and eigenfunctions orthonormal under pi. (S,), (S, S)

        From the symmetric matrix D^1/2 P D^-1/2; column j of the second is psi_j.
        """
        root = np.sqrt(self.pi)
        values, vectors = np.linalg.eigh(root[:, None] * self.matrix / root[None])
        order = np.argsort(-values)
        return values[order], vectors[:, order] / root[:, None]

    def power(self, tau: int) -> np.ndarray:
        """P^tau by repeated squaring: where the walk is after tau steps. (S, S)"""
        return np.linalg.matrix_power(self.matrix, tau)

    def ratio(self, taus: np.ndarray, goal: int) -> np.ndarray:
        """exp G*(x, goal, tau) = P^tau(x, goal) / pi(goal) from the spectrum (Eq. 16). -> (S, T)"""
        values, functions = self.spectrum
        decay = np.sign(values)[:, None] ** (np.asarray(taus) % 2) * np.abs(values)[:, None] ** taus
        return np.maximum(functions @ (decay * functions[goal][:, None]), 0.0)

    def score(self, taus: np.ndarray, goal: int) -> np.ndarray:
        """G*(x, goal, tau) (Eq. 10), not below log SMALLEST_RATIO. -> (S, T)"""
        return np.log(np.maximum(self.ratio(taus, goal), SMALLEST_RATIO))

    def dirichlet(self, function: np.ndarray) -> float:
        """Eq. 17: how much a function changes across transitions."""
        change = (function[:, None] - function[None]) ** 2
        return float(0.5 * (self.pi[:, None] * self.matrix * change).sum())

    def cut_bound(self, region: np.ndarray) -> float:
        """Eq. 18: the spectral gap is at most this, for a set of states. (S,) bool"""
        flow = (self.pi[:, None] * self.matrix)[region][:, ~region].sum()
        return float(flow / (self.pi[region].sum() * self.pi[~region].sum()))

    def mixing_bound(self, tau: int) -> np.ndarray:
        """Eq. 19: |exp G* - 1| is at most this for each pair of states. (S, S)"""
        rho = np.abs(self.spectrum[0][1:]).max()
        room = np.sqrt(1.0 / self.pi - 1.0)
        return rho**tau * room[:, None] * room[None]

    def slow_mode(self, taus: np.ndarray, goal: int) -> np.ndarray:
        """Eq. 20: the second eigenfunction's share of G*, all that is left late. -> (S, T)"""
        values, functions = self.spectrum
        return values[1] ** np.asarray(taus) * (functions[:, 1] * functions[goal, 1])[:, None]

    @property
    def relaxation_time(self) -> float:
        """1 / (1 - lambda_2), in steps."""
        return float(1.0 / (1.0 - self.spectrum[0][1]))

    def discounted(self, gamma: float, goal: int) -> np.ndarray:
        """Eq. 27: Phi_gamma, all horizons from zero on. -> (S,)"""
        identity = np.eye(len(self.matrix))
        occupancy = np.linalg.solve(identity - gamma * self.matrix, identity[goal])
        return (1 - gamma) * occupancy / self.pi[goal]

    def discounted_arrival(self, gamma: float, goal: int) -> np.ndarray:
        """E_x[gamma^T_g]: the discounted first arrival at the goal (Eq. 28). -> (S,)"""
        others = np.arange(len(self.matrix)) != goal
        inner = np.eye(int(others.sum())) - gamma * self.matrix[np.ix_(others, others)]
        arrival = np.ones(len(self.matrix))
        arrival[others] = np.linalg.solve(inner, gamma * self.matrix[others, goal])
        return arrival
