"""The books: ids, rounds, what is outstanding. Bad input gets a clear error, and changes nothing."""

import contextlib
import itertools

import numpy as np
import pytest

import sottovoce as sv
from children import at_once
from optimizers import bandit
from sampling import every
from shown import shows
from sottovoce.errors import AlreadyTold, DomainError, HorizonReached, InvalidLoss, UnknownAction

SIMPLEX = sv.domains.Simplex(4)


def made(domain=SIMPLEX, horizon=100, **options):
    given = {"batch_size": 10, "mechanism": "tree", "step": 0.05}  # large enough for the noise to show in the point
    return bandit(domain, horizon, **given | options)


def losses_of(ids):
    """A loss for each position: what is told does not depend on when it is told."""
    return (np.asarray(ids) * 0.37) % 1.0


def finish(optimizer):
    """Play to the end in the plainest way; return all actions."""
    played = []
    while optimizer.remaining:
        actions = optimizer.ask_round()
        optimizer.tell(actions.ids, losses_of(actions.ids))
        played.append(actions.x)
    return np.concatenate(played)


REFERENCE = finish(made())


def test_every_event_of_every_horizon_is_played_and_none_beyond_it():
    for horizon, plan in itertools.product([1, 2, 3, 7, 10, 99], ["auto", "paper"]):
        optimizer = made(horizon=horizon, plan=plan, batch_size=None, step=None)
        assert len(finish(optimizer)) == horizon
        assert optimizer.remaining == 0
        assert len(optimizer.outstanding()) == 0
        assert optimizer.round == optimizer.plan.rounds
    optimizer = made(horizon=25)
    optimizer.ask(size=3)
    with pytest.raises(HorizonReached, match=r"size=23 actions were asked for, and 22 of horizon=25 are left"):
        optimizer.ask(size=23)
    assert optimizer.remaining == 22
    assert [len(optimizer.ask_round()) for _ in range(3)] == [7, 10, 5]  # the rest of a round
    for ask in (optimizer.ask, optimizer.ask_round):
        with pytest.raises(HorizonReached):
            ask()


NAN, INF = float("nan"), float("inf")
REFUSED = {  # ids, losses
    InvalidLoss: [
        *((3, bad) for bad in (NAN, INF, -INF, "3.14159x", None, 1j, [0.1, 0.2])),
        *(([1, 2, 3], [0.123456, bad, 0.5]) for bad in (NAN, INF, "3.14159x", 1j)),
    ],
    UnknownAction: [
        *((ids, 0.123456) for ids in (10, -1, 10**9, 2**70, 1.0, "a", None)),
        *((ids, [0.123456, 0.5][: len(ids)]) for ids in ([3, 10], [-1, 2], [0.5], [True])),
    ],
    AlreadyTold: [([4, 5, 4], [0.1, 0.2, 0.123456])],
    ValueError: [([1, 2], losses) for losses in ([0.123456], [0.123456] * 3, 0.123456, [[0.123456, 0.2]])],
}


def test_what_is_refused_shows_nothing_and_changes_nothing():
    """Finishing afterwards gives the reference trajectory."""
    optimizer = made()
    actions = optimizer.ask_round()
    for error, ids, losses in ((error, *case) for error, cases in REFUSED.items() for case in cases):
        with pytest.raises(error) as caught:
            optimizer.tell(ids, losses)
        assert not shows(caught.value, "123456", "3.14159"), (ids, losses)
        assert error is not ValueError or "losses must have the shape of ids, (2,)" in str(caught.value)
    for size in (0, -1, 2.5, "all"):
        with pytest.raises((ValueError, TypeError), match="size must be"):
            optimizer.ask(size=size)
    assert len(optimizer.outstanding()) == 10
    optimizer.tell(actions.ids, losses_of(actions.ids))
    assert np.array_equal(np.concatenate([actions.x, finish(optimizer)]), REFERENCE)


def test_many_threads_lose_nothing():
    """Telling the last losses of a round from several threads releases it once."""
    optimizer = made(horizon=4000, batch_size=8, patience=None)  # a thread may sleep for long between ask and tell
    seen = []

    def work(_):
        with contextlib.suppress(HorizonReached):
            while True:
                action = optimizer.ask()
                seen.append(action.id)
                optimizer.tell(action.id, 0.5)

    at_once(work)
    assert sorted(seen) == list(range(4000))
    assert optimizer.round == 500
    assert len(optimizer.outstanding()) == 0


@every(
    ("options", "message"),
    [
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"loss_range": (1.0, 0.0)}, "loss_range must be"),
        ({"loss_range": 3}, "loss_range must be a pair"),
        ({"play": "outside"}, "play must be one of"),
        ({"lipschitz": 0.0}, "lipschitz must be greater than 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"radius": 10.0}, "radius must be at most the domain's inner radius"),
        ({"batch_size": 101}, "batch_size must be"),
        ({"patience": "long"}, "patience must be 'auto'"),
        ({"privacy": 1.0}, r"privacy must be a guarantee such as sv.PureDP"),
        ({"domain": sv.domains.Box(np.zeros(2), np.zeros(2))}, "single point"),
    ],
)
def test_bad_configurations_are_refused(options, message):
    with pytest.raises((TypeError, ValueError, DomainError), match=message):
        made(**options)


def test_an_action_in_place_of_its_id_is_refused_with_advice():
    optimizer = sv.PrivateBandit(sv.domains.Ball(2), horizon=100, loss_range=(0, 1), privacy=sv.NoPrivacy())
    action, block = optimizer.ask(), optimizer.ask(3)
    for call in (optimizer.tell, lambda ids, _: optimizer.forget(ids)):
        with pytest.raises(TypeError, match=r"action\.id"):
            call(action, 0.5)
        with pytest.raises(TypeError, match=r"actions\.ids"):
            call(block, [0.5] * 3)
    assert len(optimizer.outstanding()) == 4
