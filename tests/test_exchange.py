import numpy as np
import pytest

from cogmap.data.exchange import read_dataset
from cogmap.errors import CogmapError

LENGTHS = (4, 1, 6)
ROWS = sum(LENGTHS)
STARTS = [0, 4, 5]


@pytest.fixture
def columns() -> dict[str, np.ndarray]:
    """Three short episodes as OGBench's files hold them."""
    rng = np.random.default_rng(0)
    terminals = np.zeros(ROWS, dtype=bool)
    terminals[np.cumsum(LENGTHS) - 1] = True
    return {
        "observations": rng.normal(size=(ROWS, 2)),
        "actions": rng.uniform(-1, 1, size=(ROWS, 2)),
        "terminals": terminals,
    }


def write_folder(folder, **columns):
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", column)
    return folder


def write_npz(folder, **columns):
    np.savez_compressed(folder / "data.npz", **columns)
    return folder / "data.npz"


def test_an_ogbench_file_is_read_row_by_row(tmp_path, columns):
    data = read_dataset(write_npz(tmp_path, **columns), hold=3)
    assert data.episode_starts.tolist() == STARTS
    assert np.array_equal(data.observations, columns["observations"].astype(np.float32))
    assert np.array_equal(data.actions, columns["actions"].astype(np.float32))
    assert data.hold == 3
    assert "data.npz" in data.source


def test_both_layouts_of_ogbench_give_the_same_dataset(tmp_path, columns):
    ogbench = pytest.importorskip("ogbench.utils")
    keep = np.r_[0:4, 5:ROWS]  # OGBench's own conversion drops an episode of a single row
    file = write_npz(tmp_path, **{name: column[keep] for name, column in columns.items()})
    (tmp_path / "full").mkdir()
    full = ogbench.load_dataset(file, compact_dataset=False)
    assert len(full["next_observations"]) == len(keep) - 2
    one, other = read_dataset(file), read_dataset(write_npz(tmp_path / "full", **full))
    assert one.episode_starts.tolist() == other.episode_starts.tolist() == [0, 4]
    assert np.array_equal(one.observations, other.observations)
    used = np.setdiff1d(np.arange(len(one)), [3, 9])  # an episode's last action leads nowhere
    assert np.array_equal(one.actions[used], other.actions[used])


def test_transitions_of_single_steps_become_episodes_of_two_rows(tmp_path, columns):
    following = columns["observations"] + 1.0
    full = {**columns, "terminals": np.ones(ROWS), "next_observations": following}
    data = read_dataset(write_npz(tmp_path, **full))
    assert data.episode_lengths.tolist() == [2] * ROWS
    assert np.array_equal(data.observations[1::2], following.astype(np.float32))


@pytest.mark.parametrize("kind", ["terminals", "column of terminals", "episode_starts"])
def test_a_folder_says_where_episodes_begin_in_either_way(kind, tmp_path, columns):
    terminals = columns.pop("terminals").astype(np.float32)
    marks = {
        "terminals": {"terminals": terminals},
        "column of terminals": {"terminals": terminals[:, None]},
        "episode_starts": {"episode_starts": np.array(STARTS)},
    }
    data = read_dataset(write_folder(tmp_path, **columns, **marks[kind]))
    assert data.episode_starts.tolist() == STARTS
    assert data.episode_lengths.tolist() == list(LENGTHS)
    assert np.array_equal(data.observations, columns["observations"].astype(np.float32))


def test_a_folder_without_marks_is_one_episode(tmp_path, columns):
    del columns["terminals"]
    assert read_dataset(write_folder(tmp_path, **columns)).episode_starts.tolist() == [0]


def test_rows_after_the_last_terminal_are_an_episode_of_their_own(tmp_path, columns):
    columns["terminals"][-1] = False
    columns["terminals"][-3] = True
    data = read_dataset(write_folder(tmp_path, **columns))
    assert data.episode_starts.tolist() == [*STARTS, ROWS - 2]


@pytest.mark.parametrize("write", [write_folder, write_npz])
def test_actions_are_optional(write, tmp_path, columns):
    del columns["actions"]
    data = read_dataset(write(tmp_path, **columns))
    assert data.actions is None
    assert len(data) == ROWS


def test_images_keep_their_bytes(tmp_path):
    frames = np.arange(5 * 4 * 4 * 3, dtype=np.uint8).reshape(5, 4, 4, 3)
    data = read_dataset(write_npz(tmp_path, observations=frames))
    assert data.observations.dtype == np.uint8
    assert np.array_equal(data.observations, frames)
    assert data.observation_shape == (4, 4, 3)


