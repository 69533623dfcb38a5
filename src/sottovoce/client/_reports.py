"""One report per loss: a loss that is privatised a second time is spent a second time.

Whoever tells again, because an answer never came, must send the report that was sent, not another one: two reports of
one loss cost twice the budget, and a service that drops answers could ask for as many as it likes. So reports are kept
by the ids of their actions, and the second call for an id sends what the first has sent, whatever loss it was given.
With a queue they are kept in its file, before anything is sent: a process that was killed has not forgotten them.

Tests: tests/client/test_local_privacy.py.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from sottovoce import _fork
from sottovoce.client.tell_queue import Destination, TellQueue
from sottovoce.privacy.local import OneBitChannel, privatise

_MOST = 100_000


class KeptReports:
    """Reports that may have left, by the ids of their actions; the oldest are let go of.

    Parameters
    ----------
    queue, to
        Where they are kept, and of which study; None for the memory of this process.
    most
        How many are kept in memory.

    Examples
    --------
    >>> from sottovoce.privacy.local import OneBitChannel
    >>> kept, channel = KeptReports(), OneBitChannel((0.0, 1.0), epsilon=1.0)
    >>> kept.of(["a"], [0.3], channel) == kept.of(["a"], [0.3], channel)
    True
    """

    def __init__(self, queue: TellQueue | None = None, to: Destination | None = None, most: int = _MOST) -> None:
        self._queue, self._to, self._most = queue, to, most
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()
        self._fork_count = _fork.fork_count()

    def of(self, ids: Sequence[str], losses: Sequence[float], channel: OneBitChannel) -> tuple[int, ...]:
        """Return the report of each loss: the one that was made before, if there is one.

        Parameters
        ----------
        ids, losses
            A loss for each action.
        channel
            What privatises them.
        """
        if self._queue is not None and self._to is not None:
            return self._queue.reports(self._to, ids, lambda place: int(privatise(losses[place], channel)))
        if self._fork_count != _fork.fork_count():  # another thread may have held the lock at the fork
            self._lock, self._fork_count = threading.Lock(), _fork.fork_count()
        with self._lock:
            for one, loss in zip(ids, losses, strict=True):
                if one not in self._kept:
                    self._kept[one] = int(privatise(loss, channel))
            reports = tuple(self._kept[one] for one in ids)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return reports
