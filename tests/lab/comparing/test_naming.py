"""Names of problems and algorithms: what people type is read exactly, or refused with what would do."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling import every
from sottovoce._written import read, split_names
from sottovoce.lab import grid
from sottovoce.lab.algorithms import ALGORITHMS, algorithm_name, find_algorithm, streams
from sottovoce.lab.baselines import BASELINES
from sottovoce.lab.problems.naming import make_problem, problem_name

names = st.from_regex(r"[a-z][a-z\-]{0,8}", fullmatch=True)
values = st.one_of(st.integers(-100, 100), st.floats(-5, 5).filter(lambda x: not x.is_integer()), st.booleans(), names)


@given(names, st.dictionaries(names, values, max_size=4))
def test_what_is_written_reads_back(name, settings):
    written = name + (":" if settings else "") + ",".join(f"{key}={value}" for key, value in settings.items())
    found = read(written)
    assert found.name == name
    for key, value in found.settings:
        expected = {"true": True, "false": False}.get(str(settings[key]).lower(), settings[key])
        assert value == expected or value == float(expected)
    assert read(str(found)) == found


@every(
    "text, words",
    [
        ("", "must be written like name"),
        (":size=3", "must be written like name"),
        ("toy:size", "must be written like name"),
        ("toy:", "must be written like name"),
        ("toy:size=", "must be written like name"),
        ("toy:size=3,size=4", "size is given twice"),
        ("nothing", "problem must be one of .*toy.*got 'nothing'"),
        ("toy:colour=3", "problem toy has no setting 'colour'; it has size, drift, seed"),
    ],
)
def test_what_cannot_be_read_says_what_would_do(text, words):
    with pytest.raises(ValueError, match=words):
        problem_name(text)


def test_the_seed_reaches_the_problem_unless_it_has_its_own():
    assert make_problem("toy", seed=5).environment.seed == 5
    assert make_problem("toy:seed=7", seed=5).environment.seed == 7
    assert make_problem("toy:size=1e1", seed=5).domain.dimension == 10
    with pytest.raises(ValueError, match=r"problem 'toy:drift=0\.95': drift \+ jitter"):
        make_problem("toy:drift=0.95", seed=0)


def test_settings_stay_with_their_algorithm():
    assert split_names("a, b:x=1,y=2 ,c") == ["a", "b:x=1,y=2", "c"]


def test_algorithms_have_names():
    assert set(BASELINES) <= set(ALGORITHMS)
    assert find_algorithm("default:play=around") == (ALGORITHMS["default"], {"play": "around"})
    assert algorithm_name(" default: delta=1e-06 ") == "default:delta=1e-06"
    with pytest.raises(ValueError, match=r"algorithm must be one of default, .*got 'best'"):
        find_algorithm("best")


def test_a_grid_has_every_combination_once():
    cells = grid(["toy"], ["default", "garber-kretzu", "default"], epsilons=[0.1, 1], horizons=[10, 20], seeds=range(3))
    assert len(cells) == len(set(cells)) == (2 + 1) * 2 * 3
    assert {cell.epsilon for cell in cells if cell.algorithm == "garber-kretzu"} == {math.inf}
    assert {cell.epsilon for cell in cells if cell.algorithm == "default"} == {0.1, 1.0}
    with pytest.raises(ValueError, match="at least one"):
        grid([], ["default"], epsilons=[1], horizons=[1], seeds=[0])
    with pytest.raises(ValueError, match="epsilon must be greater than 0"):
        grid(["toy"], ["default"], epsilons=[0], horizons=[1], seeds=[0])


@given(st.integers(0, 2**60))
def test_streams_of_a_seed_differ(seed):
    found = streams(seed)
    assert len({found.environment, found.coins, found.noise, found.reports}) == 4
    assert streams(seed) == found
