"""What every store has to keep: random histories of calls, compared with a plain model of the promise.

The model holds what was handed out, told and forgotten in dictionaries, and knows nothing of chunks, leases or pages.
"""

import uuid
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sottovoce.errors import AlreadyTold, HorizonReached, InvalidLoss, RoundClosed, UnknownAction
from sottovoce.rounds.round import Shape
from sottovoce.rounds.stores.memory import MemoryStore
from storages import lease_ahead

from .policies import BareBook, Sums
from .tools import HORIZON, opened


class Model:
    """The promise, in plain words."""

    def __init__(self, policy, patience):
        self.policy, self.patience = policy, patience
        self.handed = {}  # id -> stream, its place in the stream, wanted
        self.told = {}
        self.gone = set()
        self.full_at = {}
        self.places = {}  # ids of a stream, in order
        self.closed = {}  # rounds of a stream that are released

    def hand_out(self, stream, one, wanted):
        assert one not in self.handed, "an id twice"
        mine = self.places.setdefault(stream, [])
        self.handed[one] = stream, len(mine), bool(wanted)
        mine.append(one)

    def rounds(self, stream):
        """Yield the rounds of a stream that are handed out to their end."""
        at, number, mine = 0, 0, self.places.get(stream, [])
        while True:
            size = self.policy.begin(stream, number, 0).size
            if at + size > len(mine):
                return
            yield number, mine[at : at + size]
            at, number = at + size, number + 1

    def note_full(self):
        for stream in self.places:
            for number, _ in self.rounds(stream):
                self.full_at.setdefault((stream, number), len(self.handed))

    def give_up(self):
        """Close what is overdue: called when a call of ask begins."""
        self.note_full()
        if self.patience is None:
            return
        for stream in list(self.places):
            for number, ids in self.rounds(stream):
                if self.full_at[stream, number] + self.patience <= len(self.handed):
                    self.gone |= {one for one in ids if self.waits(one)}

    def waits(self, one):
        return one in self.handed and self.handed[one][2] and one not in self.told and one not in self.gone

    def released(self, stream):
        """Return the sums of the rounds that are complete, in order, up to the first that is not."""
        found = []
        for number, ids in self.rounds(stream):
            if number >= self.closed.get(stream, 0) and any(self.waits(one) for one in ids):
                break
            sums = np.zeros(self.policy.numbers, dtype=np.int64)
            for slot, one in enumerate(ids):
                if self.handed[one][2]:
                    sums[slot % self.policy.numbers] += self.told.get(one, self.policy.grid.missing)
            found.append(sums)
        self.closed[stream] = max(self.closed.get(stream, 0), len(found))
        return found


calls = st.lists(
    st.tuples(
        st.sampled_from(
            ["ask", "ask", "block", "blocks", "tell", "tell", "tell all", "forget", "again", "nan", "rest"]
        ),
        st.integers(0, 2),
        st.integers(0, 60),
    ),
    max_size=40,
)


def play(book, model, history):
    """Play a history on a book and on the model, and compare what they say after each call."""
    for what, stream, number in history:
        step(book, model, what, stream, number)
        check(book, model)


def step(book, model, what, stream, number):
    waiting = [one for one in model.handed if model.waits(one)]
    if what in ("ask", "block", "blocks", "rest"):
        ask(book, model, what, stream, number)
    elif what == "forget":
        ids = waiting[::3] + waiting[:1] + list(model.told)[:2]  # one of them twice
        assert book.forget(np.array(ids, dtype=np.int64)) == len(waiting[::3])
        model.gone |= set(waiting[::3])
    elif what == "again" and model.told:
        with pytest.raises(AlreadyTold):
            book.tell_block(np.array([*waiting[:3], *list(model.told)[:1]]), np.full(min(3, len(waiting)) + 1, 0.5))
    elif what == "nan" and waiting:
        with pytest.raises(InvalidLoss):
            book.tell_block(np.array(waiting[:2]), np.array([0.5, np.nan][-len(waiting[:2]) :]))
    elif what in ("tell", "tell all"):
        tell(book, model, waiting if what == "tell all" else waiting[number % 5 :: 4], number)


