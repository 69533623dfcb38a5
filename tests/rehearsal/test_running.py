"""A run that is under way knows which world it is in, from what was released."""

import numpy as np
import pytest

import sottovoce as sv
from optimizers import bandit
from sottovoce.learning.seen_world import SeenWorld, seen_in

RATES = np.linspace(0.3, 0.6, 6)
QUICK = {"rehearse": 0.03}


def made(**more):
    return bandit(
        sv.domains.Simplex(6), 8_000, **{"losses": "linear", "integral": True, "loss_range": (0.0, 2.0)} | more
    )


def play(optimizer, events, **segment):
    actions = optimizer.ask(events, **segment)
    seen = np.random.default_rng(2).random(events) < actions.x @ RATES
    sign = -1.0 if optimizer.direction == "maximize" else 1.0
    optimizer.tell(actions.ids, sign * 2.0 * seen)


@pytest.mark.parametrize(
    ("options", "segment"),
    [
        ({}, {}),
        ({"direction": "maximize", "loss_range": (-2.0, 0.0)}, {}),
        ({"segments": ["x", "y"]}, {"segment": ["x", "y"] * 2_000}),
    ],
    ids=["losses", "rewards", "segments"],
)
def test_contrast_and_scatter_are_read_from_what_was_released(options, segment):
    """The middle loses 0.45 of the range, the best decision 0.3; clicks at these rates scatter by 0.46 to 0.5."""
    optimizer = made(**options)
    play(optimizer, 4_000, **segment)
    seen = optimizer._seen_world()
    assert seen.told_apart
    assert abs(seen.contrast - 0.15) < 3 * seen.deviation
    assert 0.35 < seen.scatter <= 0.55


def test_what_was_seen_is_rehearsed_and_before_that_a_table_is():
    optimizer = made()
    before = optimizer.forecast(**QUICK)
    assert [one.contrast for one in before.cases] == [0.01, 0.03, 0.1, 0.3]
    assert "any of these worlds may be yours" in before.notes[-1]
    play(optimizer, 4_000)
    after = optimizer.forecast(**QUICK)
    assert after.horizon == 8_000
    assert after.cases == ()
    seen = optimizer._seen_world()
    assert after.contrasts[0] == pytest.approx(seen.contrast)
    assert after.notes[-1].startswith("by what was released, the best decision gains 0.1")


def test_nothing_is_read_where_nothing_was_released():
    assert seen_in({}, {}, made()._problem) is None
    assert made(plan="worst-case")._seen_world() is None
    assert not SeenWorld(0.1, 0.06, 0.4).told_apart
