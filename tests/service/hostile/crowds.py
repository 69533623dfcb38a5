"""Clients that ask, tell and forget through a service, in threads, and say what became of each call."""

import functools
import itertools
import threading
import time
import traceback

import numpy as np
from hostility import PATIENT
from killing import work_on
from players import Account, Handle
from study_tools import losses_of, place

import sottovoce as sv


class Caller(Handle):
    """One who calls a service; now and then it tells again what is on record."""

    def _open(self, **given):
        return sv.connect(self.url, study=self.name, **given)

    def tell(self, ids):
        super().tell(ids)
        if place(ids[0])[1] % 20 == 0:
            assert self.opened.tell(ids, losses_of(ids)).already == len(ids)


class Crowd:
    """Threads that use a study until they are told to stop.

    Every call is noted before it is made and after it was acknowledged, as `players.Account` wants it.
    """

    def __init__(self, served, key):
        self._served, self._key = served, key
        self._over, self._said, self._answered, self._failed = threading.Event(), [], [], []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(6)]

    def __enter__(self):
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for one in self._threads:
            one.join(600)

    def wait_for(self, more, seconds=600):
        """Wait until so many more calls were answered: so what happens next happens among calls."""
        goal, end = len(self._answered) + more, time.monotonic() + seconds
        while len(self._answered) < goal:
            assert time.monotonic() < end, f"no answer for {seconds} seconds, after {len(self._answered)} calls"
            assert not self._failed, self._failed[0]
            time.sleep(0.005)

    def said(self):
        """Return all that was said, once all have stopped: lines as `Account.hear` takes them."""
        assert not self._failed, self._failed[0]
        return self._said

    def _run(self, number):
        given = {"key": self._key, "retries": PATIENT, "timeout": 20.0, "raw_losses": True}
        try:
            goes_on = itertools.takewhile(lambda _: not self._over.is_set(), itertools.count())
            opens = functools.partial(Caller, self._served.base, **given)
            work_on(None, f"crowd {number}", calls=goes_on, forgets=0.05, ends=True, opens=opens)(self._note)
        except BaseException:
            self._failed.append(traceback.format_exc())
            self._over.set()

    def _note(self, kind, ids):
        self._said.append((kind, list(map(str, ids))))
        if kind in ("asked", "told", "forgot"):
            self._answered.append(1)


def check_all(url, said, exact=True):
    """Compare what is stored with what was said: nothing lost, nothing twice, every sum exact. Return the status."""
    handed_out = [one for kind, ids in said if kind == "asked" for one in ids]
    assert len(set(handed_out)) == len(handed_out), "an id was handed out twice"
    history = Account(url, exact)
    history.hear(said)
    waiting = history.recover()
    answered = {one for kind, ids in said if kind in ("told", "forgot") for one in ids}
    assert not answered & set(waiting)
    assert answered == set(handed_out)
    with sv.Study.open(url, name="study", repeat="ignore") as study:
        before = study.status()
        told = [one for kind, ids in said if kind == "told" for one in ids]
        study.tell(np.array(told), losses_of(told))  # all of them once more: they are on record
        status = study.status()
        assert (status.told, status.forgotten, status.asked) == (before.told, before.forgotten, before.asked)
        # What a worker had leased ahead and handed out to nobody counts as forgotten.
        assert len(set(told)) <= status.told <= len(handed_out) <= status.told + status.forgotten
        found = study.verify()
    assert found.ok, str(found)
    return status
