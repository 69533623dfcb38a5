"""Cut a call on a storage short at any line, look from another process, go on, and check what came of every loss.

An exception is kept until all of that is done, with its traceback, as shells and notebooks keep it: so nothing is let
go of because something was collected.
"""

import contextlib
import dis
import functools
import importlib.util
import itertools
import signal
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
from study_tools import Look, place

import sottovoce as sv

OWN = str(Path(sv.__file__).parent)
DRIVERS = tuple(str(Path(importlib.util.find_spec(name).origin).parent) for name in ("psycopg", "sqlite3"))
DATABASE = str(Path(OWN, "rounds", "stores", "sql"))
GLUE = (contextlib.__file__, threading.__file__)
PLACES = (OWN, *DRIVERS, *GLUE)
PATIENT = 600.0  # seconds after which a call that does not return is stuck


def loss_of(one):
    """Return the loss of an id, on the grid: whoever tells it, it is the same, and hardly any other has it."""
    return zlib.crc32(str(one).encode()) % 2**18 / 2**18


class Tracer:
    """Notes the lines that a call executes in the package and in what it uses; raises before one of them.

    Parameters
    ----------
    stop
        (file, line, which): the `which`-th time that this line is executed, counted from 0; None for no line.
    """

    def __init__(self, stop=None, error=KeyboardInterrupt):
        self.lines, self.reached = [], False
        self._stop, self._left, self._error = (None, 0, error) if stop is None else (stop[:2], stop[2], error)
        self._wanted = {}

    def __enter__(self):
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def _enter(self, frame, event, argument):
        name = frame.f_code.co_filename
        if name not in self._wanted:
            self._wanted[name] = name.startswith(PLACES) if self._stop is None else name == self._stop[0]
        return self._line if self._wanted[name] else None

    def _line(self, frame, event, argument):
        if event == "line" and frame.f_lasti not in _ends_of_blocks(frame.f_code):
            where = frame.f_code.co_filename, frame.f_lineno
            if self._stop is None:
                self.lines.append(where)
            elif where == self._stop:
                self._left -= 1
                if self._left < 0:
                    sys.settrace(None)
                    self.reached = True
                    raise self._error
        return self._line


@functools.cache
def _ends_of_blocks(code):
    """Where a `with` is left: a line of its own to tracers, though Python handles no signal between it and the block.

    Nothing could be made safe against an exception there, a plain lock least of all. What a context does at its end is
    made of other lines.
    """
    found = list(dis.get_instructions(code))
    ends = {one.offset for one, after in itertools.pairwise(found) if after.opname == "WITH_EXCEPT_START"}
    for before, one, two, three, call in zip([None, *found], found, found[1:], found[2:], found[3:], strict=False):
        nothing = all(each.opname == "LOAD_CONST" and each.argval is None for each in (one, two, three))
        if nothing and call.opname in ("PRECALL", "CALL"):
            ends.add(one.offset)
            if before is not None and before.opname == "SWAP":  # a value is returned from within the block
                ends.add(before.offset)
    return ends


def places_in(lines):
    """Return (file, line, which) for every line of a call, in order."""
    seen = {}
    found = []
    for where in lines:
        seen[where] = seen.get(where, -1) + 1
        found.append((*where, seen[where]))
    return found


