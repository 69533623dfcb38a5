"""Clients that ask, tell and forget through a service, in processes and threads, and say what became of each call."""

import json
import multiprocessing
import os
import random
import threading
import time
import traceback

import numpy as np
from hostility import PATIENT
from killing import History
from study_tools import losses_of

import sottovoce as sv

_FORK = multiprocessing.get_context("fork")  # what is imported and compiled is there at once


class Crowd:
    """Processes of threads that use a study until they are told to stop; `done` counts their calls as they go.

    Every call is noted before it is made and after it was acknowledged, as `killing.History` wants it.
    """

    def __init__(self, served, key, folder, *, processes=2, threads=3, study="study", seed="crowd"):
        self._folder, self._processes = folder, processes
        self._over, self._counts = _FORK.Event(), [_FORK.Value("q", 0) for _ in range(processes)]
        self._children = [
            _FORK.Process(target=self._run, args=(served.base, key, study, number, threads, f"{seed} {number}"))
            for number in range(processes)
        ]

    def __enter__(self):
        for one in self._children:
            one.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for one in self._children:
            one.join(600)
            if one.is_alive():
                one.kill()
                one.join()

    @property
    def done(self):
        return sum(count.value for count in self._counts)

    def wait_for(self, more, seconds=600):
        """Wait until so many more calls were answered: so what happens next happens among calls."""
        goal, end = self.done + more, time.monotonic() + seconds
        while self.done < goal:
            assert time.monotonic() < end, f"no answer for {seconds} seconds, after {self.done} calls"
            if not any(one.is_alive() for one in self._children):
                raise AssertionError(f"all have ended: {self.said()[-1:]}")
            time.sleep(0.005)

    def said(self):
        """Return all that was said, once all have stopped: lines as `History.hear` takes them."""
        found = []
        for number in range(self._processes):
            with open(self._folder / f"said{number}.json") as file:
                found += json.load(file)
        failed = [what for kind, what in found if kind == "failed"]
        assert not failed, failed[0]
        return found

    # ------------------------------------------------------------------ in the children

    def _run(self, base, key, study, number, threads, seed):
        said = []

        def work(which):
            try:
                with sv.connect(base, study=study, key=key, retries=PATIENT, timeout=20.0, raw_losses=True) as remote:
                    _use(remote, random.Random(f"{seed} {which}"), note, self._over)
            except BaseException:
                said.append(("failed", traceback.format_exc()))
                self._over.set()

        def note(kind, ids):
            said.append((kind, list(map(str, ids))))
            if kind in ("asked", "told", "forgot"):
                with self._counts[number].get_lock():
                    self._counts[number].value += 1

        running = [threading.Thread(target=work, args=(which,)) for which in range(threads)]
        for one in running:
            one.start()
        for one in running:
            one.join()
        with open(self._folder / f"said{number}.json", "w") as file:
            json.dump(said, file)
        os._exit(0)


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
    history = History(url, exact)
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
        assert status.told + status.forgotten == len(handed_out)
        found = study.verify()
    assert found.ok, str(found)
    return status
