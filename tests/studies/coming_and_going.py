"""Handles that come and go in good order while others tell their ids: what they do, and what must be true of it.

A kill gives nothing back; a process that closes in order does, and others may have told what it gives back a part of.
"""

import random

import pytest
from players import KINDS, Account
from study_tools import Look, place

from sottovoce.errors import AlreadyTold, HorizonReached, RoundClosed, UnknownAction


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
        self.model, self.listed = Model(), []
        self.asker = None  # whoever has asked last

    def close(self):
        """Let go."""
        for one in self.handles:
            one.leave()

    def step(self, what, who, number, seed):
        """Let one handle do one thing."""
        getattr(self, f"_{what}")(self.handles[who % len(self.handles)], number, seed)

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
        if waiting:
            self._told(handle, [waiting[-1] if seed % 2 else waiting[number % len(waiting)]])

    def _tell_block(self, handle, number, seed):
        self._told(handle, random.Random(seed).sample(self.model.waiting, min(number, len(self.model.waiting))))

    def _told(self, handle, ids):
        try:
            handle.tell(ids)
        except RoundClosed:
            assert self.model.doubtful.intersection(ids), "a loss was refused that nobody has given up on"
            self.model.gave_up(self.model.doubtful.intersection(ids))
        else:
            self.model.acknowledged(ids)

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
        for one in sorted(self.model.told)[number % (len(self.model.told) or 1) :][:1]:
            with pytest.raises(AlreadyTold):
                handle.tell([one])

    def _forget(self, handle, number, seed):
        ids = self.model.waiting[: number % 5]
        self.model.forgotten += handle.forget(ids)
        self.model.gave_up(ids)

    def _look(self, handle, number, seed):
        """List what waits: what others have in hand is listed as well."""
        found = handle.waiting()
        missing = set(self.model.waiting) - found
        assert missing <= self.model.doubtful, "what was handed out is not listed"
        assert found.isdisjoint(self.model.told | self.model.given_up), "what is on record is listed as outstanding"
        self.listed = sorted(found - set(self.model.waiting))
        self._counted(handle)

    def _counted(self, handle):
        assert handle.counts() in (None, (len(self.model.told), self.model.forgotten))

    def _forget_listed(self, handle, number, seed):
        """Give up on what others had in hand when it was listed: by now it may be given back, or handed out."""
        ids = [one for one in self.listed if one not in self.model.waiting and one not in self.model.told][:number]
        self.model.doubtful.update(ids)
        self.model.forgotten += handle.forget(ids)

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
        found, waiting = last.waiting(), set(self.model.waiting)
        others = found - waiting  # a stretch is not given back if others have given up on a part of it
        assert not others or self.model.doubtful, "what was told, or given back, is outstanding"
        self.model.forgotten += last.forget(sorted(others))
        self.model.gave_up(others)
        assert waiting - found <= self.model.doubtful, "what was handed out is not outstanding"
        self.model.gave_up(waiting - found)
        self._counted(last)
        self._verify(last, 0, 0)
        for one in sorted(self.model.waiting)[::2]:
            self._told(last, [one])
        if self.model.waiting:
            self._told(last, sorted(self.model.waiting))
        last.finish(lambda ids: self.model.asked(ids) or self._told(last, ids))
        self._counted(last)
        self._verify(last, 0, 0)
        account = Account(self.url, name=self.name)
        account.hear([("telling", self.model.told), ("told", self.model.told), ("forgetting", self.model.given_up)])
        account.forgetting |= {place(one)[1] for one in self.model.doubtful}
        account.check()
        assert not any(row.open for row in Look(self.url, self.name).rounds)


STEPS = (
    *("ask", "ask", "ask", "block", "tell", "tell", "tell_block", "ask_and_tell", "ask_and_tell", "relieve", "relieve"),
    *("tell_again", "forget", "look", "forget_listed", "come_back", "come_back", "verify"),
)
