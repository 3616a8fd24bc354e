import json
import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from cogmap.data.sampling import (
    HORIZON_LAWS,
    Episodes,
    log_uniform,
    root_uniform,
)
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError


def episodes_of(lengths: list[int]) -> tuple[Episodes, np.ndarray]:
    """Episodes of these many rows, and the episode of every row."""
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    rows = np.arange(sum(lengths), dtype=np.float32)[:, None]
    data = Trajectories(episode_starts=starts, observations=rows)
    return Episodes(data), np.repeat(np.arange(len(lengths)), lengths)


def uniform(count: int, *, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, generator=generator, dtype=torch.float64)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    tau=st.integers(1, 29),
    seed=st.integers(0, 100),
)
def test_pairs_never_cross_an_episode_boundary(lengths, tau, seed):
    assume(tau < max(lengths))
    episodes, episode = episodes_of(lengths)
    source, target = episodes.pairs(torch.tensor(tau), uniform(200, seed=seed))
    assert source.shape == target.shape == (200,)
    assert (source >= 0).all()
    assert (target - source == tau).all()
    assert (episode[source] == episode[target]).all()


def test_episodes_shorter_than_tau_are_never_drawn():
    episodes, episode = episodes_of([3, 5, 1, 12, 4, 9])
    source, _ = episodes.pairs(torch.tensor(5), uniform(2000))
    assert set(episode[source]) == {3, 5}


@pytest.mark.parametrize("tau", [1, 4, 9])
def test_all_pairs_of_all_episodes_are_equally_likely(tau):
    lengths = [3, 12, 6, 1, 10]
    episodes, episode = episodes_of(lengths)
    rows = np.arange(sum(lengths) - tau)
    possible = rows[episode[rows] == episode[rows + tau]]
    source, _ = episodes.pairs(torch.tensor(tau), uniform(1000 * len(possible)))
    seen = np.bincount(source.numpy(), minlength=sum(lengths))
    assert set(np.flatnonzero(seen)) == set(possible)
    assert chisquare(seen[possible]).pvalue > 0.01


@pytest.mark.parametrize("tau", [1, 4, 9])
def test_equal_parts_of_the_unit_interval_name_the_pairs_in_order(tau):
    lengths = [3, 12, 6, 1, 10]
    episodes, episode = episodes_of(lengths)
    rows = np.arange(sum(lengths) - tau)
    possible = rows[episode[rows] == episode[rows + tau]]
    edges = torch.arange(len(possible) + 1, dtype=torch.float64) / len(possible)
    for inside in (0.01, 0.5, 0.99):
        u = edges[:-1] + inside / len(possible)
        assert episodes.pairs(torch.tensor(tau), u)[0].tolist() == possible.tolist()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(length=st.integers(2, 2**40), data=st.data())
def test_the_largest_number_below_one_names_the_last_pair(length, data):
    tau = data.draw(st.integers(1, length - 1))
    episodes, _ = episodes_of([2])
    episodes.lengths = torch.tensor([length])  # stands for a walk too long to hold
    ends = torch.tensor([0.0, np.nextafter(1.0, 0.0)], dtype=torch.float64)
    source, target = episodes.pairs(torch.tensor(tau), ends)
    assert source.tolist() == [0, length - 1 - tau]
    assert target.tolist() == [tau, length - 1]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(tau_max=st.integers(1, 100_000), u=st.floats(0, 1, exclude_max=True, width=32))
@pytest.mark.parametrize("law", HORIZON_LAWS)
def test_every_law_stays_between_one_and_tau_max(law, tau_max, u):
    ends = torch.tensor([0.0, u, 1 - 2**-24])
    taus = HORIZON_LAWS[law](ends, tau_max)
    assert taus.dtype == torch.int64
    assert taus.min() >= 1
    assert taus.max() <= tau_max
    assert taus[0] == 1
    assert taus[2] == tau_max


EVEN = (torch.arange(1 << 17, dtype=torch.float64) + 0.5) / (1 << 17)  # stands for uniform numbers


@pytest.mark.parametrize("octaves", [1, 4, 10])
def test_the_log_law_gives_every_octave_equal_mass(octaves):
    taus = log_uniform(EVEN, 2**octaves - 1)
    mass = torch.bincount(taus.double().log2().floor().long(), minlength=octaves) / len(EVEN)
    assert torch.allclose(mass, torch.full((octaves,), 1 / octaves), atol=1e-4)


def test_the_log_law_has_mass_log_of_one_plus_one_over_tau():
    taus = log_uniform(EVEN, 100)
    mass = torch.bincount(taus, minlength=101)[1:].double() / len(EVEN)
    expected = torch.log1p(1 / torch.arange(1, 101, dtype=torch.float64)) / math.log(101)
    assert torch.allclose(mass, expected, atol=1e-4)


