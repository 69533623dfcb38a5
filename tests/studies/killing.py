"""Children that work on a book until they are killed; `players.Account` checks what they leave behind."""

import contextlib
import os
import random
import signal
import sys
import threading

from players import KINDS
from study_tools import watch

import sottovoce as sv
from sottovoce.errors import HorizonReached
from sottovoce.rounds.stores.sql import _leasing, sqlite

WAYS = ("statement", "commit", "erasure", "line", "time")
_HOME = os.path.dirname(sv.__file__)


def die(*_):
    """End this very moment: no handler, no flush, no rollback."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm(way, after, late, end=die):
    """See to it that this process dies: `after` more statements, commits, erasures, lines, or 0.1 milliseconds."""
    left = [after]

    def count(*_):
        left[0] -= 1
        if left[0] == -1:
            end()

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
        timer = threading.Timer(after * 1e-4, end)
        timer.daemon = True
        timer.start()


def _line_counter(count):
    def lines(frame, what, _):
        if what == "line":
            count()
        return lines

    return lambda frame, _what, _: lines if frame.f_code.co_filename.startswith(_HOME) else None


class Post:
    """A folder in which ids lie that were asked for: whoever removes one has it, and says what became of it."""

    def __init__(self, folder):
        self._folder = folder
        folder.mkdir()

    def left(self):
        """Return the ids that lie there."""
        return os.listdir(self._folder)

    def leave(self, ids):
        """Leave ids there."""
        for one in ids:
            (self._folder / one).touch()

    def take(self, count, rng):
        """Return so many, of whomever."""
        lying = sorted(self.left())
        return [one for one in rng.sample(lying, k=min(len(lying), count)) if self._take(one)]

    def _take(self, one):
        with contextlib.suppress(FileNotFoundError):  # another process was quicker
            (self._folder / one).unlink()
            return True
        return False


def work_on(
    url,
    seed,
    left_over=(),
    calls=14,
    *,
    kind="a study",
    forgets=0.1,
    persist=lambda call: call(),
    ends=False,
    post=None,
    opens=None,
):
    """Return work that asks, tells and forgets random blocks; it says what it is about to do, and what it has done.

    `left_over` are ids whose losses others could not tell any more, `calls` says how many there are, or goes on for as
    long as there are to be any, `persist` makes a call, and `ends` says whether all that was asked is told in the end.
    With a `post` it comes and goes, and tells the ids of others; `opens` returns a handle of something else.
    """

    def work(report):
        waiting, rng = list(left_over), random.Random(seed)
        if opens is None:
            _leasing._OFTEN = rng.choice((0, 8))  # reserves for calls to come from the second one on
        handle = persist(opens or (lambda: KINDS[kind](url, repeat="ignore")))

        def tell(mine):
            report("telling", mine)
            persist(lambda: handle.tell(mine))
            report("told", mine)

        for _ in range(calls) if isinstance(calls, int) else calls:
            if not waiting or rng.random() < 0.4:
                size, which = rng.choice((1, 1, 3, 12, 20)), rng.randrange(2)
                persist(lambda size=size: handle.make_room(size))
                with contextlib.suppress(HorizonReached):  # others have taken the room
                    ids = persist(lambda: [handle.ask(which)] if size == 1 else handle.block(size))  # noqa: B023
                    report("asked", ids)
                    if post is not None:
                        post.leave(ids)
                        ids = post.take(len(ids), rng)
                    waiting += ids
                if post is not None and rng.random() < 0.5:
                    handle.come_back()
                continue
            rng.shuffle(waiting)
            size = rng.randint(1, len(waiting))
            mine, waiting = waiting[:size], waiting[size:]
            if rng.random() < forgets:
                report("forgetting", mine)
                persist(lambda mine=mine: handle.forget(mine))
                report("forgot", mine)
            else:
                tell(mine)
        if post is not None:
            post.leave(waiting)
            waiting = []
        if ends and waiting:
            tell(waiting)
        handle.leave()

    return work


def doomed(work, way, after, late=False):
    """Return work that is killed on the way."""

    def killed(report):
        arm(way, after, late)
        work(report)

    return killed


def warm_up(folder, *makings):
    """Import and compile everything once: children are forked, and inherit it."""
    for number, arguments in enumerate(makings):
        with sv.Study.open(f"sqlite:///{folder / 'study.db'}", name=str(number), **arguments) as study:
            block = study.ask(40)
            study.tell(block.ids, [0.5] * 40)
