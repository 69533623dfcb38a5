"""Children that work on a study until they are killed, and a parent that checks what they leave behind."""

import json
import os
import random
import signal
import sys
import threading
import traceback

import numpy as np
from sqlalchemy import event
from study_tools import Look, integer_of, losses_of, place, watch

import sottovoce as sv
from sottovoce._records import unpack
from sottovoce.studies.calls import asking
from sottovoce.studies.database import storage, tables
from sottovoce.studies.database.cells import marks

WAYS = ("statement", "commit", "erasure", "line", "time")
_HOME = os.path.dirname(os.path.dirname(storage.__file__))


def tally(kind, backend, outcome, count=1):
    """Note what became of a kill (or of another blow), for the summary at the end of a soak; see `tallied`.

    `kind` says what was done ("killed at a statement"), `backend` is "sqlite" or "postgresql" (a URL will do),
    `outcome` what was found afterwards. It becomes a line of the file that SOTTOVOCE_TALLY names; nothing without that
    variable. Lines are appended in one write each, so that any number of processes may count at once.
    """
    path = os.environ.get("SOTTOVOCE_TALLY")
    if path:
        line = json.dumps([kind, str(backend).partition(":")[0].partition("+")[0], outcome, count]) + "\n"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def tallied(path):
    """Return the lines of a table, in Markdown, of all that was noted in a file."""
    counts, outcomes = {}, {}
    with open(path) as lines:
        for kind, backend, outcome, count in map(json.loads, lines):
            mine = counts.setdefault((kind, backend), {})
            mine[outcome] = mine.get(outcome, 0) + count
            outcomes[outcome] = outcomes.get(outcome, 0) + count
    rows = ["| kind | storage | times | outcomes |", "|---|---|---|---|"]
    for (kind, backend), mine in sorted(counts.items()):
        words = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(mine.items()))
        rows.append(f"| {kind} | {backend} | {sum(mine.values()):,} | {words} |")
    words = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    return [*rows, f"| all | | {sum(outcomes.values()):,} | {words} |"]


class Child:
    """A forked process: it runs `work(report)`, and what it reports is read once it is gone."""

    def __init__(self, work):
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            status = 1
            try:
                os.close(reading)
                work(lambda *message: os.write(writing, (json.dumps(message) + "\n").encode()))
                status = 0
            except BaseException:
                os.write(writing, (json.dumps(["failed", traceback.format_exc()]) + "\n").encode())
            finally:
                os._exit(status)
        os.close(writing)
        self._reading = reading

    def stops(self):
        """Wait until it has stopped, or is gone; return whether it has stopped."""
        found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return found.si_code == os.CLD_STOPPED

    def finish(self):
        """Return (what was reported, whether it was killed)."""
        with os.fdopen(self._reading, "rb") as pipe:
            said = [json.loads(line) for line in pipe.read().splitlines()]
        _, status = os.waitpid(self.pid, 0)
        failures = [what for kind, what in said if kind == "failed"]
        assert not failures, failures[0]
        return said, os.WIFSIGNALED(status)


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
        make = storage.create_engine

        def watched(*positional, **named):
            engine = make(*positional, **named)
            if way == "statement":
                event.listen(engine, "after_cursor_execute" if late else "before_cursor_execute", count)
            elif late:
                _after_commit(engine, count)
            else:
                event.listen(engine, "commit", count)
            return engine

        storage.create_engine = watched
        wanted = {"statement": ("",), "commit": ("COMMIT", "UPDATE sottovoce_cells")}[way]  # on a server it is one
        watch(**{"after" if late else "before": lambda statement: statement.startswith(wanted) and count()})
    elif way == "erasure":
        erase = storage.Storage.erase

        def watched_erase(self):
            if not late:
                count()
            done = erase(self)
            if late:
                count()
            return done

        storage.Storage.erase = watched_erase
    elif way == "line":
        sys.settrace(_line_counter(count))
    else:
        timer = threading.Timer(after * 1e-4, die)
        timer.daemon = True
        timer.start()


def _after_commit(engine, count):
    commit = engine.dialect.do_commit

    def committed(connection):
        commit(connection)
        count()

    engine.dialect.do_commit = committed


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
        asking._OFTEN = rng.choice((0, 8))  # reserves for calls to come from the second one on
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
        self.asked = set()
        self.telling, self.told, self.forgetting, self.forgot = ({} for _ in range(4))  # slots, by round
        self.closed, self.counted = {}, {}

    def hear(self, said):
        """Take in what a child has said before its death."""
        kinds = {"telling": self.telling, "told": self.told, "forgetting": self.forgetting, "forgot": self.forgot}
        for kind, ids in said:
            if kind == "asked":
                self.asked.update(place(one)[1:] for one in ids)
            elif kind in kinds:
                for _, number, slot in map(place, ids):
                    kinds[kind].setdefault(number, set()).add(slot)

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
        public = {row.number: unpack(row.public) for row in now.rounds if row.number not in self.counted}
        for number, slot in self.asked:
            on_record = number in self.counted or public[number]["first"] + slot < now.head.asked
            assert on_record, "an action was handed out that is not on record"
        self.asked = set()
        stored = now.told()
        for number in now.closed.keys() - self.counted.keys():
            record, size = unpack(now.closed[number]), public[number]["size"]
            missing = set(record["missing"].tolist())
            told = {slot for slot in range(size) if slot not in missing}
            self._check_round(number, told, missing)
            self.counted[number] = len(told), len(missing)
            if self.exact and "numbers" in record:
                expected = sum(integer_of(number, slot) for slot in told) + 2**17 * len(missing)
                assert int(record["numbers"].sum()) == expected, "a released sum is not that of its losses"
        done = {"told": 0, "forgotten": 0}
        for told, missing in self.counted.values():
            done["told"] += told
            done["forgotten"] += missing
        opened = [number for number in public if number not in now.closed]
        for number in opened:
            mine = {slot: value for (where, slot), value in stored.items() if where == number}
            told = {slot for slot, value in mine.items() if value is not None}
            assert all(mine[slot] == integer_of(number, slot) for slot in told)
            self._check_round(number, told, set(mine) - told)
            done["told"] += len(told)
            done["forgotten"] += len(mine) - len(told)
            cells = [row for row in now.cells if row.round == number]
            waiting = {
                slot for row in cells for slot in (row.first + np.flatnonzero(~marks(row.closed, row.size))).tolist()
            }
            reserved = {slot for row in cells for slot in range(row.first, row.first + row.size)}
            assert reserved == set(range(min(public[number]["opened"], now.head.asked - public[number]["first"])))
            assert waiting == reserved - set(mine)
        assert {number for number, _ in stored} <= set(opened), "losses of a closed round are still there"
        assert done == now.counts()

    def _check_round(self, number, told, missing):
        def mine(events):
            return events.get(number, set())

        assert mine(self.told) <= told | (missing & mine(self.forgetting)), "an acknowledged tell is lost"
        assert told <= mine(self.telling), "a loss is stored that nobody has told"
        assert missing <= mine(self.forgetting), "a loss was forgotten that nobody wanted forgotten"
        assert mine(self.forgot) <= told | missing

    def _check_closed(self, look):
        for number, record in self.closed.items():
            assert look.closed[number] == record, f"round {number} has changed after its release"
        self.closed = look.closed
        assert len(look.rounds) == len({row.number for row in look.rounds})
        assert all(row.state in (tables.OPEN, tables.RELEASED, tables.UNRELEASED) for row in look.rounds)
