"""Cut a call short at any line, go on, and compare with a run in which nothing happened.

What is played follows from public coins and from what was released. So a run that was cut short, and whose call was
made again unless it had happened, must say and release to its end what another one does: else a loss was lost, or is in
twice, or a round was learned from otherwise. Noise is zero, and `tapped` counts how often sums meet it.
"""

import copy
import math
import signal
import sys
from collections import Counter, namedtuple
from contextlib import contextmanager

import numpy as np

from children import at_once
from sottovoce.errors import AlreadyTold, InvalidLoss, RoundClosed
from sottovoce.privacy.mechanisms.exact_sum import ExactSum
from sottovoce.privacy.mechanisms.fresh import FreshSums
from sottovoce.privacy.mechanisms.probe_sums import ProbeSums
from sottovoce.privacy.mechanisms.tree import TreeAggregator
from tracing import Tracer

MECHANISMS = (ExactSum, FreshSums, ProbeSums, TreeAggregator)


class Cut(Exception):
    """What is raised in the middle of a call; alternates with KeyboardInterrupt, which is no Exception."""


class Alarm:
    """Raises after so many seconds, by a signal: between any two instructions, and not between lines only."""

    def __init__(self, seconds, error=Cut):
        self._seconds, self._error = seconds, error

    def __enter__(self):
        self._before = signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        return self

    def __exit__(self, *_):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.signal(signal.SIGALRM, self._before)

    def _ring(self, number, frame):
        raise self._error


@contextmanager
def tapped():
    """Stand behind all mechanisms, and note the sums of every noisy value that leaves the code that drew it."""
    left = []
    kept = [(kind, name, vars(kind)[name]) for kind in MECHANISMS for name in ("release", "add") if name in vars(kind)]

    def tap(draw):
        def seen(mechanism, sums):
            released = draw(mechanism, sums)
            left.append(np.asarray(sums).tobytes())
            return released

        return seen

    for kind, name, draw in kept:
        setattr(kind, name, tap(draw))
    try:
        yield left
    finally:
        for kind, name, draw in kept:
            setattr(kind, name, draw)


