"""Goals as typed, and what is wrong with them, before any data is looked at."""

import math

import numpy as np
import pytest

from cogmap.errors import CogmapError
from cogmap.words import bounds, check_goal, place_of, read

NAMES = ("cos", "sin", "speed")


def test_words_are_read_into_ranges():
    assert read("a=1,b>=2,c<=3,d=-1..1") == {
        "a": 1.0,
        "b": (2.0, math.inf),
        "c": (-math.inf, 3.0),
        "d": (-1.0, 1.0),
    }


def test_a_number_is_meant_by_its_name_or_its_index():
    assert place_of("sin", NAMES) == place_of("1", NAMES) == 1
    meant = bounds({"cos": 1, 2: [-0.5, 0.5]}, NAMES)
    assert meant == {0: ("cos = 1", 1.0, None), 2: ("speed in -0.5..0.5", -0.5, 0.5)}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "cannot read ''"),
        ("cos", "cannot read 'cos'"),
        ("cos>1", "cannot read 'cos>1'"),
        ("cos=high", "'high' is no number"),
        ("cos=nan", "give a finite number"),
        ("cos=inf", "give a finite number"),
        ("cos=1..-1", "the lower end first"),
        ("cos=0..nan", "the lower end first"),
        ("cos=0..1..2", "a range is NAME=LOW..HIGH"),
        ("cos>=0..1", "a range is NAME=LOW..HIGH"),
        ("cos=0,cos=1", "'cos' is there twice"),
        ("height=3", "no number is called 'height'; there are cos, sin, speed"),
        ("3=1", "no number is called '3'"),
        ("1,2", r"a goal of shape \(2,\); observations here have shape \(3,\): cos, sin, speed"),
        ("nowhere.npy", "no readable file"),
        ("no_such_module:upright", "no_such_module"),
        ("math:pi", "pi is no function"),
    ],
)
def test_an_unreadable_goal_is_refused_in_one_line_without_any_data(text, reason):
    with pytest.raises(CogmapError, match=reason) as caught:
        check_goal(text, NAMES)
    assert "\n" not in str(caught.value)


def test_a_module_that_does_not_even_load_is_told(tmp_path, monkeypatch):
    (tmp_path / "halfway.py").write_text("def upright(:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(CogmapError, match="goal 'halfway:upright': invalid syntax"):
        read("halfway:upright")


def test_of_many_names_the_nearest_are_told_and_not_all():
    names = tuple(f"joint{k}" for k in range(300))
    with pytest.raises(CogmapError, match="there are 300, joint0 to joint299.*joint12") as caught:
        place_of("joint_12", names)
    assert len(str(caught.value)) < 200


def test_a_file_of_rows_is_read_as_they_are(tmp_path):
    path = tmp_path / "goals.csv"
    path.write_text("1,2,3\n4,5,6\n")
    assert np.array_equal(read(str(path)), [[1, 2, 3], [4, 5, 6]])
    check_goal(str(path), NAMES)
