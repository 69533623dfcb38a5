"""A queue on disk whose calls are cut short at any line: no lock is held, it goes on, and every loss arrives once."""

import itertools
import sys
from pathlib import Path

import pytest

from sampling import sampled

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))  # tests cannot import one another
from cut_files import FileTrial
from onlooker import Onlooker

import sottovoce as sv
from sottovoce.client import TellQueue
from sottovoce.client._wire import Tell
from sottovoce.client.tell_queue import Destination

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # of httpx2, itself cut short
]
OTHER = Destination("http://127.0.0.1", "autumn")
CLIENT = Path(sv.__file__).parent / "client"
SQL = CLIENT.parent / "rounds" / "stores" / "sql"
NEAR = [
    *(CLIENT / name for name in ("tell_queue.py", "_sender.py")),
    *(SQL / name for name in ("database.py", "sqlite.py")),
]


class QueuePlayer:
    """Tells a study at a service that is away now and then, by way of a queue; and uses the queue itself."""

    files = ()

    def __init__(self, path, connect, stand_in):
        self.path, self.url = path, f"sqlite:///{path}"
        self._connect, self._stand_in = connect, stand_in
        self.numbers = itertools.count(1)
        self.told, self.others = {}, []
        self.revive()

    def revive(self):
        self.remote = self._connect(queue=self.path)
        while (thread := self.remote._sender._thread) is not None:  # it looks for what earlier processes have left
            thread.join(600)
        self.remote._sender.wake = lambda: None  # another thread would hold what it may hold
        self.queue = self.remote.queue
        self._telling(away=False)()  # it asks what the study wants

    def calls(self):
        """Return, by name, what prepares a call and returns it."""
        return {
            "tell": lambda: self._telling(away=False),
            "tell while it is away": lambda: self._telling(away=True),
            "flush": self._flushing,
            "add": lambda: lambda: self.queue.add(OTHER, self._tell()),
            "first": lambda: self._with(lambda: self.queue.first(OTHER)),
            "done": lambda: self._with(lambda: self.queue.done(self.queue.first(OTHER)[0], OTHER, [("1", "a")])),
            "channel": lambda: lambda: self.queue.channel(OTHER),
            "keep a channel": lambda: lambda: self.queue.keep_channel(OTHER, None),
            "look": lambda: lambda: (self.queue.waiting, self.queue.refusals()),
            "erase": lambda: self._with(self.queue.erase),
            "open": lambda: lambda: self.others.append(TellQueue(self.path)),
        }

    def go_on(self):
        """Tell something by way of the disk, and deliver all: what was told has arrived, as it was told."""
        self._telling(away=True)()
        self._stand_in.away = False
        self.remote.flush()
        for one, loss in self.told.items():
            assert self._stand_in.told[one] == loss, "a loss is lost"
        while (found := self.queue.first(OTHER)) is not None:
            self.queue.done(found[0], OTHER)
        assert self.queue.waiting == 0

    def _tell(self):
        return Tell("loss", (f"1.0.{next(self.numbers):x}",), (0.5,))

    def _with(self, call):
        self.queue.add(OTHER, self._tell())
        return call

    def _telling(self, away):
        self._stand_in.away = False
        action = self.remote.ask()
        loss = next(self.numbers) % 1024 / 1024

        def call():
            self._stand_in.away = away
            self.remote.tell(action.id, loss)
            self.told[action.id] = loss

        return call

    def _flushing(self):
        self._telling(away=True)()
        self._stand_in.away = False
        return self.remote.flush


KINDS = list(QueuePlayer.calls(object.__new__(QueuePlayer)))


@pytest.fixture(scope="module")
def onlooker():
    with Onlooker() as one:
        yield one


@pytest.mark.parametrize("kind", sampled(KINDS, 4))
def test_an_interrupt_at_any_line_leaves_no_lock_held_and_loses_nothing(kind, tmp_path, connected, stand_in, onlooker):
    FileTrial(QueuePlayer(tmp_path / "tells.db", connected, stand_in), onlooker, NEAR).cut_everywhere(kind)
