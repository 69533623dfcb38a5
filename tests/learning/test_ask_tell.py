"""The books: ids, rounds, what is outstanding. Bad input gets a clear error, and changes nothing."""

import copy
import pickle
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sampling import every
from sottovoce.errors import AlreadyTold, DomainError, HorizonReached, InvalidLoss, RoundClosed, UnknownAction

SIMPLEX = sv.domains.Simplex(4)


def bandit(domain=SIMPLEX, horizon=100, **options):
    settings = {
        "loss_range": (0.0, 1.0),
        "privacy": sv.PureDP(1.0),
        "noise": sv.SimulatedNoise(1),
        "seed": 1,
        "batch_size": 10,
        "mechanism": "tree",
        "step": 0.05,  # large enough for the noise to show in the point
    }
    return sv.PrivateBandit(domain, horizon=horizon, **{**settings, **options})


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


REFERENCE = finish(bandit())


def test_one_at_a_time_equals_blocks():
    optimizer = bandit()
    played = []
    for _ in range(100):
        action = optimizer.ask()
        assert action.wants_loss
        optimizer.tell(action.id, float(losses_of(action.id)))
        played.append(action.x)
    assert np.array_equal(played, REFERENCE)
    assert optimizer.round == 10


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_any_order_and_any_split_of_losses_gives_the_same_rounds(sizes, random):
    """Ask a round, tell it shuffled and in pieces: the trajectory is that of the plain loop."""
    optimizer = bandit()
    played = []
    while optimizer.remaining:
        actions = optimizer.ask_round()
        played.append(actions.x)
        ids = actions.ids.tolist()
        random.shuffle(ids)
        while ids:
            size = random.choice(sizes)
            optimizer.tell(np.array(ids[:size]), losses_of(ids[:size]))
            ids = ids[size:]
    assert np.array_equal(np.concatenate(played), REFERENCE)


def test_a_block_crosses_rounds_and_plays_the_newest_known_point():
    optimizer = bandit()
    actions = optimizer.ask(size=25)
    assert actions.ids.tolist() == list(range(25))
    assert optimizer.round == 0
    assert np.allclose(optimizer.point, SIMPLEX.center)  # nothing was told, so nothing is known
    optimizer.tell(actions.ids, losses_of(actions.ids))
    assert optimizer.round == 2  # the third round has five actions to go
    optimizer.ask(size=6)
    assert not np.allclose(optimizer.point, SIMPLEX.center)


def test_rounds_are_released_in_order():
    optimizer = bandit()
    first, second = optimizer.ask(size=10), optimizer.ask(size=10)
    optimizer.tell(second.ids, losses_of(second.ids))
    assert optimizer.round == 0
    optimizer.tell(first.ids, losses_of(first.ids))
    assert optimizer.round == 2
    late = finish_from(optimizer)
    other = bandit()
    block = other.ask(size=20)
    other.tell(block.ids, losses_of(block.ids))
    assert np.array_equal(late, finish_from(other))


def finish_from(optimizer):
    return finish(optimizer)


def test_ask_round_returns_the_rest_of_a_round():
    optimizer = bandit(horizon=25)
    optimizer.ask(size=3)
    assert [len(optimizer.ask_round()) for _ in range(3)] == [7, 10, 5]
    with pytest.raises(HorizonReached):
        optimizer.ask_round()


@every("horizon", [1, 2, 3, 7, 10, 99])
@every("plan", ["auto", "paper"])
def test_every_event_of_every_horizon_is_played(horizon, plan):
    optimizer = bandit(horizon=horizon, plan=plan, batch_size=None, step=None)
    assert len(finish(optimizer)) == horizon
    assert optimizer.remaining == 0
    assert len(optimizer.outstanding()) == 0
    assert optimizer.round == optimizer.plan.rounds


def test_ask_past_the_horizon_is_refused_and_changes_nothing():
    optimizer = bandit(horizon=15)
    optimizer.ask(size=10)
    with pytest.raises(HorizonReached, match=r"size=6 actions were asked for, and 5 of horizon=15 are left"):
        optimizer.ask(size=6)
    assert optimizer.remaining == 5
    optimizer.ask(size=5)
    with pytest.raises(HorizonReached):
        optimizer.ask()


