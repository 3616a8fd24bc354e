"""What a draw of pairs is, on a table and on rows (Alg. 1, lines 4-6)."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

from cogmap.data.sampling import Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.envs.maze import Maze
from cogmap.envs.wandering import collect_walk
from cogmap.errors import CogmapError
from cogmap.temporal import batches as module
from cogmap.temporal.batches import (
    RowBatches,
    Rows,
    TableBatches,
    batches_for,
    check_fits,
    onward,
    recorded_part,
)
from cogmap.temporal.losses import Batch, nce, softmax
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import build_model
from cogmap.theory.walk import ReversibleWalk

CORRIDOR = Maze.from_text("########\n#......#\n########", name="corridor")  # slow to mix
EXACT = ReversibleWalk.on(CORRIDOR.lattice.successors)
ALL = slice(None)
DEFAULT = TemporalTraining()


@pytest.fixture(scope="module")
def walk() -> Trajectories:
    return collect_walk(CORRIDOR, steps=20_000, seed=1)


def as_rows(walk: Trajectories) -> Trajectories:
    return Trajectories(
        episode_starts=walk.episode_starts, observations=walk.rows(np.arange(len(walk)))
    )


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small_model(data: Trajectories):
    return build_model(data, TemporalTraining(width=16, embedding=8)).requires_grad_(False)


class Perfect:
    """A model that knows the walk; it remembers which sources it was asked for last."""

    def look(self, observations: Tensor) -> Tensor:
        return observations

    def prepare(self, observations: Tensor) -> tuple[Tensor]:
        return (observations,)

    def see(self, prepared: tuple[Tensor]) -> Tensor:
        return prepared[0]

    def raw_pair_score(self, sources: Tensor, targets: Tensor, taus: Tensor, *, rows=None):
        self.rows = rows
        ratio = np.stack([EXACT.power(int(tau)) / EXACT.pi for tau in taus])
        score = torch.as_tensor(np.maximum(ratio, 1e-30), dtype=torch.float32).log()
        return score if rows is None else score[:, rows]


def table_batches(data: Trajectories, **changes) -> TableBatches:
    return TableBatches(data, Episodes(data), TemporalTraining(**({"pairs": 4096} | changes)))


def row_batches(data: Trajectories, **changes) -> RowBatches:
    return RowBatches(data, Episodes(data), TemporalTraining(**({"batch": 32} | changes)))


def in_order(counts: Tensor, rows: Tensor) -> Tensor:
    """Counts with every state a source, sources in the order of the table. (T, S, S)"""
    assert rows.sort().values.tolist() == list(range(counts.shape[-1]))
    return counts[:, rows.argsort()]


def recorded(data: Trajectories, lag: int) -> np.ndarray:
    """How often each target follows each source in the whole of a walk. (S, S)"""
    assert len(data.episode_starts) == 1
    counts = np.zeros((len(data.table), len(data.table)))
    np.add.at(counts, (data.index[:-lag], data.index[lag:]), 1.0)
    return counts


@settings(max_examples=200, deadline=None, derandomize=True)
@given(tau=st.integers(64, 100_000), u=st.floats(0, 1 - 2**-24, width=32, allow_nan=False))
def test_the_recorded_part_of_a_composed_horizon_is_short_and_at_most_half(tau, u):
    lag = int(recorded_part(torch.tensor([tau]), torch.tensor([u], dtype=torch.float32), DEFAULT))
    assert 8 <= lag <= 256
    assert lag <= tau / 2


def test_the_recorded_part_of_a_horizon_below_64_is_all_of_it():
    taus = torch.arange(1, 64)
    for u in (0.0, 0.5, 1 - 2**-24):
        assert torch.equal(recorded_part(taus, torch.full((len(taus),), u), DEFAULT), taus)
    assert int(recorded_part(torch.tensor([64]), torch.zeros(1), DEFAULT)) == 8


@pytest.mark.parametrize("tau_max", [1, 2, 5, 100, 3000])
@pytest.mark.parametrize("octaves", [(10, 5), (3, 1), (1, 1), (60, 50)])
def test_whatever_the_octaves_the_recorded_part_is_at_most_half_or_all(tau_max, octaves):
    settings = TemporalTraining(tau_max=tau_max, recorded_octaves=octaves)
    taus = torch.arange(1, tau_max + 1)
    for u in (0.0, 0.5, 1 - 2**-24):
        lags = recorded_part(taus, torch.full((tau_max,), u), settings)
        assert ((lags == taus) | (2 * lags <= taus)).all()
        assert (lags >= 1).all()


@pytest.mark.parametrize(("tau", "octaves"), [(64, 2), (256, 4), (512, 5), (8192, 5)])
def test_every_octave_of_the_recorded_part_is_equally_likely(tau, octaves):
    u = (torch.arange(1 << 15) + 0.5) / (1 << 15)
    lags = recorded_part(torch.full((len(u),), tau), u, DEFAULT)
    mass = torch.bincount((lags / 8).log2().floor().long(), minlength=octaves) / len(u)
    assert torch.allclose(mass, torch.full((octaves,), 1 / octaves), atol=1e-3)


@pytest.mark.parametrize("part", [8, 31, 64])
def test_composed_targets_are_the_chapman_kolmogorov_product_of_a_perfect_model(walk, part):
    """With the exact score as the model, any recorded part composes to the whole."""
    tau = 128
    table, share = torch.as_tensor(np.array(walk.table)), torch.as_tensor(EXACT.pi).float().log()
    rest = onward(Perfect(), table, table, torch.tensor([tau - part]), share)
    first = torch.as_tensor(EXACT.power(part)).float()
    whole = torch.as_tensor(EXACT.power(tau)).float()
    assert (whole / torch.as_tensor(EXACT.pi)).log().abs().max() > 0.5  # far from mixed
    torch.testing.assert_close(first @ rest[0], whole, rtol=1e-4, atol=1e-7)


def test_counts_are_drawn_in_proportion_to_the_recorded_pairs(walk):
    model, batches = Perfect(), table_batches(walk, pairs=200_000, tied=False)
    batch = batches.draw(model, torch.tensor([5, 40]), generator(), share=ALL)
    for counts, lag in zip(in_order(batch.counts, model.rows).numpy(), (5, 40)):
        all_pairs = recorded(walk, lag)
        assert counts.sum() == 200_000
        assert (counts[all_pairs == 0] == 0).all()
        common = all_pairs > 20
        share = all_pairs[common] / all_pairs[common].sum()
        assert chisquare(counts[common], share * counts[common].sum()).pvalue > 0.01


def test_counts_of_a_composed_horizon_are_the_recorded_part_times_the_kernel(walk):
    part, taus = 16, [80, 200]
    model, batches = Perfect(), table_batches(walk, pairs=1_000_000, recorded_octaves=(9, 9))
    batch = batches.draw(model, torch.tensor(taus), generator(), share=ALL)
    assert batch.composed.tolist() == [True, True]
    both = recorded(walk, part)
    both = both + both.T
    first = both / both.sum(1, keepdims=True)
    share = batch.log_share.double().exp().numpy()
    for counts, tau in zip(in_order(batch.counts, model.rows).double().numpy(), taus):
        rest = EXACT.power(tau - part) / EXACT.pi * share
        expected = first @ (rest / rest.sum(1, keepdims=True))
        drawn = counts / counts.sum(1, keepdims=True)
        assert counts.sum() == pytest.approx(2_000_000, rel=1e-4)
        assert np.abs(drawn / expected - 1).max() < 0.05
        assert np.abs(drawn - expected).sum(1).max() < 0.02
        assert np.abs(expected / EXACT.pi - 1).max() > 0.5  # not yet mixed
        off = np.abs(drawn - EXACT.power(tau)).sum(1).mean()
        assert off < 0.15  # as noisy as one walk of 20,000 steps


def test_horizons_that_are_not_composed_keep_the_pairs_as_they_were_recorded(walk):
    taus = torch.tensor([1, 63, 64, 500])
    drawn = [
        table_batches(walk, compose=compose, tied=False).draw(
            Perfect(), taus, generator(), share=ALL
        )
        for compose in (True, False)
    ]
    assert drawn[0].composed.tolist() == [False, False, True, True]
    assert drawn[1].composed.tolist() == [False] * 4
    assert torch.equal(drawn[0].counts[:2], drawn[1].counts[:2])
    assert torch.equal(drawn[1].counts, drawn[1].counts.round())


def test_pairs_read_both_ways_are_the_pairs_and_their_reverse(walk):
    model, taus = Perfect(), torch.tensor([1, 7, 50])
    forward, both = (
        in_order(
            table_batches(walk, tied=tied).draw(model, taus, generator(), share=ALL).counts,
            model.rows,
        )
        for tied in (False, True)
    )
    assert torch.equal(both, forward + forward.transpose(1, 2))
    assert torch.equal(both, both.transpose(1, 2))
    assert not torch.equal(forward, forward.transpose(1, 2))
    assert (both.sum((1, 2)) == 2 * 4096).all()


@pytest.mark.parametrize(
    ("compose", "tied", "expected"), [(True, True, 2), (True, False, 1), (False, True, 1)]
)
def test_only_composed_pairs_of_one_encoder_are_read_both_ways(walk, compose, tied, expected):
    asked = TemporalTraining(pairs=100, compose=compose, tied=tied)
    batches = batches_for(walk, Episodes(walk), asked)
    counts = batches.draw(Perfect(), torch.tensor([3]), generator(), share=ALL).counts
    assert counts.sum() == expected * 100


def test_some_sources_have_the_rows_that_they_have_among_all(walk, monkeypatch):
    model, taus = small_model(walk), torch.tensor([3, 100])
    whole = table_batches(walk).draw(model, taus, generator(), share=ALL)
    monkeypatch.setattr(module, "SOURCES", 7)
    some = table_batches(walk).draw(model, taus, generator(), share=ALL)
    assert some.counts.shape == some.scores.shape == (2, 7, len(walk.table))
    assert torch.equal(some.counts[0], whole.counts[0, :7])
    torch.testing.assert_close(some.counts[1], whole.counts[1, :7])
    torch.testing.assert_close(some.scores, whole.scores[:, :7])
    assert torch.equal(some.log_share, whole.log_share)


def test_every_state_is_a_source_in_its_turn(walk, monkeypatch):
    monkeypatch.setattr(module, "SOURCES", 7)
    model, batches, chance = Perfect(), table_batches(walk, pairs=10), generator()
    seen = np.zeros(len(walk.table))
    for _ in range(1000):
        batches.draw(model, torch.tensor([3]), chance, share=ALL)
        assert len(set(model.rows.tolist())) == 7
        seen[model.rows] += 1
    assert chisquare(seen).pvalue > 0.01


def test_the_share_of_a_target_is_how_often_the_walk_was_there(walk):
    batch = table_batches(walk).draw(Perfect(), torch.tensor([3]), generator(), share=ALL)
    expected = np.bincount(walk.index, minlength=len(walk.table)) / len(walk)
    assert np.allclose(batch.log_share.exp().numpy(), expected)


def test_sources_and_targets_are_seen_within_the_spread_of_their_rows(walk):
    class Watched(Perfect):
        def raw_pair_score(self, sources, targets, taus, *, rows=None):
            self.seen = sources
            return super().raw_pair_score(sources, targets, taus, rows=rows)

    model, batches = Watched(), table_batches(walk)
    batches.draw(model, torch.tensor([3]), generator(), share=ALL)
    away = (model.seen - torch.as_tensor(np.array(walk.table))).abs()
    assert walk.spread > 0
    assert 0.9 * walk.spread < away.max() <= walk.spread * 1.001


KINDS = {"table": table_batches, "rows": lambda walk: row_batches(as_rows(walk))}
both_kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


@both_kinds
def test_shares_of_a_draw_together_are_the_draw(kind, walk):
    model, batches, taus = small_model(walk), kind(walk), torch.tensor([9, 300])

    def draw(share: slice) -> tuple[Batch, Tensor]:
        chance = generator(3)
        batch = batches.draw(model, taus, chance, share=share)
        return batch, chance.get_state()

    (first, after), (second, _), (whole, after_whole) = (
        draw(share) for share in (slice(0, 1), slice(1, 2), slice(0, 2))
    )
    assert torch.equal(after, after_whole)  # so that the next draws are the same too
    assert len(whole.scores) == len(whole.counts) == 2 * len(first.scores)
    torch.testing.assert_close(torch.cat([first.scores, second.scores]), whole.scores)
    torch.testing.assert_close(torch.cat([first.counts, second.counts]), whole.counts)
    if whole.composed is not None:
        assert torch.equal(torch.cat([first.composed, second.composed]), whole.composed)
        assert whole.composed.any() and not whole.composed[: len(first.composed)].any()
        if whole.log_share.ndim == 1:  # of a table
            assert torch.equal(first.log_share, whole.log_share)
        else:
            shares = torch.cat([first.log_share, second.log_share])
            assert torch.equal(shares, whole.log_share)
            torch.testing.assert_close(torch.cat([first.expected, second.expected]), whole.expected)


def numbered(count: int = 3000) -> Trajectories:
    """Observations that are the numbers of their rows, in two episodes."""
    rows = np.arange(count, dtype=np.float32)[:, None]
    return Trajectories(episode_starts=np.array([0, 2 * count // 3]), observations=rows)


class Near:
    """A model that finds near numbers likely, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls = []

    def prepare(self, observations: Tensor) -> tuple[Tensor]:
        return (observations,)

    def see(self, prepared: tuple[Tensor]) -> Tensor:
        return prepared[0]

    def raw_pair_score(self, sources: Tensor, targets: Tensor, taus: Tensor, *, rows=None):
        some = sources if rows is None else sources[rows]
        self.calls.append((some, targets, *taus.tolist()))
        return torch.stack([self.score(some, targets, tau) for tau in taus.tolist()])

    def score(self, sources: Tensor, targets: Tensor, tau: int) -> Tensor:
        return -(sources - targets.T).abs() / tau

    def kernel(self, sources: Tensor, targets: Tensor, tau: int, without: Tensor) -> Tensor:
        return self.score(sources, targets, tau).masked_fill(without, -torch.inf).softmax(-1)


