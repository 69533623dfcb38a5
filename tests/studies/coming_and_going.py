"""Handles that come and go in good order while others tell their ids: what they do, and what must be true of it.

A kill gives nothing back; a process that closes in order does, and others may have told what it gives back a part of.
Everything here goes through the public interface, and nothing looks into an id.
"""

import random
import zlib
from collections import Counter

from study_tools import believing, sums

import sottovoce as sv
from sottovoce.errors import AlreadyTold, HorizonReached, RoundClosed, UnknownAction

GRID = 2**18
MIDDLE = GRID // 2
NAMES = ("north", "south")


def integer_of(one):
    """Return the integer of the loss of whoever has an id."""
    return zlib.crc32(str(one).encode()) % GRID


def losses_of(ids):
    """Return losses on their grid, by ids."""
    return [integer_of(one) / GRID for one in ids]


class Handle:
    """One who has a study open.

    Parameters
    ----------
    url, name
        Of what is opened.
    """

    making = staticmethod(lambda: sums(probe_events=10, patience=None))  # rounds of 40

    def __init__(self, url, name, **making):
        self.url, self.name = url, name
        self.opened = self._open(**making)

    @classmethod
    def first(cls, url, name, many=False):
        """Make what all others open, for `many` events or not."""
        making = cls.making()
        if many and "horizon" in making:
            making["horizon"] = 10**7
        return cls(url, name, **making)

    def _open(self, **making):
        return sv.Study.open(self.url, name=self.name, **making)

    def leave(self):
        """Close it, in good order."""
        self.opened.close()

    def come_back(self):
        """Close it, in good order, and open it again."""
        self.leave()
        self.opened = self._open()

    def ask(self, which):
        """Return one id."""
        return self.opened.ask().id

    def block(self, size, which):
        """Return several ids of one call."""
        return self.opened.ask(size).ids.tolist()

    def tell(self, ids):
        """Tell the losses of ids: one by itself, or several in one call."""
        losses = losses_of(ids)
        if len(ids) == 1:
            self.opened.tell(ids[0], losses[0])
        else:
            self.opened.tell(ids, losses)

    def forget(self, ids):
        """Give up on ids; return how many waited."""
        return self.opened.forget(ids)

    def outstanding(self):
        """Return the ids that wait, by whomever they were asked."""
        return set(self.opened.outstanding().ids.tolist())

    def check_counts(self, model):
        """Compare what is counted."""
        status = self.opened.status()
        assert (status.told, status.forgotten) == (len(model.told), model.forgotten)

    def finish(self, model):
        """Bring every round to its end, and compare what was released."""
        while self.opened.status().open_rounds:
            for ids in self._rests():
                model.asked(ids)
                self.tell(ids)
                model.acknowledged(ids)
        self.check_counts(model)
        closed = self.opened.export()["rounds"]
        assert sum(one["size"] for one in closed) == len(model.told) + model.forgotten
        released = sum(sum(one["released"]) for one in closed)
        assert released == sum(map(integer_of, model.told)) + MIDDLE * model.forgotten, "a loss is not in its sum, once"

    def _rests(self):
        yield self.opened.ask_round().ids.tolist()


class SegmentsHandle(Handle):
    """One who has a study with segments open."""

    making = staticmethod(lambda: believing(segments=list(NAMES), patience=None, probes=3, least_events=10))

    def ask(self, which):
        """Return one id."""
        return self.opened.ask(segment=NAMES[which % 2]).id

    def block(self, size, which):
        """Return several ids: of one segment, or of both."""
        if which < 2:
            return self.opened.ask(size, segment=NAMES[which]).ids.tolist()
        return self.opened.ask(segment=[NAMES[one % 2] for one in range(size)]).ids.tolist()

    def _rests(self):
        for name in NAMES:
            yield self.opened.ask_round(segment=name).ids.tolist()