@pytest.mark.parametrize("write", [write_folder, write_npz])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["observations", "actions"])
def test_a_number_that_is_not_finite_is_refused_with_its_row(name, value, write, tmp_path, columns):
    columns[name][7, 1] = value
    with pytest.raises(CogmapError, match=f"{name} row 7 "):
        read_dataset(write(tmp_path, **columns))


def test_a_truncated_file_is_refused(tmp_path, columns):
    file = write_npz(tmp_path, **columns)
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(CogmapError, match=r"data\.npz is truncated"):
        read_dataset(file)


@pytest.mark.parametrize("place", [40, 150, 200, 2000], ids=["name", "header", "numbers", "end"])
def test_a_damaged_file_is_refused(place, tmp_path):
    file = write_npz(tmp_path, observations=np.random.default_rng(0).normal(size=(500, 2)))
    content = bytearray(file.read_bytes())
    content[place : place + 60] = bytes(byte ^ 255 for byte in content[place : place + 60])
    file.write_bytes(bytes(content))
    with pytest.raises(CogmapError, match=r"data\.npz is truncated or no \.npz archive"):
        read_dataset(file)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04"])
def test_a_file_that_is_no_archive_is_refused(content, tmp_path):
    file = tmp_path / "data.npz"
    file.write_bytes(content)
    with pytest.raises(CogmapError, match=r"data\.npz is truncated or no \.npz archive"):
        read_dataset(file)


def test_a_single_array_named_npz_is_refused(tmp_path):
    file = tmp_path / "data.npz"
    with file.open("wb") as stream:
        np.save(stream, np.zeros((4, 2)))
    with pytest.raises(CogmapError, match=r"no \.npz archive"):
        read_dataset(file)


@pytest.mark.parametrize(
    "damage",
    [lambda old: old[:-8], lambda old: b"", lambda old: old.replace(b"}", b"{", 1)],
    ids=["truncated", "empty", "header"],
)
def test_a_damaged_column_is_refused_by_name(damage, tmp_path, columns):
    folder = write_folder(tmp_path, **columns)
    column = folder / "actions.npy"
    column.write_bytes(damage(column.read_bytes()))
    with pytest.raises(CogmapError, match=r"actions\.npy is truncated"):
        read_dataset(folder)


@pytest.mark.parametrize("write", [write_folder, write_npz])
def test_data_without_observations_is_refused_with_what_was_found(write, tmp_path, columns):
    del columns["observations"]
    with pytest.raises(CogmapError, match=r"no observations \(found actions, terminals\)"):
        read_dataset(write(tmp_path, **columns))


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(CogmapError, match="found nothing"):
        read_dataset(tmp_path)


@pytest.mark.parametrize("name", ["data.npz", "folder", "data.txt"])
def test_a_path_that_does_not_exist_is_refused(name, tmp_path):
    with pytest.raises(CogmapError, match=f"{name} is neither"):
        read_dataset(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "column", "complaint"),
    [
        ("actions", np.zeros((5, 2)), "5 actions for 11 observations"),
        ("terminals", np.zeros(12), "12 terminals for 11 observations"),
        ("next_observations", np.zeros((10, 2)), "10 next_observations for 11 observations"),
        ("next_observations", np.zeros((11, 3)), r"shape \(11, 3\), observations \(11, 2\)"),
        ("timeouts", np.zeros(3), "3 timeouts for 11 observations"),
        ("terminals", np.full(11, "no"), "terminals are of type <U2"),
        ("actions", np.full((11, 2), "up"), "actions are of type <U2"),
        ("actions", np.zeros((11, 2, 2)), r"actions have shape \(11, 2, 2\)"),
        ("actions", np.arange(-1, 10), "whole numbers from -1 to 9"),
        ("actions", np.arange(11) * 1000, "whole numbers from 0 to 10000"),
        ("observations", np.zeros(11), r"observations have shape \(11,\)"),
        ("observations", np.zeros((0, 2)), r"observations have shape \(0, 2\)"),
        ("observations", np.full((11, 2), "x"), "not numbers"),
    ],
)
def test_columns_that_do_not_fit_are_refused_by_name(name, column, complaint, tmp_path, columns):
    columns[name] = column
    with pytest.raises(CogmapError, match=complaint):
        read_dataset(write_npz(tmp_path, **columns))


@pytest.mark.parametrize("starts", [[1, 4], [0, 4, 4], [0, 4, 11], []])
def test_episode_starts_must_rise_from_zero_within_the_data(starts, tmp_path, columns):
    del columns["terminals"]
    folder = write_folder(tmp_path, **columns, episode_starts=np.array(starts))
    with pytest.raises(CogmapError, match="episode_starts"):
        read_dataset(folder)


def test_an_action_held_for_no_step_is_refused(tmp_path, columns):
    with pytest.raises(CogmapError, match="hold=0"):
        read_dataset(write_npz(tmp_path, **columns), hold=0)
