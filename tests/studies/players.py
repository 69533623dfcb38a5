"""Whoever has a book open, of a study, of one with segments or of evaluations; and what came of every loss.

Whoever tells a loss, and however often, it is the same (`study_tools.integer_of`): what is stored and what is released
can be compared with what was said, slot by slot.
"""

import numpy as np
from study_tools import Look, believing, integer_of, losses_of, place, sums

import sottovoce as sv
from sottovoce._records import unpack

NAMES = ("north", "south")


class Handle:
    """One who has a study open; what it is made with is passed by whoever comes first."""

    making = staticmethod(lambda: sums(probe_events=10, patience=None))  # rounds of 40

    def __init__(self, url, name="study", **making):
        self.url, self.name = url, name
        self.opened = self._open(**making)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()

    @classmethod
    def first(cls, url, name="study", making=None, **changes):
        """Make what all others open."""
        return cls(url, name, **(cls.making() if making is None else making) | changes)

    def _open(self, **making):
        return sv.Study.open(self.url, name=self.name, **making)

    def leave(self):
        """Close it, in good order."""
        self.opened.close()

    def come_back(self):
        """Close it, in good order, and open it again."""
        self.leave()
        self.opened = self._open()

    def make_room(self, size):
        """See to it that so many can be asked for."""

    def ask(self, which=0):
        """Return one id."""
        return self.opened.ask().id

    def block(self, size, which=0):
        """Return several ids of one call."""
        return self.opened.ask(size).ids.tolist()

    def rest(self, which=0):
        """Return the ids of the rest of a round."""
        return self.opened.ask_round().ids.tolist()

    def tell(self, ids):
        """Tell the losses of ids: one by itself, or several in one call."""
        losses = losses_of(ids)
        told = self.opened.tell(ids[0], losses[0]) if len(ids) == 1 else self.opened.tell(ids, losses)
        assert told is None or told.recorded + told.already == len(ids)

    def forget(self, ids):
        """Give up on ids; return how many waited."""
        return self.opened.forget(ids)

    def waiting(self):
        """Return the ids that wait, by whomever they were asked."""
        return set(self.opened.outstanding().ids.tolist())

    def counts(self):
        """Return how many losses were told, and how many given up; None where nobody counts them."""
        status = self.opened.status()
        return status.told, status.forgotten

    def stands(self):
        """Return where it stands, as two that open it one after the other must find it."""
        status = self.opened.status()
        assert status.outstanding == len(self.waiting())
        return status.told, status.forgotten, status.asked, status.round, self.believed()

    def believed(self):
        """Return what is played, by what was learned."""
        return self.opened.point.tolist()

    def finish(self, tell):
        """Bring every round to its end, by a function that tells ids."""
        while self.opened.status().open_rounds:
            tell(self.rest())


class SegmentsHandle(Handle):
    """One who has a study with segments open."""

    making = staticmethod(lambda: believing(segments=list(NAMES), patience=None, probes=3, least_events=10))

    def ask(self, which=0):
        return self.opened.ask(segment=NAMES[which % 2]).id

    def block(self, size, which=2):
        """Return several ids: of one segment, or of both."""
        if which < 2:
            return self.opened.ask(size, segment=NAMES[which]).ids.tolist()
        return self.opened.ask(segment=[NAMES[one % 2] for one in range(size)]).ids.tolist()

    def rest(self, which=0):
        return self.opened.ask_round(segment=NAMES[which % 2]).ids.tolist()

    def believed(self):
        return [np.asarray(self.opened.recommend(segment=name).x).tolist() for name in NAMES]

    def finish(self, tell):
        while self.opened.status().open_rounds:
            for which in range(2):
                tell(self.rest(which))