class EvaluationsHandle(Handle):
    """One who has stored evaluations open."""

    making = staticmethod(lambda: {"loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "patience": None, "seed": 3})

    @classmethod
    def first(cls, url, name, many=False):
        """Make them, and begin three."""
        handle = super().first(url, name)
        for events in (100_000, 100_000, 100_000) if many else (400, 250, 40):
            handle.opened.open(events=events)
        return handle

    def _open(self, **making):
        return sv.PrivateEvaluations(storage=self.url, name=self.name, **making)

    def ask(self, which):
        """Return one id, by coins."""
        return str(self.opened.assign().id)

    def block(self, size, which):
        """Return several ids: by coins, or of one evaluation."""
        if which == 2:
            return [str(person) for _, person in self.opened.assign(size=size)]
        return self.opened.evaluation(which).assign(size=size).tolist()

    def tell(self, ids):
        """Tell the losses of ids."""
        losses = losses_of(ids)
        told = self.opened.tell(ids[0], losses[0]) if len(ids) == 1 else self.opened.tell(ids, losses)
        assert told.recorded == len(ids)

    def outstanding(self):
        """Return the ids that wait, by whomever they were assigned."""
        return {one for each in self.opened.open_evaluations for one in each.outstanding.tolist()}

    def check_counts(self, model):
        """Nothing counts them but `verify`."""

    def finish(self, model):
        """Close every evaluation, and compare what was released."""
        for one in self.opened.open_evaluations:
            if one.assigned:
                waiting = set(one.outstanding.tolist())
                one.close()
                model.forgotten += len(waiting)
                model.waiting = [person for person in model.waiting if person not in waiting]
        results = self.opened.results
        assert sum(one.events for one in results) == len(model.told) + model.forgotten
        total = sum(map(integer_of, model.told)) + MIDDLE * model.forgotten
        assert sum(one.total for one in results) == total, "a loss is not in its sum, once"
        assert abs(sum(one.mean * one.events for one in results) - total / GRID) < 1e-6


KINDS = {"a study": Handle, "segments": SegmentsHandle, "evaluations": EvaluationsHandle}


class Model:
    """What must be true by what was acknowledged."""

    def __init__(self):
        self.waiting = []  # handed out, and neither told nor given up; the newest last
        self.told, self.given_up = set(), set()
        self.doubtful = set()  # given up while others may have had them in hand: when handed out they may be too late
        self.forgotten = 0  # losses that calls of `forget` said that they have given up

    def asked(self, ids):
        """Ids were handed out."""
        known = self.told.union(self.given_up, self.waiting)
        assert known.isdisjoint(ids), "an id was handed out twice"
        assert len(set(ids)) == len(ids)
        self.waiting += ids

    def acknowledged(self, ids):
        """A call of tell has returned."""
        gone = set(ids)
        assert self.told.isdisjoint(gone), "a second tell was accepted"
        self.told |= gone
        self.waiting = [one for one in self.waiting if one not in gone]

    def gave_up(self, ids):
        """Ids will be told no more."""
        self.given_up.update(ids)
        self.waiting = [one for one in self.waiting if one not in self.given_up]


class Company:
    """Handles on one study, and the model of what they do.

    Parameters
    ----------
    kind
        A name in `KINDS`.
    url, name
        Of what they have open.
    size
        How many handles there are; none, if others have made what is opened in the end.
    """

    def __init__(self, kind, url, name, size=3):
        self.make, self.url, self.name = KINDS[kind], url, name
        self.handles = [self.make.first(url, name)] if size else []
        self.handles += [self.make(url, name) for _ in range(size - 1)]
        self.model, self.listed, self.done = Model(), [], Counter()
        self.asker = None  # whoever has asked last

    def close(self):
        """Let go."""
        for one in self.handles:
            one.leave()

    def step(self, what, who, number, seed):
        """Let one handle do one thing."""
        if getattr(self, f"_{what}")(self.handles[who % len(self.handles)], number, seed) is not False:
            self.done[what] += 1

    # ------------------------------------------------------------------ steps

    def _ask(self, handle, number, seed):
        """Ask one by one, which reserves ahead."""
        self.asker = handle
        for _ in range(number):
            try:
                self.model.asked([handle.ask(seed % 3)])
            except HorizonReached:  # no evaluation has a place left, or those left are in others' hands
                return

    def _block(self, handle, number, seed):
        try:
            self.model.asked(handle.block(number, seed % 3))
        except (HorizonReached, UnknownAction):
            return

    def _tell(self, handle, number, seed):
        """Tell one: the newest, or any."""
        waiting = self.model.waiting
        if not waiting:
            return False
        return self._told(handle, [waiting[-1] if seed % 2 else waiting[number % len(waiting)]])

    def _tell_block(self, handle, number, seed):
        return self._told(handle, random.Random(seed).sample(self.model.waiting, min(number, len(self.model.waiting))))

    def _told(self, handle, ids):
        if not ids:
            return False
        try:
            handle.tell(ids)
        except RoundClosed:
            assert self.model.doubtful.intersection(ids), "a loss was refused that nobody has given up on"
            self.model.gave_up(self.model.doubtful.intersection(ids))
            return False
        self.model.acknowledged(ids)
        return True

    def _ask_and_tell(self, handle, number, seed):
        """As a process does that serves one person after the other."""
        for _ in range(number % 4 + 1):
            self._ask(handle, 1, seed)
            self._tell(handle, 0, 1)

    def _relieve(self, handle, number, seed):
        """Tell the newest id of somebody who then goes, and comes back; and go on in that one's place."""
        self._tell(handle, 0, 1)
        if self.asker not in (None, handle):
            self.asker.come_back()
        self._ask_and_tell(handle, number, seed)

    def _tell_again(self, handle, number, seed):
        """What is on record is refused, whoever tells it."""
        if not self.model.told:
            return False
        one = sorted(self.model.told)[number % len(self.model.told)]
        try:
            handle.tell([one])
        except AlreadyTold:
            return True
        raise AssertionError("a second tell was accepted")

    def _forget(self, handle, number, seed):
        ids = self.model.waiting[: number % 5]
        if not ids:
            return False
        self.model.forgotten += handle.forget(ids)
        self.model.gave_up(ids)
        return True

    def _look(self, handle, number, seed):
        """List what waits: what others have in hand is listed as well."""
        found = handle.outstanding()
        missing = set(self.model.waiting) - found
        assert missing <= self.model.doubtful, "what was handed out is not listed"
        assert found.isdisjoint(self.model.told | self.model.given_up), "what is on record is listed as outstanding"
        self.listed = sorted(found - set(self.model.waiting))
        handle.check_counts(self.model)

    def _forget_listed(self, handle, number, seed):
        """Give up on what others had in hand when it was listed: by now it may be given back, or handed out."""
        ids = [one for one in self.listed if one not in self.model.waiting and one not in self.model.told][:number]
        if not ids:
            return False
        self.model.doubtful.update(ids)
        self.model.forgotten += handle.forget(ids)
        return True

    def _come_back(self, handle, number, seed):
        """Close in good order, and open again."""
        handle.come_back()

    def _verify(self, handle, number, seed):
        found = handle.opened.verify()
        assert found.ok, str(found)

    # ------------------------------------------------------------------ the end

    def conclude(self):
        """Close all handles; whoever opens it next finds what was acknowledged, and nothing else."""
        self.close()
        last = self.make(self.url, self.name)
        self.handles = [last]
        found, waiting = last.outstanding(), set(self.model.waiting)
        others = found - waiting  # a stretch is not given back if others have given up on a part of it
        assert not others or self.model.doubtful, "what was told, or given back, is outstanding"
        if others:
            self.model.forgotten += last.forget(sorted(others))
            self.model.gave_up(others)
        assert waiting - found <= self.model.doubtful, "what was handed out is not outstanding"
        self.model.gave_up(waiting - found)
        last.check_counts(self.model)
        self._verify(last, 0, 0)
        for one in sorted(self.model.waiting)[::2]:
            last.tell([one])
            self.model.acknowledged([one])
        rest = sorted(self.model.waiting)
        if rest:
            last.tell(rest)
            self.model.acknowledged(rest)
        last.finish(self.model)
        self._verify(last, 0, 0)


STEPS = (
    *("ask", "ask", "ask", "block", "tell", "tell", "tell_block", "ask_and_tell", "ask_and_tell", "relieve", "relieve"),
    *("tell_again", "forget", "look", "forget_listed", "come_back", "come_back", "verify"),
)