@pytest.mark.parametrize("tau_max", [1, 10, 5000])
def test_the_root_law_reaches_k_with_the_root_of_its_share(tau_max):
    taus = root_uniform(EVEN, tau_max)
    for k in {1, tau_max // 4, tau_max // 2, tau_max} - {0}:
        below = float((taus <= k).double().mean())
        assert below == pytest.approx(math.sqrt(k / tau_max), abs=1e-4)


@pytest.mark.parametrize("tau_max", [0, -3])
def test_horizons_below_one_are_refused(tau_max):
    with pytest.raises(CogmapError, match=f"tau_max={tau_max} is below 1"):
        episodes_of([10])[0].check_horizon(tau_max)


def test_horizons_longer_than_the_longest_episode_are_refused():
    episodes, _ = episodes_of([4, 11, 7])
    episodes.check_horizon(10)
    assert episodes.pairs(torch.tensor(10), uniform(5))[0].tolist() == [4] * 5
    with pytest.raises(CogmapError, match=r"tau_max=11 exceeds the longest episode \(10 steps\)"):
        episodes.check_horizon(11)


def rows_dataset() -> Trajectories:
    rng = np.random.default_rng(0)
    return Trajectories(
        episode_starts=np.array([0, 4, 7]),
        observations=rng.normal(size=(12, 2)).astype(np.float32),
        actions=rng.normal(size=(12, 3)).astype(np.float32),
        hold=5,
        source="a test",
    )


def table_dataset() -> Trajectories:
    return Trajectories(
        episode_starts=np.array([0, 5]),
        table=np.arange(24, dtype=np.uint8).reshape(4, 2, 3),
        index=np.array([0, 1, 1, 2, 0, 1, 1, 2], dtype=np.int32),
        hold=2,
        controls=False,
    )


COLUMNS = ("episode_starts", "observations", "table", "index", "actions")
both_layouts = pytest.mark.parametrize("make", [rows_dataset, table_dataset])


@both_layouts
def test_a_saved_dataset_is_loaded_as_it_was(make, tmp_path):
    data = make()
    data.save(tmp_path / "new" / "folder")
    loaded = Trajectories.load(tmp_path / "new" / "folder")
    for name in COLUMNS:
        before, after = getattr(data, name), getattr(loaded, name)
        if before is None:
            assert after is None
        else:
            assert after.dtype == before.dtype
            assert np.array_equal(after, before)
    for name in ("hold", "controls", "source"):
        assert getattr(loaded, name) == getattr(data, name)
    assert loaded.observation_shape == data.observation_shape
    assert len(loaded) == len(data)


@both_layouts
def test_a_folder_that_does_not_say_holds_controls_unless_it_has_a_table(make, tmp_path):
    make().save(tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta.pop("controls") == (make is rows_dataset)
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    assert Trajectories.load(tmp_path).controls == (make is rows_dataset)
    (tmp_path / "meta.json").write_text(json.dumps(meta | {"controls": "yes"}))
    with pytest.raises(CogmapError, match="controls='yes'"):
        Trajectories.load(tmp_path)


@both_layouts
def test_what_older_versions_said_of_a_dataset_beside_this_does_not_matter(make, tmp_path):
    make().save(tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text())
    (tmp_path / "meta.json").write_text(json.dumps(meta | {"spread": 0.35}))
    loaded = Trajectories.load(tmp_path)
    assert len(loaded) == len(make()) and loaded.hold == make().hold


@pytest.mark.parametrize("hold", ["5", None, 2.5])
def test_a_folder_whose_hold_is_no_whole_number_is_refused(hold, tmp_path):
    rows_dataset().save(tmp_path)
    (tmp_path / "meta.json").write_text(json.dumps({"format": 1, "hold": hold}))
    with pytest.raises(CogmapError, match="want a whole number"):
        Trajectories.load(tmp_path)


@both_layouts
def test_loaded_columns_stay_on_disk(make, tmp_path):
    make().save(tmp_path)
    loaded = Trajectories.load(tmp_path)
    large = [getattr(loaded, name) for name in COLUMNS[1:]]
    assert all(isinstance(column, np.memmap) for column in large if column is not None)


def test_rows_are_observations_in_both_layouts():
    rows, table = rows_dataset(), table_dataset()
    some = np.array([3, 0, 5])
    assert np.array_equal(rows.rows(some), rows.observations[some])
    assert np.array_equal(table.rows(some), table.table[[2, 0, 1]])
    assert table.observation_shape == (2, 3)


def test_episode_lengths_add_up_to_the_rows():
    assert rows_dataset().episode_lengths.tolist() == [4, 3, 5]
    assert table_dataset().episode_lengths.tolist() == [5, 3]


def test_distinct_observations_come_with_their_shares():
    observations, share = table_dataset().distinct()
    assert len(observations) == 4
    assert np.allclose(share, [2 / 8, 4 / 8, 2 / 8, 0.0])
    observations, share = rows_dataset().distinct()
    assert len(observations) == 12
    assert np.allclose(share, 1 / 12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("column", ["observations", "actions"])
def test_a_value_that_is_not_finite_is_named_by_its_column_and_row(column, value):
    data = rows_dataset()
    data.check_finite()
    getattr(data, column)[[6, 9], 1] = value
    with pytest.raises(CogmapError, match=f"^{column} row 6 is .*{value}"):
        data.check_finite()


def test_a_value_that_is_not_finite_is_found_in_a_table_and_whole_numbers_always_pass():
    table = np.array([[0.0, 1.0], [2.0, np.nan]], dtype=np.float32)
    data = Trajectories(episode_starts=np.array([0]), table=table, index=np.array([0, 0]))
    with pytest.raises(CogmapError, match="table row 1"):
        data.check_finite()
    table_dataset().check_finite()


@pytest.mark.parametrize("kept", [0, 5, 60, -4])
@pytest.mark.parametrize("name", ["observations", "episode_starts", "actions"])
def test_a_truncated_column_is_named(name, kept, tmp_path):
    rows_dataset().save(tmp_path)
    path = tmp_path / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CogmapError, match=rf"{name}\.npy is truncated"):
        Trajectories.load(tmp_path)


def test_a_folder_without_meta_json_is_not_a_dataset(tmp_path):
    rows_dataset().save(tmp_path)
    (tmp_path / "meta.json").unlink()
    with pytest.raises(CogmapError, match=r"is not a dataset \(no readable meta.json\)"):
        Trajectories.load(tmp_path)
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(CogmapError, match="is not a dataset"):
        Trajectories.load(tmp_path)
    with pytest.raises(CogmapError, match="is not a dataset"):
        Trajectories.load(tmp_path / "nowhere")


def test_a_folder_of_another_format_is_refused(tmp_path):
    rows_dataset().save(tmp_path)
    (tmp_path / "meta.json").write_text(json.dumps({"format": 99, "hold": 1}))
    with pytest.raises(CogmapError, match="not of format 1"):
        Trajectories.load(tmp_path)


def test_a_folder_without_episode_starts_is_refused(tmp_path):
    rows_dataset().save(tmp_path)
    (tmp_path / "episode_starts.npy").unlink()
    with pytest.raises(CogmapError, match=r"no episode_starts\.npy"):
        Trajectories.load(tmp_path)


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CogmapError, match="cannot write"):
        rows_dataset().save(tmp_path / "file")


ROWS = np.zeros((6, 2), dtype=np.float32)
INDEX = np.zeros(6, dtype=np.int32)
WRONG = {
    "no observations": ({}, "either observations or a table"),
    "both layouts": (
        {"observations": ROWS, "table": ROWS, "index": INDEX},
        "either observations or a table",
    ),
    "table without index": ({"table": ROWS}, "needs an index column"),
    "index without table": ({"observations": ROWS, "index": INDEX}, "an index a table"),
    "too few actions": ({"observations": ROWS, "actions": ROWS[:5]}, "5 actions for 6"),
    "actions as many as the table": (
        {"table": ROWS[:3], "index": INDEX, "actions": ROWS[:3]},
        "3 actions for 6",
    ),
    "no episodes": ({"observations": ROWS, "episode_starts": np.array([], int)}, "rise from 0"),
    "a late first episode": ({"observations": ROWS, "episode_starts": [1, 3]}, "rise from 0"),
    "episodes out of order": ({"observations": ROWS, "episode_starts": [0, 4, 2]}, "rise from 0"),
    "an empty episode": ({"observations": ROWS, "episode_starts": [0, 2, 2]}, "rise from 0"),
    "an episode beyond the rows": (
        {"observations": ROWS, "episode_starts": [0, 6]},
        "ends at row 6, but there are 6 rows",
    ),
}


@pytest.mark.parametrize(("columns", "message"), WRONG.values(), ids=WRONG.keys())
def test_columns_that_do_not_fit_together_are_refused(columns, message):
    columns = {"episode_starts": [0], **columns}
    columns["episode_starts"] = np.array(columns["episode_starts"])
    with pytest.raises(CogmapError, match=message):
        Trajectories(**columns)


def numbered(lengths, first=0):
    rows = np.arange(first, first + sum(lengths), dtype=np.float32)[:, None]
    starts = np.cumsum([0, *lengths[:-1]])
    return Trajectories(episode_starts=starts, observations=rows, actions=rows)


def test_first_episodes_and_datasets_one_after_the_other():
    data = numbered([3, 2, 4])
    assert data.first(2).observations.ravel().tolist() == [0, 1, 2, 3, 4]
    assert data.first(3).episode_lengths.tolist() == [3, 2, 4]
    both = Trajectories.together([data.first(1), numbered([2, 2], first=90)])
    assert both.observations.ravel().tolist() == [0, 1, 2, 90, 91, 92, 93]
    assert both.episode_starts.tolist() == [0, 3, 5]
    with pytest.raises(CogmapError, match="4 episodes"):
        data.first(4)
    table = Trajectories(
        episode_starts=np.array([0]), table=np.zeros((2, 1)), index=np.array([0, 1, 0])
    )
    with pytest.raises(CogmapError, match="tables cannot"):
        Trajectories.together([data, table])