def test_a_composed_row_is_recorded_to_its_middle_and_the_models_kernel_from_there():
    model, tau = Near(), 300
    batch = row_batches(numbered()).draw(model, torch.tensor([tau]), generator(), share=ALL)
    (sources, targets, whole, lag), (middles, _, rest) = model.calls
    assert (whole, rest + lag) == (tau, tau)
    assert 8 <= lag <= tau / 2
    assert torch.equal(sources, targets[:32]) and torch.equal(middles, targets)
    itself = torch.eye(64, dtype=torch.bool)
    without = itself | itself.roll(32, 0)  # neither a row itself nor the one it was recorded with
    second = model.kernel(targets, targets, rest, without)
    assert batch.composed[0]
    torch.testing.assert_close(batch.counts[0], second[32:])
    product = model.kernel(sources, targets, lag, without[:32]) @ second
    torch.testing.assert_close(batch.expected[0], product.masked_fill(without[:32], 0.0))
    assert torch.equal(batch.log_share[0].isinf(), without[:32])
    torch.testing.assert_close(batch.log_share[0].exp().sum(-1), torch.ones(32))


def test_rows_are_contrasted_at_the_lag_they_were_recorded_at_too():
    model = Near()
    batch = row_batches(numbered()).draw(model, torch.tensor([300]), generator(), share=ALL)
    sources, targets, _, lag = model.calls[0]
    assert batch.composed.tolist() == [True, False]
    assert torch.equal(batch.scores[1], model.score(sources, targets, lag))
    assert torch.equal(batch.counts[1], torch.eye(64)[32:])
    assert torch.equal(batch.log_share[1].isinf(), torch.eye(64, dtype=torch.bool)[:32])


