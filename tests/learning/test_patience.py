"""Losses that never come: what is said of them, and how long they are waited for.

That a round closes once so many later positions were asked, tests/rounds/test_contract.py says of every store.
"""

import numpy as np

import sottovoce as sv
from optimizers import bandit
from sottovoce.learning.patience import default_patience

SIMPLEX = sv.domains.Simplex(4)


def made(horizon=1000, **options):
    return bandit(SIMPLEX, horizon, batch_size=10, plan="worst-case", **options)


def tell(optimizer, ids):
    optimizer.tell(np.asarray(ids), (np.asarray(ids) * 0.37) % 1.0)


def test_what_is_outstanding_has_an_id_a_round_and_an_age():
    optimizer = made(patience=50)
    actions = optimizer.ask(25)
    tell(optimizer, np.delete(actions.ids, [2, 7, 14, 23]))
    found = optimizer.outstanding()
    assert list(found) == [(2, 0, 22), (7, 0, 17), (14, 1, 10), (23, 2, 1)]
    assert len(found) == 4
    optimizer.ask(2)
    assert optimizer.outstanding().ages.tolist() == [24, 19, 12, 3, 1, 0]
    assert list(optimizer.outstanding(limit=3)) == [(2, 0, 24), (7, 0, 19), (14, 1, 12)]
    words = str(optimizer.outstanding(limit=1)).splitlines()
    assert words[0] == "6 losses are outstanding"
    assert words[1].endswith("round 0 waits for 2 of 10 losses; it closes without them once 48 more events are asked")
    assert words[3].endswith("round 2 waits for 3 of 10 losses; 3 of its actions are still to be asked")
    assert "forget(ids)" in words[-1]
    optimizer.forget(optimizer.outstanding().ids)
    assert str(optimizer.outstanding()) == "no loss is outstanding"


def test_the_default_is_a_tenth_of_a_short_run_and_a_hundredth_of_a_long_one():
    planned = {5: 0, 100: 10, 100_000: 10_000, 500_000: 10_000, 10**7: 10**5}
    assert {events: default_patience(events) for events in planned} == planned
    assert made(horizon=500).patience == 50
    unknown = made(horizon=None)
    assert unknown.patience == 1000
    for _ in range(40):
        tell(unknown, unknown.ask(500).ids)
    assert unknown.patience == default_patience(20_000)