class TestRefusals:
    """Each leaves the optimizer as it was: finishing afterwards gives the reference trajectory."""

    @pytest.fixture
    def optimizer(self):
        optimizer = bandit()
        self.actions = optimizer.ask_round()
        yield optimizer
        assert len(optimizer.outstanding()) == 10
        optimizer.tell(self.actions.ids, losses_of(self.actions.ids))
        rest = finish(optimizer)
        assert np.array_equal(np.concatenate([self.actions.x, rest]), REFERENCE)

    @every("bad", [float("nan"), float("inf"), -float("inf"), "3.14159x", None, 1j, [0.1, 0.2]])
    def test_a_loss_that_is_no_number(self, optimizer, bad):
        with pytest.raises(InvalidLoss) as caught:
            optimizer.tell(3, bad)
        assert_silent(caught.value, bad)

    @every("bad", [float("nan"), float("inf"), "3.14159x", 1j])
    def test_a_block_with_one_bad_loss_is_refused_whole(self, optimizer, bad):
        with pytest.raises(InvalidLoss) as caught:
            optimizer.tell([1, 2, 3], [0.123456, bad, 0.5])
        assert_silent(caught.value, bad)
        assert "123456" not in str(caught.value)

    @every("ids", [10, -1, 10**9, [3, 10], [-1, 2], 2**70])
    def test_an_id_that_was_never_handed_out(self, optimizer, ids):
        with pytest.raises(UnknownAction):
            optimizer.tell(ids, 0.123456 if np.ndim(ids) == 0 else [0.123456, 0.5])

    @every("ids", [1.0, "a", [0.5], [True], None])
    def test_an_id_that_is_no_integer(self, optimizer, ids):
        with pytest.raises(UnknownAction):
            optimizer.tell(ids, 0.5 if np.ndim(ids) == 0 else [0.5])

    def test_an_id_twice_in_one_block(self, optimizer):
        with pytest.raises(AlreadyTold, match="twice"):
            optimizer.tell([4, 5, 4], [0.1, 0.2, 0.3])

    @every("losses", [[0.1], [0.1, 0.2, 0.3], 0.5, [[0.1, 0.2]]])
    def test_shapes_that_differ(self, optimizer, losses):
        with pytest.raises(ValueError, match=r"losses must have the shape of ids, \(2,\)") as caught:
            optimizer.tell([1, 2], losses)
        assert "0.1" not in str(caught.value)

    @every("size", [0, -1, 2.5, "all"])
    def test_a_size_that_is_none(self, optimizer, size):
        with pytest.raises((ValueError, TypeError), match="size must be"):
            optimizer.ask(size=size)


def assert_silent(error, value):
    """No text of the error, nor of what it was raised from, holds the value."""
    while error is not None:
        assert repr(value) not in str(error)
        assert "3.14159" not in str(error)
        error = error.__cause__ or error.__context__


@every("again", [3, [2, 3]])
def test_a_second_tell_is_refused_and_changes_nothing(again):
    optimizer = bandit()
    actions = optimizer.ask_round()
    optimizer.tell(3, 0.25)
    with pytest.raises(AlreadyTold, match="id 3 has its loss already") as caught:
        optimizer.tell(again, 0.123456 if again == 3 else [0.123456, 0.654321])
    assert "123456" not in str(caught.value)
    assert len(optimizer.outstanding()) == 9
    optimizer.tell(np.delete(actions.ids, 3), np.zeros(9))
    assert optimizer.round == 1
    optimizer.ask()
    with pytest.raises(AlreadyTold, match="has its loss already"):
        optimizer.tell(again, 0.5 if again == 3 else [0.5, 0.5])


