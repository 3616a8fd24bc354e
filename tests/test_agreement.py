import dataclasses
from pathlib import Path

import numpy as np
import pytest

from cogmap.envs.maze import Lattice, Maze
from cogmap.errors import CogmapError
from cogmap.temporal.train import load_temporal
from cogmap.theory.agreement import FAR_MOVES, LOG_FLOOR, agreement, learned_score
from cogmap.theory.geodesic import moves_to
from cogmap.theory.walk import SMALLEST_RATIO, ReversibleWalk

MODELS = Path(__file__).parent.parent / "models"
LONG = Maze.from_text("########\n#......#\n#.##.#.#\n########", name="long").lattice
ROOM = Maze.from_text("###\n#.#\n###", name="room").lattice
ROOMS_APART = Maze.from_text("#####\n#.#.#\n#####", name="apart").lattice
TAUS = np.array([1, 4, 16, 64, 256])
GOALS = np.array([0, 17, 60])


def compared(score, lattice, **settings):
    return agreement(score, lattice.points, lattice.successors, **settings)


def exact_score(lattice: Lattice, taus: np.ndarray = TAUS):
    """G* by matrix powers: another way than the spectrum that `agreement` takes."""
    walk = ReversibleWalk.on(lattice.successors)
    powers = [walk.power(int(tau)) for tau in taus]

    def score(points, goal):
        state = lattice.nearest(goal[None])[0]
        ratio = np.stack([power[:, state] / walk.pi[state] for power in powers], axis=1)
        return np.log(np.maximum(ratio, SMALLEST_RATIO))

    return score


def changed(change, lattice: Lattice = LONG):
    exact = exact_score(lattice)
    return lambda points, goal: change(exact(points, goal), points, goal)


def noisy(score, points, goal):
    return score + np.random.default_rng(int(abs(goal).sum())).normal(0, 0.2, score.shape)


def test_the_exact_score_agrees_with_itself():
    for row in compared(exact_score(LONG), LONG, taus=TAUS, goals=GOALS):
        assert row.relative_error == pytest.approx(0.0, abs=1e-10)
        assert row.log_error == pytest.approx(0.0, abs=1e-9)
        assert row.noise == pytest.approx(0.0, abs=1e-10)
        assert row.sign_right == 1.0


def test_a_score_that_knows_nothing_has_a_relative_error_of_one_and_no_sign_right():
    blank = changed(lambda score, *_: np.zeros_like(score))
    for row in compared(blank, LONG, taus=TAUS, goals=GOALS):
        assert row.relative_error == pytest.approx(1.0)
        assert row.sign_right == 0.0


def test_the_negative_of_the_score_has_every_sign_wrong():
    upside_down = changed(lambda score, *_: -score)
    for row in compared(upside_down, LONG, taus=TAUS, goals=GOALS):
        assert row.sign_right == 0.0
        assert row.sign_right_far == 0.0 or np.isnan(row.sign_right_far)


def test_a_constant_for_each_goal_and_horizon_changes_neither_log_noise_nor_signs():
    def shifted(score, points, goal):
        return noisy(score, points, goal) + goal.sum() * 0.01 + np.arange(len(TAUS))

    plain = compared(changed(noisy), LONG, taus=TAUS, goals=GOALS)
    for one, two in zip(plain, compared(changed(shifted), LONG, taus=TAUS, goals=GOALS)):
        assert two.log_noise == pytest.approx(one.log_noise, nan_ok=True)
        assert two.sign_right == one.sign_right
        assert two.log_error != pytest.approx(one.log_error)


def test_the_log_error_of_a_constant_is_the_constant():
    raised = changed(lambda score, *_: score + 0.3)
    for row in compared(raised, LONG, taus=TAUS, goals=GOALS):
        assert row.log_error == pytest.approx(0.3)
        assert row.log_noise == pytest.approx(0.0, abs=1e-9) or np.isnan(row.log_noise)