class Run:
    """Drives an optimizer, in memory or in a database, with segments or without."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.people = [] if optimizer.segments is None else list(optimizer.segments.names)
        self.local = hasattr(optimizer, "channel")
        self.known = {}  # the places of all ids so far
        self.open = []  # what waited before the call that is cut short

    def copy(self):
        """Return another one in the same state."""
        return copy.deepcopy(self)

    # ------------------------------------------------------------------ calls

    def ask(self, size=None):
        if not self.people:
            return self.optimizer.ask(size)
        whom = self.people[0] if size is None else [self.people[i % len(self.people)] for i in range(size)]
        return self.optimizer.ask(size, segment=whom)

    def ask_round(self):
        return self.optimizer.ask_round(**({"segment": self.people * 6} if self.people else {}))

    def tell(self, ids):
        losses = [self.loss(*self.known[one]) for one in ([ids] if isinstance(ids, int) else ids)]
        given = losses[0] if isinstance(ids, int) else np.array(losses)
        told = {"report" if self.local else "losses": given}
        self.optimizer.tell(ids if isinstance(ids, int) else np.array(ids), **told)

    def loss(self, stream, place):
        """The loss of an event, whatever its id."""
        if self.local:
            return 1 if (stream + place) % 3 else -1
        return math.sin(12.9898 * (place + 100 * stream)) * 43758.5453 % 1.0

    def forget(self, ids):
        self.optimizer.forget(ids)

    def look(self):
        self.optimizer.recommend()

    # ------------------------------------------------------------------ what is known

    @property
    def asked(self):
        return int(self.optimizer.asked)

    @property
    def remaining(self):
        return self.optimizer.remaining

    def waiting(self):
        """The ids that wait for a loss: by stream, and in its order."""
        found, places = set(self.optimizer.outstanding().ids.tolist()), self.places()
        self.known |= places
        return [one for one in places if one in found]

    def places(self):
        """The stream, and the place in it, of the ids of open rounds, in this order."""
        rounds = sorted(one.round for one in self.optimizer._store.open_rounds())
        return {one.first + i: (one.stream, one.position + i) for one in rounds for i in range(one.size)}

    def released(self):
        """What was released, by stream and round."""
        streams = range(max(1, len(self.optimizer.sizes)))
        every = [one for stream in streams for one in self.optimizer._store.releases(stream, 0)]
        assert len({(one.round.stream, one.round.number) for one in every}) == len(every), "released twice"
        return {
            (one.round.stream, one.round.number): None if one.numbers is None else np.asarray(one.numbers).tolist()
            for one in every
        }

    def is_free(self):
        """Whether somebody else may use it."""
        lock = self.optimizer._lock
        return at_once(lambda _: lock.acquire(blocking=False) and not lock.release(), 1) == [True]

    # ------------------------------------------------------------------ the rest of a run

    def finish(self):
        """Go on in the plainest way: everything that waits is told, in blocks and one by one, and rounds are asked."""
        said = []
        for turn in range(3):
            if waiting := self.waiting():
                for ids in [waiting] if turn % 2 else waiting:
                    self.tell(ids)
            if self.remaining == 0:
                break
            actions = self.ask_round()
            places = self.places()
            said += [
                (*places[one], np.asarray(x).tolist(), bool(wanted))
                for one, x, wanted in zip(actions.ids.tolist(), actions.x, actions.wants_loss, strict=True)
            ]
        if waiting := self.waiting():
            self.tell(waiting)
        assert not self.waiting(), "losses are outstanding"
        best = np.asarray(self.optimizer.recommend().x).tolist()
        return Story(said, self.released(), self.optimizer.round, best)


Story = namedtuple("Story", "said released closed best")
"""All that a run says after a call, and all that it has released."""


class Call:
    """A call to cut short: how a run comes to it, and what it does."""

    def __init__(self, kind, do, prepare=lambda run: None, *, patience=None):
        self.kind, self.do, self.prepare, self.patience = kind, do, prepare, patience


class Scene:
    """A run just before a call; and its story, if nothing happens."""

    def __init__(self, run, call):
        self.run, self.call = run, call
        call.prepare(run)
        run.open = run.waiting()
        whole = run.copy()
        with tapped() as left:
            with Tracer() as tracer:
                call.do(whole)
            self.lines, self.after = tracer.lines, (whole.asked, set(whole.waiting()))
            self.story, self.left = whole.finish(), left

    def cut_short(self, stop, error, again=None):
        """Cut the call short at line number `stop`, or after so many seconds; go on, and compare.

        Return whether it was cut short.
        """
        run = self.run.copy()
        with tapped() as left:
            cut = self._attempt(run, self.call.do, stop, error)
            assert run.is_free(), "it is locked"
            if again is not None:  # what repairs must stand being cut short, too
                repeats = again % 2 and not self._happened(run.copy())  # a second ask would run out of patience anew
                self._attempt(run, self.call.do if repeats else Run.look, again, error)
                assert run.is_free(), "it is locked"
            if not self._happened(run):
                self.call.do(run)
            if run.people:  # a complete round is released when its own stream goes on, or when somebody looks
                run.look()
            story = run.finish()
        assert story.released == self.story.released, "a loss is lost, or in twice"
        assert not Counter(left) - Counter(self.left), "sums met noise twice"
        assert story == self.story, "what came later is not what follows from what was released"
        return cut

    def _happened(self, run):
        """Whether the call has happened: as a whole, or not at all."""
        asked, waiting = run.asked, set(run.waiting())
        if self.call.kind == "ask":
            assert asked in (self.run.asked, self.after[0]), "half of a call was handed out"
            return asked == self.after[0]
        gone = set(self.run.open) - waiting
        due = set(self.run.open) - self.after[1]
        assert gone in (set(), due), "half of a call was recorded"
        return gone == due

    def _attempt(self, run, do, stop, error):
        try:
            with Tracer(stop, error) if isinstance(stop, int) else Alarm(stop, error):
                do(run)
        except error:
            return True
        except (AlreadyTold, RoundClosed):  # a second attempt at what was recorded before it was cut short
            return True
        except InvalidLoss:  # what is raised while a loss is converted is not passed on
            return error is Cut
        finally:
            sys.settrace(None)
        return False
