"""Children that work on a study until they are killed, and a parent that checks what they leave behind."""

import os
import random
import signal
import sys
import threading

import numpy as np
from study_tools import Look, integer_of, losses_of, place, watch
from tallying import tally  # noqa: F401

import sottovoce as sv
from sottovoce._records import unpack
from sottovoce.rounds.stores.sql import _leasing, sqlite

WAYS = ("statement", "commit", "erasure", "line", "time")
_HOME = os.path.dirname(sv.__file__)


def die(*_):
    """End this very moment: no handler, no flush, no rollback."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm(way, after, late):
    """See to it that this process dies: `after` more statements, commits, erasures, lines, or 0.1 milliseconds."""
    left = [after]

    def count(*_):
        left[0] -= 1
        if left[0] < 0:
            die()

    if way in ("statement", "commit"):
        # Some statements commit by themselves.
        wanted = {"statement": ("",), "commit": ("COMMIT", "UPDATE sottovoce_chunks")}[way]
        watch(**{"after" if late else "before": lambda statement: statement.startswith(wanted) and count()})
    elif way == "erasure":
        erase = sqlite.SqliteFile.erase

        def watched_erase(self):
            if not late:
                count()
            done = erase(self)
            if late:
                count()
            return done

        sqlite.SqliteFile.erase = watched_erase
    elif way == "line":
        sys.settrace(_line_counter(count))
    else:
        timer = threading.Timer(after * 1e-4, die)
        timer.daemon = True
        timer.start()


def _line_counter(count):
    def lines(frame, what, _):
        if what == "line":
            count()
        return lines

    def calls(frame, _what, _):
        return lines if frame.f_code.co_filename.startswith(_HOME) else None

    return calls


def work_on(url, seed, left_over=(), calls=14):
    """Return work that asks, tells and forgets random blocks; it says what it is about to do, and what it has done.

    `left_over` are ids whose losses others could not tell any more.
    """

    def work(report):
        waiting = list(left_over)
        rng = random.Random(seed)
        _leasing._OFTEN = rng.choice((0, 8))  # reserves for calls to come from the second one on
        study = sv.Study.open(url, name="study", repeat="ignore")
        for _ in range(calls):
            if not waiting or rng.random() < 0.4:
                ids = study.ask(rng.choice((1, 1, 3, 12, 20))).ids.tolist()
                report("asked", ids)
                waiting += ids
                continue
            rng.shuffle(waiting)
            size = rng.randint(1, len(waiting))
            mine, waiting = waiting[:size], waiting[size:]
            if rng.random() < 0.1:
                report("forgetting", mine)
                study.forget(mine)
                report("forgot", mine)
            else:
                report("telling", mine)
                study.tell(mine, losses_of(mine))
                report("told", mine)
        study.close()

    return work


def outstanding(study):
    """Return the ids of actions that wait for their loss: those that somebody reserved and never saw among them."""
    return study.outstanding().ids.tolist()


class History:
    """All that children have said, and what the storage has held: what comes later must agree with it."""

    def __init__(self, url, exact=True):
        self.url, self.exact = url, exact
        self.asked, self.telling, self.told, self.forgetting, self.forgot = (set() for _ in range(5))  # places
        self.closed, self.counted = {}, {}

    def hear(self, said):
        """Take in what a child has said before its death."""
        for kind, ids in said:
            getattr(self, kind).update(place(one)[1] for one in ids)

    def recover(self):
        """Open the study after a death, check everything, and return the ids of losses that nobody has told yet."""
        self._check_closed(Look(self.url))
        with sv.Study.open(self.url, name="study", repeat="ignore") as study:
            status, point = study.status(), study.point
            self.check(study)
        with sv.Study.open(self.url, name="study", repeat="ignore") as study:
            assert np.array_equal(study.point, point), "the point after recovery is not the same"
            again = study.status()
            waiting = outstanding(study)
        assert (again.told, again.forgotten, again.asked) == (status.told, status.forgotten, status.asked)
        assert len(waiting) == again.outstanding
        return waiting

    def check(self, study):
        """Compare an open study with all that was said."""
        now = Look(self.url)
        self._check_closed(now)
        rounds = {row.number: row for row in now.rounds}
        for one in self.asked:
            mine = [row for row in now.rounds if row.first <= one < row.first + row.reserved]
            assert mine, "an action was handed out that is not on record"
        self.asked = set()
        for number in now.closed.keys() - self.counted.keys():
            record, row = unpack(now.closed[number]), rounds[number]
            missing = {row.first + slot for slot in record["missing"].tolist()}
            told = set(range(row.first, row.first + row.size)) - missing
            self._check_round(row, told, missing)
            self.counted[number] = len(told), len(missing)
            if self.exact and "numbers" in record:
                expected = sum(integer_of(one) for one in told) + 2**17 * len(missing)
                assert int(record["numbers"][0].sum()) == expected, "a released sum is not that of its losses"
        done = {"told": 0, "forgotten": 0}
        for told, missing in self.counted.values():
            done["told"] += told
            done["forgotten"] += missing
        stored = now.told()
        for row in now.rounds:
            if not row.open:
                continue
            mine = {one: value for one, value in stored.items() if row.first <= one < row.first + row.size}
            told = {one for one, value in mine.items() if value is not None}
            assert all(mine[one] == integer_of(one) for one in told)
            self._check_round(row, told, set(mine) - told)
            done["told"] += len(told)
            done["forgotten"] += len(mine) - len(told)
            assert set(mine) <= set(range(row.first, row.first + row.reserved))
        opened = {row.number for row in now.rounds if row.open}
        assert {row.round for row in now.chunks} <= opened, "losses of a closed round are still there"
        assert done == now.counts()

    def _check_round(self, row, told, missing):
        def mine(places):
            return {one for one in places if row.first <= one < row.first + row.size}

        assert mine(self.told) <= told | (missing & self.forgetting), "an acknowledged tell is lost"
        assert told <= self.telling, "a loss is stored that nobody has told"
        assert missing <= self.forgetting, "a loss was forgotten that nobody wanted forgotten"
        assert mine(self.forgot) <= told | missing

    def _check_closed(self, look):
        for number, record in self.closed.items():
            assert look.closed[number] == record, f"round {number} has changed after its release"
        self.closed = look.closed
        assert {row.number for row in look.rounds if not row.open} == set(look.closed)
