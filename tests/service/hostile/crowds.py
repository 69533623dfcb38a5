"""Clients that ask, tell and forget through a service, in threads, and say what became of each call."""

import random
import threading
import time
import traceback

import numpy as np
from hostility import PATIENT
from players import Account
from study_tools import losses_of

import sottovoce as sv


class Crowd:
    """Threads that use a study until they are told to stop.

    Every call is noted before it is made and after it was acknowledged, as `players.Account` wants it.
    """

    def __init__(self, served, key, *, threads=6, study="study"):
        self._served, self._key, self._study = served, key, study
        self._over, self._said, self._answered, self._failed = threading.Event(), [], [], []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(threads)]

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
        given = {"retries": PATIENT, "timeout": 20.0, "raw_losses": True}
        try:
            with sv.connect(self._served.base, study=self._study, key=self._key, **given) as remote:
                _use(remote, random.Random(f"crowd {number}"), self._note, self._over)
        except BaseException:
            self._failed.append(traceback.format_exc())
            self._over.set()

    def _note(self, kind, ids):
        self._said.append((kind, list(map(str, ids))))
        if kind in ("asked", "told", "forgot"):
            self._answered.append(1)


def _use(remote, rng, note, over):
    waiting = []
    while not over.is_set():
        if len(waiting) < 30 and rng.random() < 0.5:
            size = rng.choice((None, None, None, 1, 5, 17))
            got = remote.ask(size)
            ids = [got.id] if size is None else got.ids.tolist()
            note("asked", ids)
            waiting += ids
            continue
        if not waiting:
            continue
        rng.shuffle(waiting)
        size = rng.choice((1, 1, 1, len(waiting)))
        mine, waiting = waiting[:size], waiting[size:]
        if rng.random() < 0.05:
            note("forgetting", mine)
            remote.forget(mine)
            note("forgot", mine)
            continue
        note("telling", mine)
        _tell(remote, mine, rng)
        note("told", mine)
    while waiting:  # nothing is left behind
        note("telling", waiting)
        remote.tell(waiting, losses_of(waiting))
        note("told", waiting)
        waiting = []


def _tell(remote, mine, rng):
    """Tell one or a block; what is on record already is no failure."""
    losses = losses_of(mine)
    told = remote.tell(mine if len(mine) > 1 else mine[0], losses if len(mine) > 1 else float(losses[0]))
    assert sum(told) == len(mine)
    assert told.dropped == 0
    if rng.random() < 0.05:
        again = remote.tell(mine, losses)
        assert again.already == len(mine)


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