def chosen(places, most=None, offset=0, near=(DATABASE,)):
    """Return the places to try: all lines, each the first, the second and the last time that it is executed.

    A line of what glues all others together (the beginning and the end of a context) is another one each time. With
    `most`, so many of them: half from all, spread evenly from `offset` on, and half from these and what is `near`.
    """
    last = {(file, line): which for file, line, which in places}
    kept = [one for one in places if one[0] in GLUE or one[2] in (0, 1, last[one[:2]])]
    if most is None:
        return kept
    close = [one for one in kept if one[0] in GLUE or one[0].startswith(tuple(near))]
    return _spread(kept, most // 2, offset) + _spread(close, most - most // 2, offset)


def _spread(places, most, offset):
    step = max(1, len(places) // most)
    return places[offset % step :: step][:most]


def in_words(place):
    """Return where a call was cut short."""
    file, line, which = place
    return f"{'/'.join(Path(file).parts[-3:])}:{line} ({which})"


def attempt(call, place, error=KeyboardInterrupt):
    """Carry out a call, cut short at a place; return the exception, with its traceback, or None if it came through.

    In a thread of its own: what is raised at the end of an `except` stays with its thread for good, as the context of
    all that is raised there later, and keeps what its traceback holds.
    """
    return elsewhere(functools.partial(_attempt, call, place, error))


def _attempt(call, place, error):
    tracer = Tracer(place, error)
    try:
        with tracer:
            call()
    except error as problem:
        return problem
    except RuntimeError as problem:  # a condition that was left at once: Python's own, which lets go of it twice
        if place[0] != threading.__file__ or not isinstance(problem.__context__, error):
            raise
        return problem
    finally:
        sys.settrace(None)
    # Python itself drops what is raised while it collects something; drivers have code for that.
    assert not tracer.reached or place[0].startswith(DRIVERS), f"an interrupt at {in_words(place)} was swallowed"
    return None


def signalled(call, onlooker, seconds):
    """Carry out a call while another process sends SIGINT; return the exception, or None if it came through."""
    came = []

    def handler(number, frame):
        came.append(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    kept = None
    try:
        try:
            onlooker.say("signal", seconds)
            call()
            while not came:
                time.sleep(0.001)
        except KeyboardInterrupt as problem:
            kept = problem
        while not came:  # a call that swallows it would be noticed here
            time.sleep(0.001)
        onlooker.answer()
    finally:
        signal.signal(signal.SIGINT, before)
    return kept


def elsewhere(do):
    """Do something in another thread, for which a lock that others have left held is in the way; return its value."""
    found = []

    def work():
        try:
            found.append((do(), None))
        except BaseException as problem:
            found.append((None, problem))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENT)
    assert found, "a lock of this process is held: another thread is stuck"
    value, problem = found[0]
    if problem is not None:
        raise problem
    return value


# ---------------------------------------------------------------------- subjects


class Player:
    """Plays on a storage by the public interface, and keeps books of its own: what was told, what was given up."""

    files = ()

    def __init__(self, url, name):
        self.url, self.name = url, name
        self.told, self.forgotten = {}, set()
        self.handed_out = set()
        self.unsure = None  # ids of a call that was cut short, and whether it tells them
        self.open()

    def tell(self, ids):
        """Tell the losses of ids."""
        self.unsure = list(ids), True
        self._tell(ids)
        self.note()

    def forget(self, ids):
        """Give ids up."""
        self.unsure = list(ids), False
        self._forget(ids)
        self.note()

    def note(self):
        """Note that the last call is acknowledged."""
        ids, tells = self.unsure
        self.unsure = None
        if tells:
            self.told.update((str(one), loss_of(one)) for one in ids)
        else:
            self.forgotten.update(map(str, ids))

    def fresh(self, ids):
        """Note ids that were handed out; nobody else has them."""
        assert not self.handed_out & set(ids), "an id was handed out twice"
        self.handed_out.update(ids)
        return ids

    def settle(self):
        """Find out what came of a call that was cut short: all of it is on record, or nothing."""
        if self.unsure is None:
            return
        ids, waiting = set(map(str, self.unsure[0])), self.waiting()
        missing = ids & waiting
        assert not missing or missing == ids, "half of a call is on record"
        if missing:
            self.unsure = None
        else:
            self.note()

    def by_round(self):
        """Return the losses of each round, by stream and number, as they must have been released."""
        losses = {**self.told, **dict.fromkeys(self.forgotten, 0.5)}
        by_place = {place(one)[1]: loss for one, loss in losses.items()}
        return {
            (row.stream, row.number): [
                by_place[one] for one in range(row.first, row.first + row.size) if one in by_place
            ]
            for row in Look(self.url, self.name).rounds
        }

    def go_on(self):
        """Go on with the same handle, in the plainest way: nothing acknowledged is waited for, and the rest is told."""
        self.settle()
        self.ask_again()
        waiting = self.waiting()
        assert not waiting & self.told.keys(), "an acknowledged loss is lost"
        assert not waiting & self.forgotten, "what was given up is waited for"
        if waiting:
            self.tell(sorted(waiting))


class StudyPlayer(Player):
    """A study; rounds of twelve events, of which all losses are added up without noise."""

    segments = None

    def __init__(self, url, name, options):
        self.options = options
        super().__init__(url, name)

    def open(self):
        self.study = sv.Study.open(self.url, name=self.name, **self.options)

    def reopen(self):
        self.study = sv.Study.open(self.url, name=self.name)

    def close(self):
        self.study.close()

    def ask(self, size=None):
        asked = self.study.ask(size)
        return self.fresh([asked.id] if size is None else asked.ids.tolist())

    def ask_round(self):
        return self.fresh(self.study.ask_round().ids.tolist())

    def ask_again(self):
        """Ask in small pieces: what is in hand comes first."""
        self.ask()
        self.ask()

    def waiting(self):
        return set(self.study.outstanding().ids.tolist())

    def _tell(self, ids):
        if len(ids) == 1:
            self.study.tell(ids[0], loss_of(ids[0]))
        else:
            self.study.tell(ids, np.array([loss_of(one) for one in ids]))

    def _forget(self, ids):
        self.study.forget(ids)

    def calls(self):
        """Return, by name, what prepares a call and returns it."""
        return {
            "ask": lambda: self.ask,
            "ask a block": lambda: lambda: self.ask(5),
            "ask a round": lambda: self.ask_round,
            "tell one": lambda: self._prepared(self.ask(2)[:1]),
            "tell a block": lambda: self._prepared(self.ask(5)[:4]),
            "tell the last": lambda: self._prepared(self._almost()),
            "tell the last ones": lambda: self._prepared(self.ask_round()),
            "forget": lambda: self._prepared_to_forget(self.ask(3)[:2]),
            "forget the last": lambda: self._prepared_to_forget(self._almost()),
            "change": lambda: lambda: self.study.change(deadline=1e6),
            "status": lambda: self.study.status,
            "outstanding": lambda: self.study.outstanding,
            "recommend": lambda: self.study.recommend,
            "verify": lambda: self.study.verify,
            "export": lambda: self.study.export,
            "statement": lambda: self.study.statement,
            "close": self._prepared_to_close,
            "open": lambda: self._prepared_to_open(self.reopen),
            "create": lambda: self._prepared_to_open(self._create),
        }

    def _prepared(self, ids):
        return lambda: self.tell(ids)

    def _prepared_to_forget(self, ids):
        return lambda: self.forget(ids)

    def _almost(self):
        """Return the last action of a round that has all other losses."""
        ids = self.ask_round()
        if len(ids) > 1:
            self.tell(ids[:-1])
        return ids[-1:]

    def _prepared_to_close(self):
        for _ in range(12):  # it has reserved some ahead by then, and gives them back
            self.ask()
        return self.study.close

    def _prepared_to_open(self, call):
        self.close()
        return call

    def _create(self):
        other = f"{self.name}, {time.monotonic_ns()}"
        sv.Study.open(self.url, name=other, **self.options).close()

    def revive(self):
        """Open it again after a call that may have closed it."""
        self.study.close()
        self.reopen()

    def check(self):
        """Compare what was released with the books: each loss is in its round once, and nothing else is."""
        found = self.study.verify()
        assert found.ok, found
        status = self.study.status()
        counts = status.told, status.forgotten, status.outstanding
        assert counts == (len(self.told), len(self.forgotten), 0), counts
        rounds = self.by_round()
        names = [None] if self.segments is None else [name for name, _ in status.segments]
        released = 0
        for stream, name in enumerate(names):
            history = self.study.history(segment=name)
            assert history.seen == len(history.means) > 0
            for number, mean in zip(history.rounds.tolist(), history.means, strict=True):
                assert abs(np.mean(rounds[stream, number]) - mean) < 1e-6, "a loss is lost, or in twice"
                released += 1
        return released


class SegmentedPlayer(StudyPlayer):
    """A study with segments."""

    segments = ("phone", "desktop", "tablet")

    def __init__(self, url, name, options):
        self._turn = 0
        super().__init__(url, name, {**options, "segments": list(self.segments)})

    def _next(self):
        self._turn += 1
        return self.segments[self._turn % 3]

    def ask(self, size=None):
        if size is None:
            return self.fresh([self.study.ask(segment=self._next()).id])
        return self.fresh(self.study.ask(segment=[self._next() for _ in range(size)]).ids.tolist())

    def ask_round(self):
        return self.fresh(self.study.ask_round(segment=self._next()).ids.tolist())


class EvaluationsPlayer(Player):
    """Stored evaluations."""

    def __init__(self, url, name, options):
        self.options = options
        self.of = {}  # the ids of each evaluation
        self.abandoned = set()
        super().__init__(url, name)

    def open(self):
        self.all = sv.PrivateEvaluations(storage=self.url, name=self.name, **self.options)

    def reopen(self):
        self.all = sv.PrivateEvaluations(storage=self.url, name=self.name)

    def close(self):
        self.all.close()

    def begin(self, events):
        return self.all.open(events).number

    def ask(self, size, number):
        return self.fresh(self.all.evaluation(number).assign(size=size).tolist())

    def assign(self, size=None):
        found = self.all.assign(size)
        self.fresh([found.id] if size is None else [one.id for one in found])

    def ask_again(self):
        """Assign in small pieces, likewise."""
        if not self.all.open_evaluations:
            self.begin(3)
        for some in self.all.open_evaluations:
            if some.remaining:
                self.assign()

    def waiting(self):
        return {one for some in self.all.open_evaluations for one in some.outstanding.tolist()}

    def go_on(self):
        super().go_on()
        for some in self.all.open_evaluations:  # no evaluation lives longer than one call: there would be too many
            if some.assigned:
                some.close()
            else:
                some.abandon()

    def _tell(self, ids):
        if len(ids) == 1:
            self.all.tell(ids[0], loss_of(ids[0]))
        else:
            self.all.tell(ids, np.array([loss_of(one) for one in ids]))

    def _forget(self, ids):
        self.all.forget(ids)

    def calls(self):
        """Return, by name, what prepares a call and returns it."""
        return {
            "open an evaluation": lambda: lambda: self.begin(3),
            "assign": lambda: self._with(lambda number: self.assign),
            "assign several": lambda: self._with(lambda number: lambda: self.assign(2)),
            "assign here": lambda: self._with(lambda number: lambda: self.ask(2, number)),
            "tell one": lambda: self._with(lambda number: self._telling(self.ask(3, number)[:1])),
            "tell several": lambda: self._with(lambda number: self._telling(self.ask(3, number)[:2])),
            "tell the last": lambda: self._with(lambda number: self._telling(self._almost(number))),
            "forget": lambda: self._with(lambda number: self._forgetting(self.ask(3, number)[:2])),
            "forget the last": lambda: self._with(lambda number: self._forgetting(self._almost(number))),
            "close an evaluation": lambda: self._with(self._closing),
            "abandon": lambda: self._with(lambda number: self.all.evaluation(number).abandon),
            "results": lambda: lambda: self.all.results,
            "verify": lambda: self.all.verify,
            "close": self._prepared_to_close,
            "open": lambda: self._prepared_to_open(self.reopen),
            "create": lambda: self._prepared_to_open(self._create),
        }

    def _with(self, make):
        return make(self.begin(5))

    def _telling(self, ids):
        return lambda: self.tell(ids)

    def _forgetting(self, ids):
        return lambda: self.forget(ids)

    def _almost(self, number):
        ids = self.ask(5, number)
        self.tell(ids[:-1])
        return ids[-1:]

    def _closing(self, number):
        self.tell(self.ask(3, number))
        return self.all.evaluation(number).close

    def _prepared_to_close(self):
        self.begin(100)
        for _ in range(12):
            self.assign()
        return self.all.close

    def _prepared_to_open(self, call):
        self.close()
        return call

    def _create(self):
        other = f"{self.name}, {time.monotonic_ns()}"
        sv.PrivateEvaluations(storage=self.url, name=other, **self.options).close()

    def revive(self):
        """Open them again after a call that may have closed them."""
        self.all.close()
        self.reopen()

    def check(self):
        """Compare what was released with the books: each loss is in its evaluation once, and nothing else is."""
        found = self.all.verify()
        assert found.ok, found
        mine, released = self.by_round(), self.all.results
        assert len({one.number for one in released}) == len(released), "an evaluation was released twice"
        for one in released:
            assert abs(np.mean(mine[one.number, 0]) - one.mean) < 1e-6, "a loss is lost, or in twice"
            assert one.events == len(mine[one.number, 0])
        return len(released)