@pytest.mark.parametrize("tied", [True, False])
def test_every_other_pair_of_rows_is_turned_round_where_pairs_are_read_both_ways(tied):
    model = Near()
    row_batches(numbered(), tied=tied).draw(model, torch.tensor([300]), generator(), share=ALL)
    _, rows, _, lag = model.calls[0]
    step = (rows[32:] - rows[:32])[:, 0] / lag
    assert step[::2].tolist() == [1.0] * 16
    assert step[1::2].tolist() == [-1.0 if tied else 1.0] * 16


def test_a_row_of_a_short_horizon_has_its_partner_and_is_not_compared_with_itself():
    batch = row_batches(numbered()).draw(Near(), torch.tensor([63]), generator(), share=ALL)
    assert batch.composed.tolist() == [False, False]
    itself = torch.eye(64)
    for counts, log_share in zip(batch.counts, batch.log_share):
        assert torch.equal(counts, itself[32:])
        assert torch.equal(log_share.isinf(), itself[:32].bool())


def test_the_gradient_of_a_row_batch_reaches_scores_and_no_kernel(walk):
    model = build_model(as_rows(walk), TemporalTraining(width=16, embedding=8))
    batch = row_batches(as_rows(walk)).draw(model, torch.tensor([300]), generator(), share=ALL)
    assert batch.scores.requires_grad
    assert not batch.counts.requires_grad and not batch.expected.requires_grad
    softmax(batch)[0].backward()
    assert all(value.grad.isfinite().all() for value in model.parameters())