def ask(book, model, what, stream, number):
    size = 1 if what == "ask" else number + 1
    streams = [(stream + i) % 3 for i in range(size)] if what == "blocks" else [stream] * size
    if len(model.handed) + size > HORIZON:
        with pytest.raises(HorizonReached):
            book.ask_one(stream) if what == "ask" else book.ask_block(size, streams)
        return
    model.give_up()  # a call that is refused closes nothing
    if what == "ask":
        one, _, wanted = book.ask_one(stream)
        model.hand_out(stream, one, wanted)
        return
    handed = book.ask_block(size, np.array(streams) if what == "blocks" else stream)
    order = range(size) if handed.order is None else handed.order.tolist()
    for place, one, wanted in zip(order, handed.ids.tolist(), handed.wanted.tolist(), strict=True):
        model.hand_out(streams[place], one, wanted)


def tell(book, model, ids, number):
    losses = [(one * 37 % 101) / 100 for one in ids]
    unwanted = [one for one, (_, _, wanted) in model.handed.items() if not wanted][:2]  # dropped unread, whenever
    if number % 2 and ids:
        for one, loss in [*zip(ids, losses, strict=True), *((one, "unread") for one in unwanted)]:
            book.tell_one(one, loss)
    else:
        order = np.random.default_rng(number).permutation(len(ids))
        given = np.array([*np.array(ids, dtype=np.int64)[order], *unwanted], dtype=np.int64)
        book.tell_block(given, np.array([*np.array(losses)[order], *[np.nan] * len(unwanted)]))
    for one, loss in zip(ids, losses, strict=True):
        model.told[one] = book.policy.grid.quantiser()(loss)


def next_id(book):
    """Return an id that is leased here and not handed out; in memory, it may be none at all."""
    found = [lease.first + lease.at for lease in book.store.leases.values() if lease.left]
    return found[0] if found else max(lease.first + lease.size for lease in book.store.leases.values())


def check(book, model):
    assert book.store.waiting(None).tolist() == sorted(one for one in model.handed if model.waits(one))
    assert book.remaining == HORIZON - len(model.handed)
    for stream in range(3):
        found = [one.numbers.tolist() for one in book.store.releases(stream, 0)]
        assert found == [one.tolist() for one in model.released(stream)]
    assert len(set(book.policy.drawn)) == len(book.policy.drawn), "noise was drawn twice"
    leased = any(lease.left for stream in range(3) if (lease := book.store.leases.get(stream)) is not None)
    if model.handed and (isinstance(book.store, MemoryStore) or leased):  # else it would be of a newer state
        with pytest.raises(UnknownAction):
            book.tell_one(next_id(book), 0.5)
    for one in list(model.gone)[:2]:
        with pytest.raises(RoundClosed):
            book.tell_one(one, 0.5)


@contextmanager
def book_in(place, patience=None):
    if place == "memory":
        book = BareBook(MemoryStore(Shape()), Sums(), horizon=HORIZON)
        book.patience = patience
        yield book
    else:
        with opened(place, name=uuid.uuid4().hex, patience=patience) as (book,):
            yield book


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request, tmp_path):
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    return "memory" if request.param == "memory" else f"sqlite:///{tmp_path}/books.db"


@example(history=[("block", 0, 60), ("forget", 0, 0), ("tell all", 0, 1)], patience=None)  # late, after the release
@example(history=[("block", 0, 60), ("ask", 0, 0)], patience=0)
@given(history=calls, patience=st.sampled_from([None, 0, 25, 100]))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_a_random_history_is_as_the_promise_says(place, history, patience):
    with book_in(place, patience) as book:
        play(book, Model(book.policy, patience), history)


def test_what_is_leased_ahead_for_a_stream_leaves_what_others_of_the_call_want(tmp_path, monkeypatch):
    lease_ahead(monkeypatch)
    for left in range(61, 75):
        with book_in(f"sqlite:///{tmp_path}/{left}.db") as book:
            blocks, more = divmod(HORIZON - left, 61)
            play(book, Model(book.policy, None), [("blocks", 0, 60)] * blocks + [("blocks", 1, more - 1)] * (more > 0))
            book.ask_block(61, np.arange(61) % 3)
            assert book.remaining == left - 61
