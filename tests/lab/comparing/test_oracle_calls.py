"""One oracle call for each event: counted, and called false where it is."""

import math

from sampling import every
from sottovoce.lab import Cell, Result
from sottovoce.lab.reproduction.evidence import FAILS, HOLDS, UNSEEN, judge_calls
from sottovoce.lab.reproduction.extent import OPEN_LOOP, POLYTOPE
from sottovoce.lab.sweeps.running import run_cell


def counted(calls, horizons=(1_000, 10_000, 100_000), seeds=3):
    return [
        Result(Cell("ball", "it", 1.0, T, seed), "done", oracle_calls=int(calls(T)) + seed)
        for T in horizons
        for seed in range(seeds)
    ]


def test_calls_of_the_order_of_events_hold():
    row = judge_calls("it", counted(lambda T: T / 9))
    assert (row.verdict, row.measured) == (HOLDS, "0.11 to 0.11 calls an event")
    assert "they grow as T to the power of 0.998 ± 0.001" in row.why


def test_one_run_with_more_calls_than_events_breaks_it():
    results = [*counted(lambda T: T / 9), Result(Cell("ball", "it", 1.0, 1_000, 9), "done", oracle_calls=1_001)]
    row = judge_calls("it", results)
    assert row.verdict == FAILS
    assert row.why.startswith("at most 1 calls an event in any run, of 1,000 events")


def test_no_calls_and_no_runs():
    none = judge_calls("it", [Result(Cell("ball", "it", 1.0, 10, 0), "done")])
    assert (none.verdict, none.measured) == (HOLDS, "0 calls an event")
    assert "formula" in none.why
    assert judge_calls("it", [Result(Cell("ball", "it", 1.0, 10, 0), "failed")]).verdict == UNSEEN


@every("algorithm", ["paper-no-noise", OPEN_LOOP])
@every("problem", ["ball:dimension=8,play=around", POLYTOPE])
def test_algorithm_1_keeps_it(problem, algorithm):
    """The paper's own parameters, at a horizon that is quick: fewer calls than events, and more than none."""
    result = run_cell(Cell(problem, algorithm, math.inf, 900, 0)).result
    assert 0 < result.oracle_calls <= 900
