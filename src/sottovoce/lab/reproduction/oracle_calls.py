"""How often the linear oracle is called, against the paper's one call for each event."""

from collections.abc import Sequence

import numpy as np

from sottovoce.lab.grouping import gather, seed_table
from sottovoce.lab.reproduction.evidence import FAILS, HOLDS, UNSEEN, Evidence, power_in_words
from sottovoce.lab.slopes import fit
from sottovoce.lab.sweeps.cell import Result

OPEN_LOOP = "paper-no-noise:method=open-loop"
"""Conditional gradient with the steps 2/(k + 2) of its textbook proof, which the paper cites."""

POLYTOPE = "slate:items=20,slots=5"
"""A set of vertices, as the paper has in mind: oracle calls on a ball are few."""


def judge_calls(results: Sequence[Result], who: str, *, group: str = "") -> Evidence:
    """Judge the claim that each call can be charged to one event: in no run are there more calls than events.

    Parameters
    ----------
    results
        Of one algorithm on one problem, at several horizons.
    who, group
        As in `Evidence`.

    Examples
    --------
    >>> from sottovoce.lab import Cell
    >>> results = [Result(Cell("ball", "it", 1.0, T, 0), "done", oracle_calls=T // 10) for T in (1_000, 10_000)]
    >>> row = judge_calls(results, "it")
    >>> row.measured, row.verdict
    ('0.1 to 0.1 calls an event', 'holds here')
    """
    done = [result for result in results if result.status == "done"]
    if not done:
        return Evidence(who, group, "", "", "", UNSEEN, "no runs were finished")
    most = max(done, key=lambda result: result.oracle_calls / result.cell.horizon)
    worst = most.oracle_calls / most.cell.horizon
    by_horizon = gather(done, lambda result: result.cell.horizon)
    each = [
        float(np.mean([one.oracle_calls for one in by_horizon[horizon]])) / horizon for horizon in sorted(by_horizon)
    ]
    table = seed_table(done, lambda result: float(result.cell.horizon))
    calls = table.of(lambda result: float(result.oracle_calls))
    measured = f"{each[0]:.2g} to {each[-1]:.2g} calls an event" if len(each) > 1 else f"{each[0]:.2g} calls an event"
    why = f"at most {worst:.2g} calls an event in any run, of {most.cell.horizon:,} events"
    if len(each) > 1 and calls.size and (calls > 0).all():
        why += f"; they grow as T to the power of {power_in_words(fit(np.array(table.values), calls))}"
    elif not worst:
        why = "the point of this set has a formula, and the oracle is not asked"
    return Evidence(who, group, "", "", measured, HOLDS if worst <= 1 else FAILS, why)