class EvaluationsHandle(Handle):
    """One who has stored evaluations open."""

    making = staticmethod(lambda: {"loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "patience": None, "seed": 3})

    @classmethod
    def first(cls, url, name="study", events=(400, 250, 40), **changes):
        """Make them, and begin some."""
        handle = super().first(url, name, **changes)
        for size in events:
            handle.opened.open(events=size)
        return handle

    def _open(self, **making):
        return sv.PrivateEvaluations(storage=self.url, name=self.name, **making)

    def make_room(self, size):
        if sum(one.remaining for one in self.opened.open_evaluations) < size:
            self.opened.open(events=5 + size)

    def ask(self, which=0):
        """Return one id, by coins."""
        return str(self.opened.assign().id)

    def block(self, size, which=2):
        """Return several ids: by coins, or of one evaluation."""
        if which == 2:
            return [str(one.id) for one in self.opened.assign(size=size)]
        return self.opened.evaluation(which).assign(size=size).tolist()

    def rest(self, which=0):
        """Return the ids of all places of a new evaluation."""
        return self.opened.open(events=5).assign(size=5).tolist()

    def waiting(self):
        return {one for each in self.opened.open_evaluations for one in each.outstanding.tolist()}

    def counts(self):
        return None

    def stands(self):
        opened = [(one.number, one.assigned, one.remaining) for one in self.opened.open_evaluations]
        return opened, [(one.number, one.events, one.total) for one in self.opened.results]

    def finish(self, tell):
        for one in self.opened.open_evaluations:
            one.close() if one.assigned else one.abandon()


KINDS = {"a study": Handle, "segments": SegmentsHandle, "evaluations": EvaluationsHandle}


class Account:
    """All that was said of losses, and what the storage has held: what comes later must agree with it."""

    def __init__(self, url, exact=True, name="study", kind="a study"):
        self.url, self.exact, self.name, self.kind = url, exact, name, kind
        self.asked, self.telling, self.told, self.forgetting, self.forgot = (set() for _ in range(5))  # places
        self.closed, self.counted, self.handed = {}, {}, set()

    def hear(self, said):
        """Take in what somebody has said: that it asked, is about to tell, has told, is forgetting, or forgot ids."""
        for kind, ids in said:
            getattr(self, kind).update(place(one)[1] for one in ids)
        self.handed |= self.asked | self.telling

    def recover(self):
        """Open it after a death, check everything, and return the ids of losses that nobody has told yet."""
        self._check_closed(Look(self.url, self.name))
        found = []
        for _ in range(2):
            with KINDS[self.kind](self.url, self.name, repeat="ignore") as handle:
                found.append(handle.stands())
                self.check()
                waiting = sorted(handle.waiting())
        assert found[0] == found[1], "after recovery it is not the same whenever one looks"
        return waiting

    def check(self, study=None):
        """Compare what is stored and released with all that was said."""
        now = Look(self.url, self.name)
        self._check_closed(now)
        rounds = {(row.stream, row.number): row for row in now.rounds}
        for one in self.asked:
            mine = [row for row in now.rounds if row.first <= one < row.first + row.reserved]
            assert mine, "an action was handed out that is not on record"
        self.asked = set()
        for key in now.closed.keys() - self.counted.keys():
            self._count(key, rounds[key], unpack(now.closed[key]))
        done = [sum(count) for count in zip((0, 0), *self.counted.values(), strict=False)]
        stored = now.told()
        for row in now.rounds:
            if row.open:
                mine = {one: value for one, value in stored.items() if row.first <= one < row.first + row.size}
                told = {one for one, value in mine.items() if value is not None}
                assert all(mine[one] == integer_of(one) for one in told)
                self._check_round(row, told, set(mine) - told)
                done = [done[0] + len(told), done[1] + len(mine) - len(told)]
                assert set(mine) <= set(range(row.first, row.first + row.reserved))
        opened = {key for key, row in rounds.items() if row.open}
        assert {(row.stream, row.round) for row in now.chunks} <= opened, "losses of a closed round are still there"
        assert done == list(now.counts().values())

    def _count(self, key, row, record):
        missing, unwanted = ({row.first + slot for slot in record[name].tolist()} for name in ("missing", "unwanted"))
        told = set(range(row.first, row.first + row.size)) - missing - unwanted
        self._check_round(row, told, missing)
        self.counted[key] = len(told), len(missing)
        if self.exact and "numbers" in record:
            numbers = record["numbers"]
            expected = sum(integer_of(one) for one in told) + 2**17 * len(missing)
            released = int(numbers[0].sum() if numbers.ndim > 1 else numbers[1])
            assert released == expected, "a released sum is not that of its losses"

    def _check_round(self, row, told, missing):
        def mine(places):
            return {one for one in places if row.first <= one < row.first + row.size}

        assert mine(self.told) <= told | (missing & self.forgetting), "an acknowledged tell is lost"
        assert told <= self.telling, "a loss is stored that nobody has told"
        # What a process gives back, and nobody can get any more, is closed as well.
        assert missing & self.handed <= self.forgetting, "a loss was forgotten that nobody wanted forgotten"
        assert mine(self.forgot) <= told | missing

    def _check_closed(self, look):
        for key, record in self.closed.items():
            assert look.closed[key] == record, f"round {key} has changed after its release"
        self.closed = look.closed
        assert {(row.stream, row.number) for row in look.rounds if not row.open} == set(look.closed)