def test_a_released_round_keeps_no_losses():
    optimizer = bandit()
    actions = optimizer.ask_round()
    integer = optimizer._policy.grid.quantiser()(0.7512345)
    written = integer.to_bytes(8, "little")
    optimizer.tell(actions.ids[:9], np.full(9, 0.7512345))
    assert pickle.dumps(optimizer._store).count(written) >= 9  # as integers, until the round is complete
    optimizer.tell(actions.ids[9:], [0.7512345])
    assert optimizer.round == 1
    assert written not in pickle.dumps(optimizer._store)
    shown = (optimizer, optimizer._store, optimizer._store.releases(0, 0), optimizer._policy.streams[0])
    assert not any("7512" in repr(one) or str(integer) in repr(one) for one in shown)


def test_long_rounds_are_held_in_chunks():
    """Of an open round, an integer is kept for every loss, and not every decision: here, 160 MB with their weights."""
    optimizer = bandit(sv.domains.Simplex(400), horizon=50_000, batch_size=25_000)
    tracemalloc.start()
    for _ in range(25):
        actions = optimizer.ask_round(most=1000)
        optimizer.tell(actions.ids, losses_of(actions.ids))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 80e6
    assert optimizer.round == 1


def test_what_was_handed_out_is_let_go():
    """However many rounds a block spans, and however many came before."""
    optimizer = bandit(horizon=40_000, patience=None)
    block = optimizer.ask(20_000)
    assert len(pickle.dumps(optimizer._store.leases)) < 100_000  # a chain of two thousand would not be pickled at all
    optimizer.tell(block.ids, losses_of(block.ids))
    for _ in range(100):
        optimizer.tell(optimizer.ask().id, 0.5)
    copied = copy.copy(optimizer)
    assert copied.ask().id == optimizer.ask().id


def test_blocks_of_a_long_round_may_be_told_in_any_order():
    backwards, plain = (bandit(horizon=20_000, batch_size=10_000) for _ in range(2))
    for optimizer, order in ((backwards, -1), (plain, 1)):
        actions = optimizer.ask_round()
        assert len(actions) == 10_000
        for ids in np.split(actions.ids, 40)[::order]:
            optimizer.tell(ids[::order], losses_of(ids[::order]))
        assert optimizer.round == 1
    assert np.array_equal(finish(backwards), finish(plain))


def test_losses_out_of_range_are_clipped_without_a_word(recwarn, caplog, capsys):
    clipped, plain = bandit(), bandit()
    for optimizer, low, high in ((clipped, -7.0, 1e300), (plain, 0.0, 1.0)):
        for _ in range(5):
            actions = optimizer.ask_round()
            optimizer.tell(actions.ids, np.where(actions.ids % 3 == 0, high, low))
    assert np.array_equal(clipped.ask().x, plain.ask().x)
    assert repr(clipped) == repr(plain)
    assert not recwarn.list
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


def test_forgotten_losses_count_as_the_middle_of_the_range():
    forgetful, plain = bandit(), bandit()
    for optimizer in (forgetful, plain):
        actions = optimizer.ask_round()
        optimizer.tell(actions.ids[2:], losses_of(actions.ids[2:]))
    forgetful.forget([0, 1])
    plain.tell([0, 1], [0.5, 0.5])
    assert np.array_equal(finish(forgetful), finish(plain))


def test_a_forgotten_action_is_closed():
    optimizer = bandit()
    optimizer.ask_round()
    optimizer.forget(4)
    assert len(optimizer.outstanding()) == 9
    for attempt in (lambda: optimizer.tell(4, 0.5), lambda: optimizer.tell([3, 4], [0.5, 0.5])):
        with pytest.raises(RoundClosed, match="id 4 was closed without its loss"):
            attempt()
    assert len(optimizer.outstanding()) == 9


def test_actions_cannot_be_overwritten():
    optimizer = bandit()
    action = optimizer.ask()
    with pytest.raises(ValueError, match="read-only"):
        action.x[0] = 7.0


