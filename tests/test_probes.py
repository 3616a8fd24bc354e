import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cogmap.envs.maze import Maze
from cogmap.errors import CogmapError
from cogmap.report.probes import (
    NEAR,
    PAPER_TAUS,
    moves_between,
    probe,
    probe_model,
    source_embeddings,
)
from cogmap.temporal.train import load_temporal
from cogmap.theory.geodesic import moves_to
from cogmap.theory.walk import ReversibleWalk

MODEL = Path(__file__).parent.parent / "models/pointmaze-large/temporal"
LARGE = Maze.load("large").lattice


def path(states: int) -> np.ndarray:
    """Successors on a line: stay, left, right."""
    here = np.arange(states)
    return np.stack([here, np.maximum(here - 1, 0), np.minimum(here + 1, states - 1)], axis=1)


def ring(states: int) -> np.ndarray:
    here = np.arange(states)
    return np.stack([here, (here - 1) % states, (here + 1) % states], axis=1)


def diffusion_embeddings(successors: np.ndarray, taus: list[int]) -> np.ndarray:
    """The features of App. B.4, whose distance is the walk's diffusion distance. -> (S, T, S)"""
    walk = ReversibleWalk.on(successors)
    return np.stack([walk.power(tau) / np.sqrt(walk.pi) for tau in taus], axis=1)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_moves_between_all_states_are_the_moves_to_each():
    moves = moves_between(LARGE.successors)
    for goal in (0, 100, len(LARGE) - 1):
        assert (moves[goal] == moves_to(LARGE.successors, goal)).all()
    assert (moves == moves.T).all() and (np.diag(moves) == 0).all()


def test_moves_between_rooms_that_are_not_joined_are_minus_one():
    lattice = Maze.from_text("#####\n#.#.#\n#####", name="apart").lattice
    moves = moves_between(lattice.successors)
    left = lattice.points[:, 0] < 4.0
    assert (moves[left][:, ~left] == -1).all() and (moves[left][:, left] >= 0).all()


def test_all_moves_of_giant_take_less_than_three_seconds():
    successors = Maze.load("giant").lattice.successors
    began = time.perf_counter()
    moves_between(successors)
    assert time.perf_counter() - began < 3.0


def test_an_embedding_true_to_distance_correlates_perfectly():
    line = np.arange(30.0)[:, None, None]
    (row,) = probe(line, moves_between(path(30)), taus=[1], rng=rng())
    assert row.near == pytest.approx(1.0) and row.far == pytest.approx(1.0)


def test_an_embedding_that_knows_nothing_correlates_with_nothing():
    noise = rng(1).normal(size=(200, 1, 8))
    (row,) = probe(noise, moves_between(path(200)), taus=[1], rng=rng())
    assert abs(row.near) < 0.1 and abs(row.far) < 0.1


def test_diffusion_distance_on_a_ring_grows_with_moves_as_far_as_the_walk_has_gone():
    # Walks of tau steps from places more than 2 tau apart never meet: those are all equally far.
    taus = [2, 16]
    embeddings = diffusion_embeddings(ring(40), taus)
    short, long = probe(embeddings, moves_between(ring(40)), taus=taus, rng=rng())
    assert long.near > 0.99 and long.far > 0.99  # rounding parts what is equally far
    assert 0.5 < short.near < 0.99 and abs(short.far) < 0.2


def test_near_and_far_pairs_are_all_pairs():
    moves = moves_between(LARGE.successors)
    embeddings = rng().normal(size=(len(LARGE), 1, 3))
    (row,) = probe(embeddings, moves, taus=[1], rng=rng())
    assert row.near_pairs + row.far_pairs == len(LARGE) * (len(LARGE) - 1) // 2
    assert row.near_pairs == ((moves > 0) & (moves <= NEAR)).sum() // 2


def test_pairs_without_a_way_between_them_are_left_out():
    lattice = Maze.from_text("#####\n#.#.#\n#####", name="apart").lattice
    embeddings = rng().normal(size=(18, 1, 3))
    (row,) = probe(embeddings, moves_between(lattice.successors), taus=[1], rng=rng())
    assert (row.near_pairs, row.far_pairs) == (2 * 9 * 8 // 2, 0)
    assert np.isnan(row.far)


def test_far_pairs_drawn_at_random_give_nearly_the_correlation_of_all():
    moves = moves_between(LARGE.successors)
    embeddings = diffusion_embeddings(LARGE.successors, [64])
    (whole,) = probe(embeddings, moves, taus=[64], rng=rng())
    drawn, again, other = (
        probe(embeddings, moves, taus=[64], rng=rng(seed), most_far=20_000)[0] for seed in (0, 0, 1)
    )
    assert drawn.far_pairs == 20_000 < whole.far_pairs
    assert drawn == again and drawn.far != other.far
    assert drawn.near == whole.near and drawn.far == pytest.approx(whole.far, abs=0.03)


def test_embeddings_of_the_shipped_model_are_unit_vectors_at_every_horizon():
    embeddings = source_embeddings(load_temporal(MODEL), LARGE.points, taus=PAPER_TAUS)
    assert embeddings.shape == (len(LARGE), 4, 64)
    assert np.allclose(np.linalg.norm(embeddings, axis=-1), 1.0, atol=1e-5)


def test_in_the_shipped_model_short_horizons_too_rank_far_pairs():
    rows = probe_model(load_temporal(MODEL), LARGE, rng=rng())
    assert [row.tau for row in rows] == [1, 16, 256, 4096]
    assert all(row.near > 0.88 and row.far > 0.92 for row in rows[:3])
    assert rows[3].near < rows[0].near  # connectivity between regions is what is left


def test_horizons_beyond_the_models_are_named():
    with pytest.raises(CogmapError, match="tau=9000 exceeds the horizons this model learned"):
        source_embeddings(load_temporal(MODEL), LARGE.points, taus=[1, 9000])


def test_without_scipy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(CogmapError, match=r"pip install 'cogmap\[report\]'"):
        moves_between(path(4))
