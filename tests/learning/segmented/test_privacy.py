"""What is promised with segments: every loss in one number, one charge, no copy in a fork, and what is public."""

import numpy as np
import pytest
from families import PEOPLE, family
from interrupting import NoNoise
from watching import watch_releases

import sottovoce as sv
from sampling import every


def released_by(losses, segments=PEOPLE, **options):
    """What a run releases, without noise, whose losses are these, by event: sums, weights and squares."""
    optimizer = family(noise=NoNoise(), segments=segments, **options)
    seen = {}
    watch_releases(optimizer, lambda one, rows: seen.setdefault((one.stream, one.number), rows), all_rows=True)
    coins = np.random.default_rng(1)
    for start in range(0, len(losses), 40):
        came = [PEOPLE[one] for one in coins.integers(3, size=40)]
        actions = optimizer.ask(segment=came)
        optimizer.tell(actions.ids, losses[start : start + 40])
    return seen


@every("event", [0, 13, 399, 600])
def test_another_loss_moves_one_sum_and_its_squares_until_decisions_change(event):
    losses = np.random.default_rng(0).random(800)
    other = losses.copy()
    other[event] = 1.0 - round(losses[event])  # as far as it goes
    one, two = released_by(losses), released_by(other)
    assert {stream for stream, _ in one} == {0, 1, 2}
    changed = [number for number in one if not np.array_equal(one[number], two.get(number))]
    first = changed[0]  # what comes later follows from what was released, and may be anything
    difference = np.abs(one[first] - two[first])
    sums, weights, squares = difference
    assert not weights.any()
    assert np.count_nonzero(sums) == 1
    assert np.count_nonzero(squares[sums == 0]) == 0
    assert difference.sum() <= 2 ** family().plan.bits


def test_the_statement_says_that_the_segment_is_public_and_noise_is_that_of_one_optimizer():
    alone, together = family(segments=None, noise=None), family(noise=None)
    assert together.plan.noise == alone.plan.noise
    text = " ".join(str(together.privacy).split())
    assert "which segment an event belongs to: it is public" in text
    assert "the budget is spent once for all of them" in text
    assert "segment" not in str(alone.privacy)


def test_no_loss_is_shown_anywhere():
    optimizer = family()
    actions = optimizer.ask(segment=PEOPLE)
    optimizer.tell(actions.ids, [0.123456789] * 3)
    inside = (optimizer._store, optimizer._store.leases, optimizer._store.open_rounds(), optimizer._policy)
    for one in (optimizer, *inside, *optimizer._policy.streams.values(), optimizer.outstanding()):
        assert "123456789" not in repr(one)
    with pytest.raises(sv.errors.InvalidLoss) as caught:
        optimizer.tell(optimizer.ask(segment="phone").id, float("inf"))
    assert "inf" not in str(caught.value).replace("infin", "")
