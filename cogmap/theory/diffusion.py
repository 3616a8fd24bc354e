"""The walk's continuum limit: heat kernels, Varadhan's formula and the best horizon (App. B.2)."""

from __future__ import annotations

import numpy as np


def free_space_density(distance: np.ndarray, tau: float, *, alpha: float, n: int) -> np.ndarray:
    """Eq. 13: the heat kernel of R^n at a distance."""
    distance = np.asarray(distance, dtype=np.float64)
    return (4 * np.pi * alpha * tau) ** (-n / 2) * np.exp(-(distance**2) / (4 * alpha * tau))


def free_space_progress(distance: float, tau: float, *, alpha: float, n: int) -> float:
    """Eq. 14: gain of the density per unit step towards the goal (times 1 / p0(goal))."""
    density = free_space_density(np.array(distance), tau, alpha=alpha, n=n)
    return float(distance / (2 * alpha * tau) * density)


def best_horizon(distance: float, *, alpha: float, n: int) -> float:
    """Eq. 15: the horizon of strongest local progress, r^2 / (2 (n + 2) alpha)."""
    return distance**2 / (2 * (n + 2) * alpha)


def walk_alpha(moves: np.ndarray) -> float:
    """The diffusion coefficient of a walk that takes these moves equally often. (M, n) -> alpha

    Its steps have covariance 2 alpha I (Sec. 3).
    """
    return float((moves**2).mean() / 2)


def reflected_heat_kernel(
    length: float, x: float, y: float, tau: float, *, alpha: float, modes: int = 2000
) -> float:
    """Transition density of reflected Brownian motion on [0, length], as its cosine series."""
    k = np.arange(1, modes + 1)
    rate = alpha * (k * np.pi / length) ** 2
    waves = np.exp(-rate * tau) * np.cos(k * np.pi * x / length) * np.cos(k * np.pi * y / length)
    return float((1.0 + 2.0 * waves.sum()) / length)


def varadhan_distance(score: np.ndarray, tau: float, *, alpha: float) -> np.ndarray:
    """Eq. 9 read backwards: sqrt(-4 alpha tau G*), which tends to the geodesic distance."""
    return np.sqrt(np.maximum(-4.0 * alpha * tau * np.asarray(score), 0.0))
