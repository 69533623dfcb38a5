"""Cut a call on a storage short at any line, look from another process, go on, and check what came of every loss.

An exception is kept until all of that is done, with its traceback, as shells and notebooks keep it: so nothing is let
go of because something was collected.
"""

import contextlib
import functools
import gc
import importlib.util
import itertools
import signal
import sys
import threading
import time
import zlib
from pathlib import Path

from players import KINDS, Account
from study_tools import SOAK, place

from children import at_once
from sottovoce.errors import StorageError
from tracing import PACKAGE, Tracer, lines_of

DRIVERS = tuple(str(Path(importlib.util.find_spec(name).origin).parent) for name in ("psycopg", "sqlite3"))
DATABASE = str(Path(PACKAGE, "rounds", "stores", "sql"))
GLUE = (contextlib.__file__, threading.__file__)
PLACES = (PACKAGE, *DRIVERS, *GLUE)
MOST = 240 if SOAK else 24  # lines of a call that are tried


def places_in(lines):
    """Return (file, line, which) for every line of a call, in order."""
    seen = {}
    found = []
    for where in lines:
        seen[where] = seen.get(where, -1) + 1
        found.append((*where, seen[where]))
    return found


def chosen(places, most, offset, near):
    """Return the places to try: lines, each the first, the second and the last time that it is executed.

    A line of what glues all others together (the beginning and the end of a context) is another one each time. So
    many as `most` of them: half from all, spread evenly from `offset` on, and half from these and what is `near`.
    """
    last = {(file, line): which for file, line, which in places}
    kept = [one for one in places if one[0] in GLUE or one[2] in (0, 1, last[one[:2]])]
    close = [one for one in kept if one[0] in GLUE or one[0].startswith(tuple(near))]
    return list(dict.fromkeys(_spread(kept, most // 2, offset) + _spread(close, most - most // 2, offset)))


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
    tracer = Tracer(place, error, PLACES)
    gc.disable()  # what others have left behind is not collected within the call: Python drops what is raised there
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
        gc.enable()
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
    return at_once(lambda _: do(), 1)[0]


class FileTrial:
    """Interrupts, one after the other, of calls of one player.

    Parameters
    ----------
    player
        Has `calls()`, by name what prepares a call and returns it; `go_on()`, which uses the same object and checks all
        that was done; `revive()`, which begins with another object; and `url`, a storage, with `files` beside it.
    near
        Where the files of the package are that matter most.
    most
        How many lines of a call are tried.
    """

    def __init__(self, player, onlooker, near, most=MOST):
        self.player, self._onlooker, self._near, self._most = player, onlooker, tuple(map(str, near)), most
        self.held, self.count = [], 0

    def cut_everywhere(self, kind):
        """Cut a call short at its lines, each time anew; nothing must be held after any of them."""
        self.player.calls()[kind]()()  # the first time some things are loaded
        self._recover()
        lines = lines_of(self.player.calls()[kind](), where=PLACES)
        self._recover()
        for where in chosen(places_in(lines), self._most, zlib.crc32(kind.encode()), self._near):
            self.cut(kind, functools.partial(attempt, place=where), in_words(where))
        self.verdict()

    def verdict(self):
        """Nothing must have been held."""
        assert not self.held, f"{len(self.held)} of {self.count} interrupts left a lock held:\n" + "\n".join(self.held)

    def cut(self, kind, attempt, where):
        """Carry out a call by what cuts it short; look from another process, go on, and note what was held."""
        kept = [attempt(self.player.calls()[kind]())]
        self.count += kept != [None]
        found = self._onlooker.held(self.player.url, self.player.files)
        if found:
            self.held.append(f"{kind}, at {where}: {', '.join(found)}")
            kept.clear()
            gc.collect()  # the next one shall find nothing that this one has left
            self.player.revive()
        else:
            try:
                self._recover()
            except AssertionError as problem:
                raise AssertionError(f"{kind}, at {where}: {problem}") from problem
        kept.clear()

    def _recover(self):
        elsewhere(self.player.go_on)
        self.player.go_on()


# ---------------------------------------------------------------------- subjects

QUICK = {"a study": {"probe_events": 3}, "segments": {"least_events": 4}, "evaluations": {"events": ()}}  # small rounds
LONG = 80  # times that it goes on, after which another book is begun: what is checked grows with what was done
_numbers = itertools.count()


class Player:
    """Plays on a storage by the public interface, and keeps an account of its own: what was told, what was given up."""

    files = ()

    def __init__(self, kind, url):
        self.kind, self.url = kind, url
        self._begin()

    def _begin(self):
        self.name, self.turn, self.closing = f"{self.kind} {next(_numbers)}", 0, False
        self.handle = KINDS[self.kind].first(self.url, self.name, **QUICK[self.kind])
        self.account, self.handed_out = Account(self.url, name=self.name), set()
        self.unsure = None  # ids of a call that was cut short, and what is said of them once it has succeeded

    def tell(self, ids):
        self._do("telling", self.handle.tell, ids, "told")

    def forget(self, ids):
        self._do("forgetting", self.handle.forget, ids, "forgot")

    def _do(self, before, call, ids, after):
        self.account.hear([(before, ids)])
        self.unsure = ids, after
        call(ids)
        self._acknowledge()

    def _acknowledge(self):
        (ids, after), self.unsure = self.unsure, None
        self.account.hear([(after, ids)])

    def ask(self, size=None):
        """Ask for one or several; nobody else has them."""
        self.turn += 1
        return self._fresh([self.handle.ask(self.turn)] if size is None else self.handle.block(size))

    def rest(self):
        """Ask for the rest of a round."""
        self.turn += 1
        return self._fresh(self.handle.rest(self.turn))

    def _fresh(self, ids):
        assert not self.handed_out & set(ids), "an id was handed out twice"
        self.handed_out.update(ids)
        return ids

    def _almost(self):
        """Return the last action of a round that has all other losses."""
        ids = self.rest()
        if len(ids) > 1:
            self.tell(ids[:-1])
        return ids[-1:]

    def calls(self):
        """Return, by name, what prepares a call and returns it."""
        common = {
            "ask": lambda: self._with_room(self.ask),
            "ask several": lambda: self._with_room(lambda: self.ask(2)),
            "tell one": lambda: self._telling(self._some()[:1]),
            "tell several": lambda: self._telling(self._some()[:2]),
            "tell the last": lambda: self._telling(self._almost()),
            "forget": lambda: self._forgetting(self._some()[:2]),
            "forget the last": lambda: self._forgetting(self._almost()),
            "verify": lambda: self.handle.opened.verify,
            "close": self._prepared_to_close,
            "open": lambda: self._after_closing(self._reopen),
            "create": lambda: self._after_closing(self._create),
        }
        if self.kind == "evaluations":
            own = {
                "open an evaluation": lambda: lambda: self.handle.opened.open(events=3),
                "assign here": lambda: functools.partial(self._assign_to, self.handle.opened.open(events=5), 2),
                "close an evaluation": self._closing_one,
                "abandon": lambda: self.handle.opened.open(events=5).abandon,
                "results": lambda: lambda: self.handle.opened.results,
            }
        else:
            looks = ("status", "outstanding", "recommend", "export", "statement")
            own = {
                "ask a round": lambda: self.rest,
                "tell the last ones": lambda: self._telling(self.rest()),
                "change": lambda: lambda: self.handle.opened.change(deadline=1e6),
                **{name: lambda name=name: getattr(self.handle.opened, name) for name in looks},
            }
        return common | own

    def _with_room(self, call):
        self.handle.make_room(5)
        return call

    def _some(self):
        """Return ids that were asked for in one call."""
        return self._with_room(self.ask)(4)

    def _telling(self, ids):
        return lambda: self.tell(ids)

    def _forgetting(self, ids):
        return lambda: self.forget(ids)

    def _closing_one(self):
        one = self.handle.opened.open(events=5)
        self.tell(self._assign_to(one, 3))
        return one.close

    def _assign_to(self, evaluation, size):
        return self._fresh(evaluation.assign(size=size).tolist())

    def _prepared_to_close(self):
        self.handle.make_room(100)
        for _ in range(12):  # it has reserved some ahead by then, and gives them back
            self.ask()
        self.closing = True
        return self.handle.leave

    def _after_closing(self, call):
        self.handle.leave()
        self.closing = True
        return call

    def _reopen(self):
        self.handle = KINDS[self.kind](self.url, self.name)

    def _create(self):
        KINDS[self.kind].first(self.url, f"{self.name}, {time.monotonic_ns()}", **QUICK[self.kind]).leave()

    def revive(self):
        """Open it again after a call that may have closed it."""
        self.handle.leave()
        self._reopen()

    def _ask_again(self):
        """Ask in small pieces: what is in hand comes first."""
        self.handle.make_room(2)
        self.ask()
        self.ask()

    def go_on(self):
        """Go on with the same handle, in the plainest way: nothing acknowledged is waited for, and the rest is told."""
        if self.closing:
            with contextlib.suppress(StorageError):
                self._ask_again()
            self.revive()
            self.closing = False
        self._settle()
        self._ask_again()
        waiting = self.handle.waiting()
        lost = {place(one)[1] for one in waiting} & (self.account.told | self.account.forgot)
        assert not lost, "an acknowledged loss is lost, or what was given up is waited for"
        if waiting:
            self.tell(sorted(waiting))
        if self.kind == "evaluations":  # none lives longer than one call: there would be too many
            self.handle.finish(None)
        if self.turn > LONG:
            self.end()
            self._begin()

    def _settle(self):
        """Find out what came of a call that was cut short: all of it is on record, or nothing."""
        if self.unsure is None:
            return
        ids = set(self.unsure[0])
        missing = ids & self.handle.waiting()
        assert not missing or missing == ids, "half of a call is on record"
        if missing:
            self.unsure = None
        else:
            self._acknowledge()

    def end(self):
        """Complete a round, and check all that was done since the beginning: each loss is in its round once."""
        self.tell(self.rest())
        found = self.handle.opened.verify()
        assert found.ok, found
        self.account.check()
        assert self.account.closed
        self.handle.leave()