def test_a_row_that_is_not_composed_has_its_own_target_alone(walk):
    model = small_model(walk)
    batches = row_batches(as_rows(walk), compose=False)
    batch = batches.draw(model, torch.tensor([63, 300]), generator(), share=ALL)
    assert torch.equal(batch.counts, torch.eye(32).expand(2, 32, 32))
    assert batch.log_share is None and batch.composed is None


def test_rows_composed_by_a_perfect_model_agree_with_it(walk):
    """At G* the agreement is as small as a batch of rows can tell, and far larger elsewhere."""
    points = np.array(walk.table)

    class Exact(Near):
        def score(self, sources: Tensor, targets: Tensor, tau: int) -> Tensor:
            at = [
                np.abs(points[None] - x.numpy()[:, None]).sum(-1).argmin(1)
                for x in (sources, targets)
            ]
            ratio = (EXACT.power(tau) / EXACT.pi)[np.ix_(*at)]
            return torch.as_tensor(np.maximum(ratio, 1e-30), dtype=torch.float32).log()

    class Flat(Exact):
        def score(self, sources: Tensor, targets: Tensor, tau: int) -> Tensor:
            return super().score(sources, targets, tau) * (0.5 if tau == 200 else 1.0)

    gaps = []
    for model in (Exact(), Flat()):
        batches = row_batches(as_rows(walk), batch=512)
        batch = batches.draw(model, torch.tensor([200]), generator(), share=ALL)
        gaps.append(float(softmax(batch)[1]["agreement"]))
    assert gaps[0] < 1e-3 < 0.01 < gaps[1], gaps


