"""What a draw of pairs is, and what composing two short horizons expects (Alg. 1, lines 4-6)."""

from dataclasses import replace

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
from cogmap.temporal.batches import Batches, Rows, check_fits, longest_lag, recorded_lags
from cogmap.temporal.losses import nce, softmax
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import build_model
from cogmap.theory.walk import ReversibleWalk

CORRIDOR = Maze.from_text("########\n#......#\n########", name="corridor")  # slow to mix
EXACT = ReversibleWalk.on(CORRIDOR.lattice.successors)
ALL = slice(None)
N = 32  # pairs of a batch
ITSELF = torch.eye(2 * N)
PARTNER = ITSELF.roll(N, dims=0)


@pytest.fixture(scope="module")
def walk() -> Trajectories:
    return collect_walk(CORRIDOR, steps=20_000, seed=1)


def numbered(count: int = 3000) -> Trajectories:
    """Observations that are the numbers of their rows, in two episodes."""
    rows = np.arange(count, dtype=np.float32)[:, None]
    return Trajectories(episode_starts=np.array([0, 2 * count // 3]), observations=rows)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batches(data: Trajectories, **changes) -> Batches:
    return Batches(
        data, Episodes(data), TemporalTraining(**({"batch": N, "recorded": 64} | changes))
    )


class Plain:
    """A model that scores nothing and keeps what it was shown."""

    shown: Tensor

    def prepare(self, observations: Tensor) -> tuple[Tensor]:
        return (observations,)

    def see(self, prepared: tuple[Tensor]) -> Tensor:
        return prepared[0]

    def raw_pair_score(self, sources: Tensor, targets: Tensor, taus: Tensor) -> Tensor:
        self.shown = sources
        return torch.zeros(len(taus), len(sources), len(targets))


class Near:
    """A model that finds near numbers likely, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls = []

    def prepare(self, observations: Tensor) -> tuple[Tensor]:
        return (observations,)

    def see(self, prepared: tuple[Tensor]) -> Tensor:
        return prepared[0]

    def raw_pair_score(self, sources: Tensor, targets: Tensor, taus: Tensor) -> Tensor:
        assert sources is targets  # so that one encoder has to encode them once
        self.calls.append((sources, taus.tolist()))
        return torch.stack([self.score(sources, tau) for tau in taus.tolist()])

    def score(self, rows: Tensor, tau: int) -> Tensor:
        return -(rows - rows.T).abs() / tau

    def kernel(self, rows: Tensor, tau: int) -> Tensor:
        """p(y | x, tau) over rows that are neither x nor its partner."""
        score = self.score(rows, tau).masked_fill(ITSELF + PARTNER > 0, -torch.inf)
        return score.softmax(-1)


def octaves_below(tau: int, longest: int) -> tuple[int, int]:
    """The least and the most that a lag for a horizon may be."""
    most = min(longest, tau // 2)
    return max(1, most // 8), most


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    tau=st.integers(2, 100_000),
    longest=st.integers(1, 1000),
    u=st.floats(0, 1, exclude_max=True),
)
def test_a_lag_lies_in_the_three_octaves_up_to_the_longest_or_half_the_horizon(tau, longest, u):
    lag = recorded_lags(torch.tensor([tau]), torch.tensor([u], dtype=torch.float64), longest)
    least, most = octaves_below(tau, longest)
    assert lag.dtype == torch.int64
    assert least <= int(lag) <= most


@pytest.mark.parametrize("longest", [1, 2, 7, 8, 64, 100])
def test_lags_reach_from_one_end_of_their_octaves_to_the_other(longest):
    taus = torch.arange(2, 4 * longest + 2)
    ends = torch.tensor([octaves_below(tau, longest) for tau in taus.tolist()])
    first, last = (
        recorded_lags(taus, torch.full((len(taus),), u, dtype=torch.float64), longest)
        for u in (0.0, 1 - 2**-53)
    )
    assert torch.equal(first, ends[:, 0])
    assert (ends[:, 1] - last <= 1).all()


@pytest.mark.parametrize(("tau", "longest"), [(5000, 64), (128, 64), (128, 1000)])
def test_each_of_the_three_octaves_of_lags_is_equally_likely(tau, longest):
    u = (torch.arange(1 << 15, dtype=torch.float64) + 0.5) / (1 << 15)
    lags = recorded_lags(torch.full((len(u),), tau), u, longest)
    mass = torch.bincount((lags / 8).log2().floor().long()) / len(u)
    assert torch.allclose(mass[:3], torch.full((3,), 1 / 3), atol=0.01)


@pytest.mark.parametrize(
    "length, changes, longest",
    [
        (2_500, {}, 10),
        (10_000, {}, 20),  # four times the rows, twice the lag
        (10_000, {"tau_max": 2}, 20),
        (10_000, {"recorded": 64}, 64),
        (4, {}, 1),
    ],
)
def test_pairs_are_recorded_up_to_a_fifth_of_the_root_of_the_datas_length(length, changes, longest):
    data = numbered(length)
    wanted = TemporalTraining(**({"tau_max": 500} | changes))
    assert longest_lag(data, Episodes(data), wanted) == longest


UNCOMPOSED = [
    {"recorded": None},
    {"loss": "nce", "recorded": "auto"},
    {"tau_max": 1},
    {"target": (0,), "recorded": "auto"},
]


@pytest.mark.parametrize(
    "changes", UNCOMPOSED, ids=["all recorded", "nce", "one step", "told in part"]
)
def test_there_is_no_longest_lag_where_nothing_is_composed(changes):
    data = numbered()
    assert longest_lag(data, Episodes(data), TemporalTraining(**changes)) is None


def test_no_lag_is_longer_than_the_longest_episode():
    data = numbered(10_000)
    data = replace(data, episode_starts=np.arange(0, 10_000, 12))
    assert longest_lag(data, Episodes(data), TemporalTraining()) == 11


@pytest.mark.parametrize("tau", [2, 3, 40, 500])
def test_a_batch_has_pairs_a_lag_apart_first_all_x_then_what_followed(tau):
    drawing, chance, seen = batches(numbered()), generator(), set()
    for _ in range(20):
        model = Near()
        drawing.draw(model, torch.tensor([tau]), chance, share=ALL)
        rows, (lag, horizon) = model.calls[0]
        assert rows.shape == (2 * N, 1) and horizon == tau
        assert (rows[N:] - rows[:N] == lag).all()
        assert ((rows[N:] < 2000) == (rows[:N] < 2000)).all()  # in one of the two episodes
        seen.add(lag)
    least, most = octaves_below(tau, 64)
    assert least <= min(seen) and max(seen) <= most
    assert len(seen) > 5 or most == 1


@pytest.mark.parametrize(("changes", "tau", "lag"), [({"recorded": None}, 10, 10), ({}, 2, 1)])
def test_pairs_of_a_batch_are_drawn_uniformly(changes, tau, lag):
    many = batches(numbered(40), batch=2000, tau_max=10, **changes)
    model = Near()
    many.draw(model, torch.tensor([tau]), generator(), share=ALL)
    seen = np.bincount(model.calls[0][0][:2000, 0].int().numpy(), minlength=40)
    possible = [row for row in range(40) if row + lag < 26 or 26 <= row < 40 - lag]
    assert set(np.flatnonzero(seen)) == set(possible)
    assert chisquare(seen[possible]).pvalue > 0.01


def test_a_horizon_of_one_step_is_composed_as_two_steps_are():
    """One step has no two parts, and the contrast at a lag of 1 is for it."""
    drawn = []
    for tau in (1, 2):
        model = Near()
        drawn.append(batches(numbered()).draw(model, torch.tensor([tau]), generator(), share=ALL))
        assert [asked for _, asked in model.calls] == [[1, 2], [1]]
    one, two = drawn
    assert torch.equal(one.scores, two.scores) and torch.equal(one.far, two.far)
    assert torch.equal(one.expected, two.expected)


def test_one_encoder_reads_pairs_both_ways():
    batch = batches(numbered()).draw(Near(), torch.tensor([9]), generator(), share=ALL)
    assert torch.equal(batch.positive, PARTNER)
    assert torch.equal(batch.other, 1 - ITSELF - PARTNER)


def test_untied_encoders_take_pairs_one_way():
    one_way = batches(numbered(), tied=False)
    batch = one_way.draw(Near(), torch.tensor([9]), generator(), share=ALL)
    assert torch.equal(batch.positive[:N, N:], torch.eye(N)) and batch.positive.sum() == N
    assert torch.equal(batch.other, 1 - ITSELF - PARTNER)


def test_a_batch_scores_its_rows_at_the_lag_and_at_the_horizon():
    model, taus = Near(), torch.tensor([30, 300])
    batch = batches(numbered()).draw(model, taus, generator(), share=ALL)
    asked = [call for call in model.calls if len(call[1]) == 2]
    assert [horizon for _, (_, horizon) in asked] == taus.tolist()
    for t, (rows, (lag, tau)) in enumerate(asked):
        assert 1 <= lag <= tau // 2
        assert torch.equal(batch.scores[t], model.score(rows, lag))
        assert torch.equal(batch.far[t], model.score(rows, tau))


@pytest.mark.parametrize("tau", [2, 30, 300])
def test_what_is_expected_at_a_horizon_is_the_product_of_the_models_own_two_shorter_ones(tau):
    model = Near()
    batch = batches(numbered()).draw(model, torch.tensor([tau]), generator(), share=ALL)
    (rows, (lag, _)), (again, (rest,)) = model.calls
    assert rest == tau - lag and torch.equal(rows, again)
    product = model.kernel(rows, lag) @ model.kernel(rows, rest)
    torch.testing.assert_close(batch.expected[0], product)
    torch.testing.assert_close(batch.expected[0].sum(-1), torch.ones(2 * N))


def test_no_row_is_compared_with_itself_or_its_partner_in_a_composed_kernel():
    """A middle row that is likely only from itself and its partner carries nothing on."""
    model = Near()
    drawing = batches(numbered())
    kernel = drawing._kernel(model.score(torch.rand(2 * N, 1), 1) + 30 * (ITSELF + PARTNER))
    assert (kernel[ITSELF + PARTNER > 0] == 0).all()
    assert (kernel[ITSELF + PARTNER == 0] > 0).all()
    torch.testing.assert_close(kernel.sum(-1), torch.ones(2 * N))


@pytest.mark.parametrize("horizon", [30, 200])
def test_rows_composed_by_a_perfect_model_agree_with_it(walk, horizon):
    """At G* the agreement is as small as a batch of rows can tell, and far larger elsewhere."""
    points = np.array(walk.table)

    class Exact(Near):
        def score(self, rows: Tensor, tau: int) -> Tensor:
            at = np.abs(points[None] - rows.numpy()[:, None]).sum(-1).argmin(1)
            ratio = (EXACT.power(tau) / EXACT.pi)[np.ix_(at, at)]
            return torch.as_tensor(np.maximum(ratio, 1e-30), dtype=torch.float32).log()

    class Flat(Exact):
        def score(self, rows: Tensor, tau: int) -> Tensor:
            return super().score(rows, tau) * (0.5 if tau == horizon else 1.0)

    gaps = []
    for model in (Exact(), Flat()):
        drawing = batches(walk, batch=512)
        batch = drawing.draw(model, torch.tensor([horizon]), generator(), share=ALL)
        gaps.append(float(softmax(batch)[1]["agreement"]))
    assert gaps[0] < 1e-3 < 0.01 < gaps[1], gaps


@pytest.mark.parametrize(
    "changes", UNCOMPOSED, ids=["all recorded", "nce", "one step", "told in part"]
)
def test_where_nothing_is_composed_every_horizon_is_recorded(changes):
    model, taus = Near(), torch.tensor([1, 1] if "tau_max" in changes else [30, 500])
    batch = batches(numbered(), **changes).draw(model, taus, generator(), share=ALL)
    assert batch.far is None and batch.expected is None
    assert [asked for _, asked in model.calls] == [[tau] for tau in taus.tolist()]
    for t, (rows, (tau,)) in enumerate(model.calls):
        assert (rows[N:] - rows[:N] == tau).all()
        assert torch.equal(batch.scores[t], model.score(rows, tau))


@pytest.mark.parametrize("recorded", [250, 500, 5000])
def test_however_long_a_lag_may_be_every_horizon_is_composed(recorded):
    model, taus = Near(), torch.tensor([2, 30, 500])
    drawing = batches(numbered(), recorded=recorded, tau_max=500)
    batch = drawing.draw(model, taus, generator(), share=ALL)
    lags, rests = (
        [asked[0] for _, asked in model.calls if len(asked) == count] for count in (2, 1)
    )
    assert [lag + rest for lag, rest in zip(lags, rests, strict=True)] == taus.tolist()
    assert min(lags) >= 1 and batch.expected.shape == (3, 2 * N, 2 * N)


@pytest.mark.parametrize("tau", [1, 2, 300])
def test_the_gradient_of_a_batch_reaches_its_scores_and_not_what_they_should_agree_with(walk, tau):
    model = build_model(walk, TemporalTraining(width=16, embedding=8))
    batch = batches(walk).draw(model, torch.tensor([tau]), generator(), share=ALL)
    assert batch.scores.requires_grad and batch.far.requires_grad
    assert not batch.expected.requires_grad
    softmax(batch)[0].backward()
    assert all(value.grad.isfinite().all() for value in model.parameters())


@pytest.mark.parametrize("recorded", [64, None])
def test_what_is_drawn_for_a_horizon_does_not_depend_on_the_share(walk, recorded):
    model = build_model(walk, TemporalTraining(width=16, embedding=8)).requires_grad_(False)
    drawing, taus = batches(walk, recorded=recorded), torch.tensor([9, 300])

    def draw(share: slice):
        chance = generator(3)
        return drawing.draw(model, taus, chance, share=share), chance.get_state()

    (first, after), (second, _), (whole, after_whole) = (
        draw(share) for share in (slice(0, 1), slice(1, 2), slice(0, 2))
    )
    assert torch.equal(after, after_whole)  # so that the next draws are the same too
    for name in ("scores", "far", "expected"):
        parts, together = [getattr(part, name) for part in (first, second)], getattr(whole, name)
        if recorded is None and name != "scores":
            assert together is None
        else:
            torch.testing.assert_close(torch.cat(parts), together)


def test_an_update_costs_the_same_whatever_the_data_is(walk):
    """2 N rows for each horizon, of a small maze and of a long record alike."""
    taus, sizes = torch.tensor([9, 300]), []
    for data in (walk, numbered(1000), numbered(100_000)):
        model = Near()
        if data is walk:
            model.score = lambda rows, tau: -torch.cdist(rows, rows) / tau
        batch = batches(data, tau_max=512).draw(model, taus, generator(), share=ALL)
        looked = [len(rows) for rows, _ in model.calls]
        sizes.append((looked, batch.scores.shape, batch.expected.shape))
    assert sizes == [([2 * N] * 4, (2, 2 * N, 2 * N), (2, 2 * N, 2 * N))] * 3


@pytest.mark.parametrize("loss", [nce, softmax])
def test_a_table_and_its_rows_one_by_one_give_the_same_batch(walk, loss):
    rows = Trajectories(
        episode_starts=walk.episode_starts, observations=walk.rows(np.arange(len(walk)))
    )
    model = build_model(walk, TemporalTraining(width=16, embedding=8))
    values = [
        loss(batches(data).draw(model, torch.tensor([5, 200]), generator(), share=ALL))[0]
        for data in (walk, rows)
    ]
    assert torch.equal(*values)


def test_pictures_stay_bytes_until_they_are_looked_at():
    pictures = np.random.default_rng(0).integers(0, 255, (600, 16, 16, 3)).astype(np.uint8)
    data = Trajectories(episode_starts=np.array([0]), observations=pictures)

    class Looking(Near):
        def prepare(self, observations: Tensor) -> tuple[Tensor]:
            self.seen = observations
            return (observations.float().mean((1, 2)),)

        def score(self, rows: Tensor, tau: int) -> Tensor:
            return rows @ rows.T

    model = Looking()
    batches(data).draw(model, torch.tensor([5]), generator(), share=ALL)
    assert model.seen.dtype == torch.uint8 and model.seen.shape == (2 * N, 16, 16, 3)


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


def wide(count: int = 4000) -> Trajectories:
    """Two numbers, the second ten times as wide."""
    rows = np.random.default_rng(0).normal(size=(count, 2)) * [1, 10]
    return Trajectories(episode_starts=np.array([0]), observations=rows.astype(np.float32))


def test_noise_is_a_share_of_each_numbers_spread_and_does_not_change_which_rows_are_drawn() -> None:
    shown = []
    for noise in (0.0, 0.2):
        drawn, model = batches(wide(), recorded=None, noise=noise, batch=2000), Plain()
        drawn.draw(model, torch.tensor([3]), generator(), share=ALL)
        shown.append(model.shown)
    plain, noisy = shown
    assert set(map(tuple, plain.tolist())) <= set(map(tuple, wide().observations.tolist()))
    off = noisy - plain
    assert torch.allclose(off.std(0), 0.2 * torch.tensor([1.0, 10.0]), rtol=0.05)
    assert abs(torch.corrcoef(torch.cat([off, plain], 1).T)[0, 1:]).max() < 0.06


def test_noise_of_a_horizon_does_not_depend_on_the_share() -> None:
    taus = torch.tensor([3, 5])
    both, one = Plain(), Plain()
    drawn = batches(wide(), recorded=None, noise=0.2)
    drawn.draw(both, taus, generator(), share=ALL)
    drawn.draw(one, taus, generator(), share=slice(1, 2))
    assert torch.equal(both.shown, one.shown)  # each keeps what it was shown last


@pytest.mark.parametrize(("noise", "said"), [(-0.1, "noise=-0.1"), (0.1, "pictures")])
def test_noise_that_cannot_be_is_refused(noise: float, said: str) -> None:
    pictures = np.zeros((300, 4, 4, 3), np.uint8)
    data = Trajectories(episode_starts=np.array([0]), observations=pictures)
    with pytest.raises(CogmapError, match=said):
        batches(data, recorded=None, noise=noise)
