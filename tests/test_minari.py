"""Logs of other systems: Minari, HDF5, and what is said of their conventions."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cogmap.cli import main
from cogmap.data.exchange import read_dataset
from cogmap.data.minari import write_minari
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError

h5py, minari = pytest.importorskip("h5py"), pytest.importorskip("minari")
spaces = pytest.importorskip("gymnasium.spaces")


def quiet(line: str) -> None:
    pass


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "store"))
    return tmp_path / "store"


def some_data() -> Trajectories:
    rng = np.random.default_rng(0)
    actions = rng.normal(size=(30, 2)).astype(np.float32)
    actions[[9, 29]] = 0.0  # unused there
    return Trajectories(
        episode_starts=np.array([0, 10]),
        observations=rng.normal(size=(30, 3)).astype(np.float32),
        actions=actions,
        hold=4,
    )


def test_what_is_exported_to_minari_comes_back_as_it_was(store, tmp_path):
    data = some_data()
    write_minari(data, "mine/walk-v0", root=None, tell=quiet)

    back = read_dataset(Path("mine/walk-v0"))
    assert np.array_equal(back.observations, data.observations)
    assert np.array_equal(back.actions, data.actions) and back.hold == 4
    assert np.array_equal(back.episode_starts, data.episode_starts)


def test_a_minari_name_that_is_not_here_is_never_fetched(store):

    with pytest.raises(CogmapError, match="minari download other/walk-v0"):
        read_dataset(Path("other/walk-v0"))


def write_hdf5(path, **columns):
    with h5py.File(path, "w") as file:
        for name, column in columns.items():
            file[name] = column
    return path


def test_an_hdf5_log_ends_episodes_at_terminals_and_at_timeouts(tmp_path):
    ends = np.zeros((2, 12), bool)
    ends[0, 3], ends[1, 7] = True, True
    told = []
    rows = np.arange(24, dtype=np.float32).reshape(12, 2)
    path = write_hdf5(tmp_path / "log.hdf5", observations=rows, terminals=ends[0], timeouts=ends[1])
    data = read_dataset(path, tell=told.append)
    assert data.episode_starts.tolist() == [0, 4, 8]
    assert "terminals or timeouts" in "\n".join(told)


def test_next_observations_of_a_folder_give_each_episode_its_last_row(tmp_path):
    rows = np.arange(6, dtype=np.float32)[:, None]
    for name, column in {
        "observations": rows,
        "next_observations": rows + 1,
        "actions": np.ones((6, 1), np.float32),
        "dones": np.array([0, 0, 1, 0, 0, 1], bool),
    }.items():
        np.save(tmp_path / f"{name}.npy", column)
    told = []
    data = read_dataset(tmp_path, tell=told.append)
    assert data.observations[:, 0].tolist() == [0, 1, 2, 3, 3, 4, 5, 6]
    assert data.episode_starts.tolist() == [0, 4] and "lost" not in "\n".join(told)


def test_a_log_without_what_came_last_is_warned_of(tmp_path):
    np.save(tmp_path / "observations.npy", np.zeros((6, 1), np.float32))
    np.save(tmp_path / "actions.npy", np.array([0, 2, 1, 0, 1, 2]))
    np.save(tmp_path / "dones.npy", np.array([0, 0, 1, 0, 0, 1], bool))
    told = []
    data = read_dataset(tmp_path, tell=told.append)
    assert data.actions.shape == (6, 3) and data.actions[1].tolist() == [0, 0, 1]
    text = "\n".join(told)
    assert "one-hot" in text and "2 episodes is lost" in text


def test_a_damaged_hdf5_file_is_refused_in_one_line(tmp_path):
    path = write_hdf5(tmp_path / "log.h5", observations=np.zeros((5, 2)))
    path.write_bytes(path.read_bytes()[:80])
    with pytest.raises(CogmapError, match="truncated or no HDF5 file"):
        read_dataset(path)


def record(name, observation_space, action_space, *episodes):
    """A dataset as someone else would write it: (observations, actions) of each episode."""
    buffers = [
        minari.data_collector.EpisodeBuffer(
            observations=seen,
            actions=done,
            rewards=np.zeros(len(done)),
            terminations=np.zeros(len(done), bool),
            truncations=np.arange(len(done)) == len(done) - 1,
        )
        for seen, done in episodes
    ]
    with pytest.warns(UserWarning):  # of authors and such
        minari.create_dataset_from_buffers(
            name, buffers, observation_space=observation_space, action_space=action_space
        )


def box(*shape):
    return spaces.Box(-np.inf, np.inf, shape, np.float32)


def numbers(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def test_minari_itself_reads_what_was_exported_and_keeps_episodes_apart(store):
    data = some_data()
    write_minari(data, "mine/walk-v0", root=None, tell=quiet)
    assert list(minari.list_local_datasets()) == ["mine/walk-v0"]
    episodes = list(minari.load_dataset("mine/walk-v0").iterate_episodes())
    assert [len(e.observations) for e in episodes] == [10, 20]
    assert [len(e.actions) for e in episodes] == [9, 19]
    assert np.array_equal(episodes[1].observations, data.observations[10:])
    assert np.array_equal(episodes[1].actions, data.actions[10:29])
    assert not any(e.terminations.any() for e in episodes)
    assert all(e.truncations.tolist() == [False] * (len(e.actions) - 1) + [True] for e in episodes)


def test_pictures_of_a_table_come_back_byte_by_byte(store):
    table = np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), dtype=np.uint8)
    index = np.array([0, 1, 2, 3, 2, 1], dtype=np.int32)
    data = Trajectories(
        episode_starts=np.array([0, 4]),
        table=table,
        index=index,
        actions=np.zeros((6, 2), np.float32),
        controls=False,
    )
    write_minari(data, "mine/eyes-v0", root=None, tell=quiet)
    back = read_dataset(Path("mine/eyes-v0"))
    assert back.observations.dtype == np.uint8 and not back.controls
    assert np.array_equal(back.observations, table[index])


def test_the_commands_export_to_a_folder_and_import_from_it(tmp_path, capsys):
    some_data().save(tmp_path / "data")
    export = ["export", str(tmp_path / "data"), "--minari", "walk-v0"]
    assert main([*export, "--path", str(tmp_path / "root")]) == 0
    for source, out in (("root/walk-v0", "one"), ("root/walk-v0/data", "two")):
        assert main(["import", str(tmp_path / source), "--out", str(tmp_path / out)]) == 0
        back = Trajectories.load(tmp_path / out)
        assert np.array_equal(back.observations, some_data().observations) and back.hold == 4
    assert "convention: Minari's" in capsys.readouterr().out
    assert main([*export, "--path", str(tmp_path / "root")]) == 2
    assert "exists already" in capsys.readouterr().err


def test_the_hold_of_an_export_gives_way_to_what_the_user_says(store):
    write_minari(some_data(), "walk-v0", root=None, tell=quiet)
    assert read_dataset(Path("walk-v0"), hold=7).hold == 7


def test_parts_of_a_dict_are_joined_by_name_without_the_desired_goal(store):
    parts = {"observation": numbers(6, 4), "achieved_goal": numbers(6, 2)}
    parts["desired_goal"] = np.full((6, 2), 9.0, np.float32)
    space = spaces.Dict({name: box(column.shape[1]) for name, column in parts.items()})
    record("D4RL/maze/umaze-v2", space, box(2), (parts, numbers(5, 2)))
    told = []
    data = read_dataset(Path("D4RL/maze/umaze-v2"), tell=told.append)
    joined = np.concatenate([parts["achieved_goal"], parts["observation"]], axis=1)
    assert np.array_equal(data.observations, joined)
    assert "observations: achieved_goal 0-1, observation 2-5; left out: desired_goal." in told
    assert "achieved_goal 0-1, observation 2-5" in data.source


def test_kinds_of_a_minari_space_become_as_many_numbers_as_the_space_has(store):
    seen = (np.array([0, 2, 1]), np.array([[1, 0], [0, 1], [1, 1]], np.int8))
    space = spaces.Tuple([spaces.Discrete(4), spaces.MultiBinary(2)])
    record("kinds-v0", space, spaces.Discrete(5, start=-1), (seen, np.array([-1, 1])))
    told = []
    data = read_dataset(Path("kinds-v0"), tell=told.append)
    assert data.observations.tolist() == [
        [1, 0, 0, 0, 1, 0],
        [0, 0, 1, 0, 0, 1],
        [0, 1, 0, 0, 1, 1],
    ]
    assert data.actions.tolist() == [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
    assert "actions: 5 kinds, as ones and zeros (one-hot)." in told


def test_words_are_left_out_and_pictures_beside_numbers_refused(store):
    space = spaces.Dict(image=spaces.Box(0, 255, (7, 7, 3), np.uint8), mission=spaces.Text(9))
    seen = {"image": np.full((3, 7, 7, 3), 5, np.uint8), "mission": ["go"] * 3}
    record("grid-v0", space, box(1), (seen, numbers(2, 1)))
    told = []
    data = read_dataset(Path("grid-v0"), tell=told.append)
    assert data.observation_shape == (7, 7, 3) and "left out: mission" in "\n".join(told)
    space = spaces.Dict(eye=spaces.Box(0, 255, (20, 20, 3), np.uint8), arm=box(2))
    seen = {"eye": np.zeros((3, 20, 20, 3), np.uint8), "arm": numbers(3, 2)}
    record("robot-v0", space, box(1), (seen, numbers(2, 1)))
    with pytest.raises(CogmapError, match="'eye' is a picture beside numbers"):
        read_dataset(Path("robot-v0"))


def test_an_unknown_minari_name_is_answered_with_the_nearest_here(store):
    write_minari(some_data(), "D4RL/maze/umaze-v1", root=None, tell=quiet)
    with pytest.raises(
        CogmapError, match="minari download D4RL/maze/umaze-v2.*: D4RL/maze/umaze-v1"
    ):
        read_dataset(Path("D4RL/maze/umaze-v2"))


@pytest.mark.parametrize("part", ["metadata.json", "main_data.hdf5"])
def test_a_damaged_minari_dataset_is_refused_in_one_line(part, store):
    folder = write_minari(some_data(), "walk-v0", root=None, tell=quiet)
    path = folder / "data" / part
    path.write_bytes(path.read_bytes()[:70])
    with pytest.raises(CogmapError, match="walk-v0 is damaged or no Minari dataset: ") as error:
        read_dataset(Path("walk-v0"))
    assert "\n" not in str(error.value)


def test_a_file_within_a_minari_dataset_leads_to_its_folder(store):
    folder = write_minari(some_data(), "walk-v0", root=None, tell=quiet)
    with pytest.raises(CogmapError, match="give the folder above it"):
        read_dataset(folder / "data" / "main_data.hdf5")


def test_episodes_of_a_single_row_are_left_out_of_an_export_and_said_to_be(store):
    rows = numbers(6, 2)
    data = Trajectories(episode_starts=np.array([0, 3, 4]), observations=rows, actions=rows)
    told = []
    write_minari(data, "walk-v0", root=None, tell=told.append)
    assert len(told) == 1 and told[0].startswith("warning: 1 episode")
    assert np.array_equal(read_dataset(Path("walk-v0")).observations, rows[[0, 1, 2, 4, 5]])


@pytest.mark.parametrize("name", ["walk", "walk-v", "my walk-v0", "../walk-v0", "/walk-v0", ""])
def test_a_name_that_minari_would_not_take_is_refused(name, store):
    with pytest.raises(CogmapError, match="is no Minari name; give one as mine/walk-v0"):
        write_minari(some_data(), name, root=None, tell=quiet)
    assert not store.exists()


def test_data_without_actions_is_not_exported(store):
    data = Trajectories(episode_starts=np.array([0]), observations=numbers(5, 2))
    with pytest.raises(CogmapError, match="no actions"):
        write_minari(data, "walk-v0", root=None, tell=quiet)
    assert not store.exists()


def test_an_export_that_fails_leaves_nothing_behind(store, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cogmap.data.minari._buffers", full)
    with pytest.raises(CogmapError, match="cannot write .*No space left"):
        write_minari(some_data(), "walk-v0", root=None, tell=quiet)
    assert list(store.iterdir()) == []


@pytest.mark.parametrize("package", ["h5py", "minari"])
def test_a_missing_package_is_named_with_its_extra(package, store, tmp_path, monkeypatch):
    write_minari(some_data(), "walk-v0", root=None, tell=quiet)
    log = write_hdf5(tmp_path / "log.hdf5", observations=np.zeros((5, 2)))
    monkeypatch.setitem(sys.modules, package, None)
    asked = [lambda: read_dataset(Path("walk-v0"))]
    asked += [lambda: write_minari(some_data(), "new-v0", root=None, tell=quiet)]
    asked += [lambda: read_dataset(log)] if package == "h5py" else []
    for ask in asked:
        with pytest.raises(
            CogmapError, match=rf"needs {package}; pip install 'cogmap\[exchange\]'"
        ):
            ask()


def test_d4rls_transitions_keep_what_came_last(tmp_path):
    rows = numbers(6, 2)
    ends = np.array([0, 0, 1, 0, 0, 0], bool)
    told = []
    columns = {"observations": rows, "next_observations": rows + 1, "actions": rows}
    path = write_hdf5(tmp_path / "log.h5", **columns, timeouts=ends, terminals=np.zeros(6, bool))
    data = read_dataset(path, tell=told.append)
    assert data.episode_starts.tolist() == [0, 4]
    assert np.array_equal(data.observations[[3, 7]], rows[[2, 5]] + 1)
    assert len(told) == 1 and "rows are transitions" in told[0]


def test_one_observation_more_than_actions_in_each_episode_is_its_last(tmp_path):
    rows, actions = numbers(8, 2), numbers(6, 3)
    told = []
    columns = {"observations": rows, "actions": actions, "dones": np.array([0, 0, 1, 0, 0, 1])}
    data = read_dataset(write_hdf5(tmp_path / "log.h5", **columns), tell=told.append)
    assert data.episode_starts.tolist() == [0, 4]
    assert np.array_equal(data.observations, rows)
    assert np.array_equal(data.actions[[0, 1, 2, 4, 5, 6]], actions)
    assert not data.actions[[3, 7]].any()
    assert len(told) == 1 and "one observation more than actions" in told[0]


def test_single_numbers_as_actions_become_vectors_of_one(tmp_path):
    np.savez(tmp_path / "log.npz", observations=numbers(5, 2), actions=np.linspace(-1, 1, 5))
    assert read_dataset(tmp_path / "log.npz").actions.tolist() == [[-1], [-0.5], [0], [0.5], [1]]


@pytest.mark.parametrize("marks", ["terminals", "dones", "terminations", "timeouts", "truncations"])
def test_an_episode_ends_at_a_mark_by_any_of_its_names(marks, tmp_path):
    told = []
    np.savez(tmp_path / "log.npz", observations=numbers(5, 2), **{marks: [0, 1, 0, 0, 1]})
    data = read_dataset(tmp_path / "log.npz", tell=told.append)
    assert data.episode_starts.tolist() == [0, 2]
    assert len(told) == 1 and f"episodes end at {marks};" in told[0]


def test_a_group_in_an_hdf5_file_is_no_column(tmp_path):
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["observations/arm"] = numbers(5, 2)
    with pytest.raises(CogmapError, match="observations is a group"):
        read_dataset(tmp_path / "log.h5")


def test_an_hdf5_file_without_observations_is_refused_with_what_was_found(tmp_path):
    path = write_hdf5(tmp_path / "log.h5", obs=numbers(5, 2), actions=numbers(5, 2))
    with pytest.raises(CogmapError, match=r"no observations \(found actions, obs\)"):
        read_dataset(path)
