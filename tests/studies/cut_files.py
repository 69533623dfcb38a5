"""Cut calls short that use a file which processes share, look from another process, and go on with the same object."""

import functools
import gc
import os
import zlib

from cutting import PLACES, attempt, chosen, elsewhere, in_words, places_in

from tracing import lines_of

SOAK = os.environ.get("SOTTOVOCE_SOAK", "") not in ("", "0")
MOST = None if SOAK else 24  # lines of a call that are tried


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
        How many lines of a call are tried; None for all of them.
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
        for place in chosen(places_in(lines), self._most, zlib.crc32(kind.encode()), self._near):
            self.cut(kind, functools.partial(attempt, place=place), in_words(place))
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