def test_every_field_is_its_formula_done_pair_by_pair():
    exact, learned = exact_score(LONG), changed(noisy)
    rows = compared(learned, LONG, taus=TAUS, goals=GOALS)
    for t, row in enumerate(rows):
        squares, spreads, logs = [], [], []
        gains: list[tuple[float, ...]] = []
        signs: list[tuple[bool, bool]] = []
        for goal in GOALS:
            true = exact(LONG.points, LONG.points[goal])[:, t]
            ours = learned(LONG.points, LONG.points[goal])[:, t]
            moves = moves_to(LONG.successors, goal)
            squares += list((np.exp(ours) - np.exp(true)) ** 2)
            spreads.append(np.exp(true).var())
            for x, neighbours in enumerate(LONG.successors):
                if true[x] > LOG_FLOOR:
                    logs.append((ours[x] - true[x]) ** 2)
                if moves[x] >= FAR_MOVES:
                    n = min(neighbours, key=lambda state: moves[state])  # the first of several
                    gain = np.exp(true[n]) - np.exp(true[x])
                    noise = abs(np.exp(ours[n]) - np.exp(ours[x]) - gain)
                    log_gain = true[n] - true[x]
                    log_noise = abs(ours[n] - ours[x] - log_gain)
                    gains.append((gain, noise, true[x] > LOG_FLOOR, log_gain, log_noise))
                for n in neighbours:
                    if n != x and abs(np.exp(true[n]) - np.exp(true[x])) > SMALLEST_RATIO:
                        right = (ours[n] > ours[x]) == (true[n] > true[x])
                        signs.append((right, moves[x] >= FAR_MOVES))
        known = [gain for gain in gains if gain[2]]
        far = [right for right, is_far in signs if is_far]
        expected = dict(
            tau=TAUS[t],
            relative_error=np.sqrt(np.mean(squares) / np.mean(spreads)),
            log_error=np.sqrt(np.mean(logs)),
            signal=np.median([gain[0] for gain in gains]),
            noise=np.median([gain[1] for gain in gains]),
            log_signal=np.median([gain[3] for gain in known]) if known else np.nan,
            log_noise=np.median([gain[4] for gain in known]) if known else np.nan,
            sign_right=np.mean([right for right, _ in signs]),
            sign_right_far=np.mean(far) if far else np.nan,
        )
        assert dataclasses.asdict(row) == pytest.approx(expected, rel=1e-6, abs=1e-12, nan_ok=True)


def test_no_walk_has_gone_far_at_short_horizons():
    first, *_, last = agreement(
        exact_score(LONG), LONG.points, LONG.successors, taus=TAUS, goals=GOALS
    )
    assert first.signal == 0.0 and np.isnan(first.log_signal) and np.isnan(first.sign_right_far)
    assert last.signal > 0.0 and last.log_signal > 0.0 and last.sign_right_far == 1.0


def test_in_a_maze_too_small_for_far_pairs_the_signal_is_over_all_states_but_the_goal():
    goal, taus = 4, np.array([2])  # the middle of the room: the other eight are its neighbours
    (row,) = agreement(
        exact_score(ROOM, taus), ROOM.points, ROOM.successors, taus=taus, goals=[goal]
    )
    ratio = np.exp(exact_score(ROOM, taus)(ROOM.points, ROOM.points[goal]))[:, 0]
    assert row.signal == pytest.approx(np.median(ratio[goal] - np.delete(ratio, goal)))
    assert np.isnan(row.sign_right_far)


def test_states_without_a_way_to_the_goal_do_not_count_in_the_signal():
    taus = np.array([2])
    (alone,) = agreement(
        exact_score(ROOM, taus), ROOM.points, ROOM.successors, taus=taus, goals=[0]
    )
    (apart,) = agreement(
        exact_score(ROOMS_APART, taus),
        ROOMS_APART.points,
        ROOMS_APART.successors,
        taus=taus,
        goals=[0],
    )
    assert apart.signal == pytest.approx(2 * alone.signal)  # p0 of the goal is half as large


def test_a_mixed_walk_leaves_nothing_to_compare():
    taus = np.array([8192])
    (row,) = compared(exact_score(ROOM, taus), ROOM, taus=taus, goals=[0])
    assert np.isnan(row.relative_error) and np.isnan(row.sign_right)


def test_the_shipped_model_points_the_right_way_where_there_is_signal():
    model = load_temporal(MODELS / "pointmaze-large/temporal")
    lattice = Maze.load("large").lattice
    taus = 2 ** np.arange(14)
    goals = np.random.default_rng(0).choice(len(lattice), 5, replace=False)
    rows = agreement(
        learned_score(model, taus), lattice.points, lattice.successors, taus=taus, goals=goals
    )
    assert [row.tau for row in rows] == list(taus)
    assert all(row.relative_error < 0.3 for row in rows[:-2])  # beyond 2048 little is left to fit
    assert rows[0].sign_right > 0.95
    assert all(row.sign_right_far > 0.85 for row in rows[6:11])  # 64 to 1024
    assert all(2 * row.log_noise < row.log_signal for row in rows[7:11])  # 128 to 1024


def test_the_learned_score_is_the_models_goal_score():
    import torch

    model = load_temporal(MODELS / "pointmaze-large/temporal")
    points, taus = Maze.load("large").lattice.points[:30], np.array([1, 64, 8192])
    inputs = torch.as_tensor(points, dtype=torch.float32)
    expected = model.goal_score(inputs, inputs[3], torch.as_tensor(taus)).numpy()
    assert np.allclose(learned_score(model, taus)(points, points[3]), expected, atol=1e-5)


def test_wrong_goals_and_horizons_are_named():
    with pytest.raises(CogmapError, match=r"goals=\[9\]; give one or more states from 0 to 8"):
        compared(exact_score(ROOM), ROOM, taus=TAUS, goals=[9])
    model = load_temporal(MODELS / "pointmaze-large/temporal")
    with pytest.raises(CogmapError, match="tau=9000 exceeds the horizons this model learned"):
        learned_score(model, np.array([1, 9000]))
