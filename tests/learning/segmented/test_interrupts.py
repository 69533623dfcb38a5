"""Calls that span segments, cut short at every line: nothing is released twice, no loss is lost, none is half told."""

import contextlib
import copy
import os

import numpy as np
import pytest
from families import PEOPLE, family
from interrupting import Cut, NoNoise, Tracer, is_free

from sottovoce import Segments
from sottovoce.errors import AlreadyTold, InvalidLoss, RoundClosed

SOAK = os.environ.get("SOTTOVOCE_SOAK", "") not in ("", "0")
BOOKS = ("_books.py", "lane.py", "_ask_tell.py", "open_rounds.py", "rounds.py", "bandit.py", "probes.py", "kinship.py")


class Player:
    """Drives segments without noise, and keeps books of its own: which loss belongs to which number of which round."""

    def __init__(self, **options):
        self.optimizer = family(noise=NoNoise(), probes=2, least_events=2, horizon=400, patience=None, **options)
        self.released, self.twice = {}, []
        self.optimizer._on_release = self._witness
        self.right, self.losses = {}, {}
        self.ask(PEOPLE * 3)
        self.tell(self.waiting())
        self.ask(["phone"] * 5 + ["desktop"] * 3)

    def __deepcopy__(self, memo):
        new = copy.copy(self)
        for name in ("optimizer", "released", "twice", "right", "losses"):
            setattr(new, name, copy.deepcopy(getattr(self, name), memo))
        new.optimizer._on_release = new._witness
        return new

    def _witness(self, number, numbers):
        if number in self.released and not np.array_equal(self.released[number], numbers):
            self.twice.append(number)
        self.released[number] = numbers.copy()

    def look(self):
        """Note which number every event that was drawn belongs to, while that is known."""
        for lane in self.optimizer._lanes:
            for block in lane._rounds._blocks:
                if block.weights is not None:
                    place = (lane.number << self.optimizer._event_bits) + block.round.number
                    for slot, index in enumerate(block.weights.index.tolist()):
                        self.right[block.first + slot] = (place, index)

    def ask(self, came):
        actions = self.optimizer.ask(segment=came)
        self.look()
        return actions

    def waiting(self):
        self.look()
        return sorted(self.optimizer.outstanding().ids.tolist())

    def loss(self, one):
        return (one * 7919 % 101) / 100

    def tell(self, ids):
        self.optimizer.tell(np.array(ids), np.array([self.loss(one) for one in ids]))

    def finish(self):
        """Tell what waits, ask on for everybody, and tell that."""
        for _ in range(3):
            if ids := self.waiting():
                self.tell(ids)
            self.ask(PEOPLE * 6)
        self.tell(self.waiting())

    def check(self, forgotten=()):
        assert not self.twice, "a round was released twice, with other numbers"
        assert not self.waiting()
        grid = self.optimizer._epoch.grid
        sums = {}
        for one, (place, index) in self.right.items():
            if place in self.released:
                integer = grid.middle if one in forgotten else int(grid.quantise(np.array([self.loss(one)]))[0])
                sums.setdefault(place, np.zeros(len(self.released[place])))[index] += integer
        assert sums.keys() == self.released.keys()
        assert len(sums) > 10
        for place, numbers in self.released.items():
            assert np.array_equal(numbers, sums[place]), "a loss is lost, or in twice"


CALLS = {
    "ask one": lambda player: player.optimizer.ask(segment="phone"),
    "ask one of a new segment": lambda player: player.optimizer.ask(segment="tv"),
    "ask for several": lambda player: player.optimizer.ask(segment=["phone", "tv", "desktop", "tablet"] * 4),
    "ask a round": lambda player: player.optimizer.ask_round(segment="desktop"),
    "tell several": lambda player: player.tell(player.open),
    "tell one": lambda player: player.optimizer.tell(player.open[-1], player.loss(player.open[-1])),
    "forget": lambda player: player.optimizer.forget(np.array(player.open)),
    "recommend": lambda player: player.optimizer.recommend(),
    "state": lambda player: player.optimizer.state(),
}


def lines_to_cut(template, call):
    """Lines of the books, each where it is executed first and last; all of them in a soak."""
    player = copy.deepcopy(template)
    with Tracer() as tracer:
        call(player)
    first, last = {}, {}
    for number, line in enumerate(tracer.lines, start=1):
        if SOAK or os.path.basename(line[0]) in BOOKS:
            first.setdefault(line, number)
            last[line] = number
    if SOAK:
        return sorted({*first.values(), *last.values()})
    fresh = [line for line in first if line not in tried]  # a line that calls share is tried in one of them
    tried.update(fresh)
    return sorted((first if index % 2 else last)[line] for index, line in enumerate(fresh))


tried = set()


@pytest.mark.parametrize("what", CALLS)
def test_a_call_may_be_cut_short_at_any_line(what):
    template = Player(segments=Segments(PEOPLE, limit=5))
    template.open = template.waiting()
    call = CALLS[what]
    for number in lines_to_cut(template, call):
        player, error = copy.deepcopy(template), (Cut, KeyboardInterrupt)[number % 2]
        with contextlib.suppress(error, InvalidLoss), Tracer(number, error):
            call(player)
        assert is_free(player.optimizer._lock)
        before, waiting = set(player.open), set(player.waiting())
        gone = before - waiting
        if what in ("tell several", "forget"):
            assert gone in (set(), before), "half of a call was recorded"
            if not gone and number % 3 == 0:
                with contextlib.suppress(AlreadyTold, RoundClosed):
                    call(player)
                    gone = before
        if what.startswith("ask for"):
            fresh = waiting - before
            assert len(fresh) in (0, 16), "actions that nobody got stay out"
        player.finish()
        player.check(forgotten=gone if what == "forget" else ())