def test_pictures_stay_bytes_until_they_are_looked_at():
    pictures = np.random.default_rng(0).integers(0, 255, (600, 16, 16, 3)).astype(np.uint8)
    data = Trajectories(episode_starts=np.array([0]), observations=pictures)

    class Looking(Near):
        def prepare(self, observations: Tensor) -> tuple[Tensor]:
            self.seen = observations
            return (observations.float().mean((1, 2)),)

        def score(self, sources: Tensor, targets: Tensor, tau: int) -> Tensor:
            return sources @ targets.T

    model = Looking()
    row_batches(data).draw(model, torch.tensor([5]), generator(), share=ALL)
    assert model.seen.dtype == torch.uint8 and model.seen.shape == (64, 16, 16, 3)


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64, np.int16])
@pytest.mark.parametrize("table", [True, False])
def test_rows_held_on_a_device_are_the_rows_of_the_dataset(table, kind, monkeypatch):
    monkeypatch.setattr(module, "COPIED_ROWS", 7)
    column = np.random.default_rng(0).integers(0, 99, (40, 3)).astype(kind)
    where = {"observations": column}
    if table:
        where = {"table": column, "index": np.arange(40, dtype=np.int32)[::-1].copy()}
    data = Trajectories(episode_starts=np.array([0]), **where)
    some, cpu = torch.tensor([39, 0, 12, 12]), torch.device("cpu")
    held, read = (Rows(data, cpu, held=held)(some) for held in (True, False))
    assert torch.equal(held, read)
    assert held.dtype == read.dtype == (torch.uint8 if kind is np.uint8 else torch.float32)
    assert np.array_equal(held.numpy(), data.rows(some.numpy()))


def test_data_too_large_for_a_gpu_is_refused_in_one_line():
    check_fits(4 << 30, 9 << 30)
    with pytest.raises(
        CogmapError, match=r"45\.8 GiB do not fit.*80\.0 GiB.*--device cpu"
    ) as error:
        check_fits(4_000_000 * 64 * 64 * 3, 80 << 30)
    assert "\n" not in str(error.value)


def test_table_and_row_batches_have_the_same_expected_loss(walk):
    model = build_model(walk, TemporalTraining(width=32, embedding=8, loss="nce"))
    still = Trajectories(
        episode_starts=walk.episode_starts, table=walk.table, index=walk.index, spread=0.0
    )
    table = table_batches(still, pairs=256, compose=False)
    rows = row_batches(as_rows(walk), batch=256, compose=False)
    taus, chance = torch.tensor([3]), generator()
    means = []
    with torch.no_grad():
        for batches in (table, rows):
            draws = [nce(batches.draw(model, taus, chance, share=ALL))[0] for _ in range(60)]
            means.append(torch.stack(draws))
    spread = (means[0].std() + means[1].std()) / np.sqrt(60)
    assert abs(means[0].mean() - means[1].mean()) < 4 * spread
