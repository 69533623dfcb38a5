"""Every call on a storage, cut short at every line: nothing is held, the handle goes on, no loss is lost or in twice.

After each interrupt another process looks whether a lock is held, while the exception is kept. By default some lines of
every call are tried, in turn; with SOTTOVOCE_SOAK=1 every line of the package and of what glues it together, every line
of the drivers, and many more signals.
"""

import contextlib
import gc
import itertools
import random
import zlib

import pytest
from cutting import (
    EvaluationsPlayer,
    SegmentedPlayer,
    StudyPlayer,
    Tracer,
    attempt,
    chosen,
    elsewhere,
    in_words,
    places_in,
    signalled,
)
from killing import tally
from onlooker import Onlooker
from study_tools import SOAK, believing, sums

import sottovoce as sv
from sampling import sampled
from sottovoce.errors import StorageError

pytestmark = [
    pytest.mark.timeout(7200 if SOAK else 600),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # what is cut while it is collected
]
PLAIN = {"loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "seed": 3}
SUBJECTS = {
    "study": (StudyPlayer, sums()),
    "segments": (SegmentedPlayer, believing()),
    "evaluations": (EvaluationsPlayer, PLAIN),
}
MOST = None if SOAK else 8  # lines of a call that are tried
SIGNALS = 2000 if SOAK else 12
LONG = 40  # interrupts, after which another study is begun: what is checked grows with what was done
ENDS = ("close", "open", "create")  # calls after which it has to be opened again
_numbers = itertools.count()


@pytest.fixture(scope="module")
def onlooker():
    with Onlooker() as one:
        yield one


class Trial:
    """Interrupts, one after the other, on one storage."""

    def __init__(self, subject, url, onlooker):
        self._make, self._options = SUBJECTS[subject]
        self.subject, self.url, self._onlooker = subject, url, onlooker
        self.count, self.held = 0, []
        self._begin()

    def _begin(self):
        self.player = self._make(self.url, f"{self.subject} {next(_numbers)}", self._options)

    def prepare(self, kind):
        """Return a call, ready to be carried out."""
        return self.player.calls()[kind]()

    def lines_of(self, kind):
        """Return the places of a call, in order."""
        self.prepare(kind)()  # the first time some things are loaded
        self.recover(kind)
        call = self.prepare(kind)
        with Tracer() as tracer:
            call()
        self.recover(kind)
        return places_in(tracer.lines)

    def cut(self, kind, attempt, where):
        """Carry out a call by what cuts it short; look from another process, go on, and note what was held."""
        kept = [attempt(self.prepare(kind))]
        self.count += kept != [None]
        found = self._onlooker.held(self.url)
        if found:
            self.held.append(f"{kind}, at {where}: {', '.join(found)}")
            kept.clear()
            gc.collect()  # the next one shall find nothing that this one has left
            self.player.revive()
        self.recover(kind)
        kept.clear()
        tally("interrupted, " + self.subject, self.url, "held" if found else "nothing held")
        if self.count % LONG == 0:
            self.end()
            self._begin()

    def recover(self, kind):
        """Go on, in another thread as well as in this one; with the same handle, unless it is closed."""
        if kind in ENDS:
            with contextlib.suppress(StorageError):
                self.player.ask_again()
            self.player.revive()
        elsewhere(self.player.go_on)
        self.player.go_on()

    def end(self):
        """Complete a round, and check all that was done since the beginning."""
        player = self.player
        player.tell(player.ask_round() if hasattr(player, "ask_round") else player.ask(3, player.begin(3)))
        player.go_on()
        assert player.check() > 0
        player.close()

    def verdict(self):
        """End; nothing must have been held."""
        self.end()
        assert not self.held, f"{len(self.held)} of {self.count} interrupts left a lock held:\n" + "\n".join(self.held)


def kinds_of(subject):
    player = object.__new__(SUBJECTS[subject][0])
    return list(player.calls())


@pytest.mark.parametrize(("subject", "kind"), sampled([(one, kind) for one in SUBJECTS for kind in kinds_of(one)], 9))
def test_an_interrupt_at_any_line_leaves_nothing_held_and_loses_nothing(subject, kind, url, onlooker):
    trial = Trial(subject, url, onlooker)
    for place in chosen(trial.lines_of(kind), MOST, offset=zlib.crc32(f"{subject} {kind}".encode())):
        trial.cut(kind, lambda call: attempt(call, place), in_words(place))  # noqa: B023
    trial.verdict()


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_signal_at_any_moment_leaves_nothing_held_and_loses_nothing(subject, url, onlooker):
    trial, rng = Trial(subject, url, onlooker), random.Random(5)
    kinds = kinds_of(subject)
    for number in range(SIGNALS):
        seconds = rng.uniform(0.0, 0.02)
        trial.cut(kinds[number % len(kinds)], lambda call: signalled(call, onlooker, seconds), "a moment")  # noqa: B023
    trial.verdict()