def test_a_failing_oracle_leaves_no_half_asked_block():
    broken = False

    def oracle(cost):
        if broken:
            raise RuntimeError("the solver is down")
        return SIMPLEX.extreme_point(cost)

    optimizer = sv.PrivateBandit(
        sv.domains.Custom(oracle, 4),
        horizon=100,
        loss_range=(0.0, 1.0),
        privacy=sv.NoPrivacy(),
        plan="worst-case",
        batch_size=10,
        step=0.1,
    )
    actions = optimizer.ask_round()
    optimizer.tell(actions.ids, losses_of(actions.ids))
    broken = True
    with pytest.raises(RuntimeError, match="solver is down"):
        optimizer.ask(size=30)
    assert optimizer.remaining == 90
    broken = False
    assert optimizer.ask(size=30).ids[0] == 10


def test_many_threads_lose_nothing():
    """Telling the last losses of a round from several threads releases it once."""
    optimizer = bandit(horizon=4000, batch_size=8, patience=None)  # a thread may sleep for long between ask and tell
    seen = []

    def work():
        while True:
            try:
                action = optimizer.ask()
            except HorizonReached:
                return
            seen.append(action.id)
            optimizer.tell(action.id, 0.5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(4000))
    assert optimizer.round == 500
    assert len(optimizer.outstanding()) == 0


@every(
    ("options", "message"),
    [
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"horizon": -5}, "horizon must be at least 1, got -5"),
        ({"loss_range": (1.0, 0.0)}, "loss_range must be"),
        ({"loss_range": 3}, "loss_range must be a pair"),
        ({"play": "outside"}, "play must be one of"),
        ({"lipschitz": 0.0}, "lipschitz must be greater than 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"radius": 10.0}, "radius must be at most the domain's inner radius"),
        ({"batch_size": 101}, "batch_size must be"),
    ],
)
def test_bad_configurations_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bandit(**options)


def test_a_guarantee_must_be_a_guarantee():
    with pytest.raises(TypeError, match=r"privacy must be a guarantee such as sv.PureDP"):
        bandit(privacy=1.0)


def test_a_set_of_one_point_leaves_nothing_to_decide():
    domain = sv.domains.Box(np.zeros(2), np.zeros(2))
    with pytest.raises(DomainError, match="single point"):
        sv.PrivateBandit(domain, horizon=10, loss_range=(0, 1), privacy=sv.NoPrivacy())


def test_losses_that_nobody_wants_are_dropped_unread_even_after_their_round():
    """One at a time, in order: the last wanted loss closes a round, and the unwanted ones behind it still come in."""
    optimizer = sv.PrivateBandit(
        sv.domains.Hypersimplex(6, 2),
        horizon=2000,
        loss_range=(0.0, 1.0),
        privacy=sv.PureDP(1.0),
        losses="linear",
        integral=True,
        exploration="designs",
        seed=1,
    )
    actions = optimizer.ask(1500)
    assert optimizer.round == 0
    for action in actions:
        optimizer.tell(action.id, 0.5 if action.wants_loss else "anything")
    assert optimizer.round > 2
    wanted, unwanted = actions.ids[actions.wants_loss], actions.ids[~actions.wants_loss]
    optimizer.tell(unwanted, np.full(len(unwanted), np.nan))  # again, as a block
    optimizer.forget(unwanted[:5])
    with pytest.raises(AlreadyTold):
        optimizer.tell(int(wanted[0]), 0.5)
    with pytest.raises(AlreadyTold):
        optimizer.tell(actions.ids[:400], np.full(400, 0.5))


def test_an_action_in_place_of_its_id_is_refused_with_advice():
    optimizer = sv.PrivateBandit(sv.domains.Ball(2), horizon=100, loss_range=(0, 1), privacy=sv.NoPrivacy())
    action, block = optimizer.ask(), optimizer.ask(3)
    for call in (optimizer.tell, lambda ids, _: optimizer.forget(ids)):
        with pytest.raises(TypeError, match=r"action\.id"):
            call(action, 0.5)
        with pytest.raises(TypeError, match=r"actions\.ids"):
            call(block, [0.5] * 3)
    assert len(optimizer.outstanding()) == 4
