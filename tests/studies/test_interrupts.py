"""Every call on a storage, cut short at every line: nothing is held, the handle goes on, no loss is lost or in twice.

After each interrupt another process looks whether a lock is held, while the exception is kept. Some lines of every call
are tried, of the package, the drivers and what glues them together; with SOTTOVOCE_SOAK=1 many more, and many signals.
"""

import functools
import random

import pytest
from cutting import DATABASE, FileTrial, Player, signalled
from onlooker import Onlooker
from players import KINDS
from study_tools import SOAK

from sampling import sampled

pytestmark = [
    pytest.mark.timeout(1800 if SOAK else 600),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # what is cut while it is collected
]
MOST = 200 if SOAK else 8  # lines of a call that are tried
SIGNALS = 300 if SOAK else 12


@pytest.fixture(scope="module")
def onlooker():
    with Onlooker() as one:
        yield one


def calls_of(kind):
    player = object.__new__(Player)
    player.kind = kind
    return list(player.calls())


def ended(trial):
    """Check all that was done; nothing must have been held."""
    trial.player.end()
    trial.verdict()


@pytest.mark.parametrize(("kind", "call"), sampled([(kind, call) for kind in KINDS for call in calls_of(kind)], 6))
def test_an_interrupt_at_any_line_leaves_nothing_held_and_loses_nothing(kind, call, url, onlooker):
    trial = FileTrial(Player(kind, url), onlooker, (DATABASE,), MOST)
    trial.cut_everywhere(call)
    ended(trial)


@pytest.mark.parametrize("kind", KINDS)
def test_a_signal_at_any_moment_leaves_nothing_held_and_loses_nothing(kind, url, onlooker):
    trial, rng, calls = FileTrial(Player(kind, url), onlooker, (DATABASE,)), random.Random(5), calls_of(kind)
    for number in range(SIGNALS):
        cut = functools.partial(signalled, onlooker=onlooker, seconds=rng.uniform(0.0, 0.02))
        trial.cut(calls[number % len(calls)], cut, "a moment")
    ended(trial)
