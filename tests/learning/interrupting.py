"""Cut a call short at any line, go on, and check the books against a recount of one's own."""

import contextlib
import copy
import math
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

import sottovoce as sv
from sottovoce.errors import AlreadyTold, InvalidLoss, RoundClosed
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.estimates import ReleasedRound

PACKAGE = str(Path(sv.__file__).parent)


class Cut(Exception):
    """What is raised in the middle of a call; alternates with KeyboardInterrupt, which is no Exception."""


class Tracer:
    """Counts the lines that a call executes inside the package; raises before the one with a given number."""

    def __init__(self, stop=None, error=Cut):
        self.lines, self._stop, self._error = [], stop, error

    def __enter__(self):
        sys.settrace(self._enter_frame)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def _enter_frame(self, frame, event, argument):
        return self._line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def _line(self, frame, event, argument):
        if event == "line":
            self.lines.append((frame.f_code.co_filename, frame.f_lineno))
            if len(self.lines) == self._stop:
                sys.settrace(None)
                raise self._error
        return self._line


class NoNoise:
    """Noise that is zero, so that what is released is what was told; it counts as simulated, and so may be copied."""

    simulated = True

    def sampler(self, noise):
        return self

    def draw(self, size):
        return np.zeros(size, dtype=np.int64)


class Tap:
    """Stands behind the mechanism of an epoch, and sees every noisy value that ever leaves the code that drew it."""

    def __init__(self, release, left):
        self._release, self._left = release, left

    def __getattr__(self, name):
        if name.startswith("__") or name in ("_release", "_left"):
            raise AttributeError(name)
        return getattr(self._release, name)

    def release(self, sums):
        return self._seen(np.array(sums), self._release.release(sums))

    def add(self, sums):
        return self._seen(np.array(sums), self._release.add(sums))

    def _seen(self, sums, released):
        self._left.append((sums.tobytes(), np.array(released, dtype=float)))
        return released


class Player:
    """Drives an optimizer, and keeps books of its own: what was told, what was given up, what each loss weighs."""

    def __init__(self, domain, **options):
        self.optimizer = sv.PrivateBandit(domain, noise=NoNoise(), seed=3, loss_range=(0.0, 1.0), **options)
        self.local = isinstance(options["privacy"], sv.LocalDP)
        self.left, self.seen = [], []
        self.blocks, self.rounds, self.epochs = {}, {}, {}
        self.integers = {}  # of every id whose loss is in, or was given up
        self.optimizer._on_release = self._witness
        self._look()

    def __deepcopy__(self, memo):
        new = copy.copy(self)
        for name in ("optimizer", "left", "seen", "blocks", "rounds", "epochs", "integers"):
            setattr(new, name, copy.deepcopy(getattr(self, name), memo))
        new.optimizer._on_release = new._witness
        return new

    def _witness(self, number, numbers):
        self.seen.append((number, numbers))

    def _look(self):
        """Note the public facts of what was drawn: which number of which round an event is in, with which weight."""
        for block in self.optimizer._rounds._blocks:
            self.rounds.setdefault(block.round.number, block.round)
            if block.weights is not None:
                self.blocks[block.first] = (block.round.number, block.weights, block.grid, block.size)
            epoch = block.round.epoch
            if epoch.earlier not in self.epochs:
                self.epochs[epoch.earlier] = epoch
                part = epoch.learner.gradient if hasattr(epoch.learner.gradient, "_release") else epoch.learner.total
                part._release = Tap(part._release, self.left)

    def loss(self, one):
        return (1 if one % 3 else -1) if self.local else math.sin(12.9898 * one) * 43758.5453 % 1.0

    def block_of(self, one):
        first = max(first for first in self.blocks if first <= one)
        return first, self.blocks[first]

    # ------------------------------------------------------------------ calls

    def ask(self, size=None):
        actions = self.optimizer.ask(size)
        self._look()
        return actions

    def ask_round(self):
        actions = self.optimizer.ask_round()
        self._look()
        return actions

    def tell(self, ids):
        if isinstance(ids, int):
            losses = self.loss(ids)
        else:
            ids = np.asarray(ids)
            losses = np.array([self.loss(one) for one in ids.tolist()])
        if self.local:
            self.optimizer.tell(ids, report=losses)
        else:
            self.optimizer.tell(ids, losses)

    def forget(self, ids):
        return self.optimizer.forget(ids)

    # ------------------------------------------------------------------ books

    def waiting(self):
        self._look()
        return set(self.optimizer.outstanding().ids.tolist())

    def note(self, before, given_up):
        """Note the losses that are in since `before`: those of the player, or, if given up, the middle of the range."""
        waiting, asked = self.waiting(), self.optimizer._asked
        gone = before - waiting
        if given_up:  # patience may have closed what was handed out since, by a call that was cut short
            drawn = {one for first, block in self.blocks.items() for one in range(first, first + block[-1])}
            gone |= {one for one in drawn - waiting - set(self.integers) if one < asked}
        for one in gone:
            grid = self.block_of(one)[1][2]
            self.integers[one] = grid.middle if given_up else int(grid.quantise(np.array([float(self.loss(one))]))[0])
        return gone

    def finish(self, more):
        """Go on in the plainest way: everything that waits is told, in blocks and one by one, and rounds are asked."""
        ids = []
        for turn in range(more):
            before = self.waiting()
            if before and turn % 2:
                self.tell(sorted(before))
            for one in sorted(before) if not turn % 2 else ():
                self.tell(one)
            self.note(before, given_up=False)
            if self.optimizer.remaining == 0:
                break
            ids += self.ask_round().ids.tolist()
        before = self.waiting()
        self.tell(sorted(before))
        self.note(before, given_up=False)
        assert ids == list(range(ids[0], ids[0] + len(ids))) if ids else True
        return ids

    def check(self):
        """Check that every round is closed and was released once, with every loss in it that was told."""
        optimizer = self.optimizer
        assert not self.waiting(), "losses are outstanding"
        asked = optimizer._asked
        full = [number for number, one in self.rounds.items() if one.end <= asked]
        assert optimizer.round >= max(full, default=-1) + 1, "a round that has all of its losses is not closed"
        allowed = Counter(sums.tobytes() for number, sums in self.expected().items() if number < optimizer.round)
        assert not Counter(sums for sums, _ in self.left) - allowed, "sums met noise twice"
        self._check_numbers()
        self._check_learning()

    def expected(self):
        """What each round adds up to."""
        sums = {number: np.zeros(one.exploration.numbers, dtype=np.int64) for number, one in self.rounds.items()}
        for first, (number, weights, _, size) in self.blocks.items():
            losses = np.array([self.integers.get(one, 0) for one in range(first, first + size)], dtype=np.int64)
            sums[number] += weights.sum(losses)
        return sums

    def _check_numbers(self):
        sums, seen = self.expected(), {}
        for number, numbers in self.seen:
            assert np.array_equal(seen.setdefault(number, numbers), numbers), "a round was released twice"
        running = {}
        for number, one in sorted(self.rounds.items()):
            if one.last or number >= self.optimizer.round:
                assert number not in seen
                continue
            right = sums[number].astype(float)
            if one.epoch.keeps_secrets:
                right = running.get(one.epoch.earlier, 0.0) + right
                running[one.epoch.earlier] = right
            size = max(1.0, np.abs(right).max())
            assert np.allclose(seen[number] / size, right / size, atol=1e-9), "a loss is lost, or in twice"

    def _check_learning(self):
        """Learn again from what was released: what the optimizer knows must follow, each round taken in once."""
        for epoch in self.epochs.values():
            problem = replace(self.optimizer._problem, horizon=epoch.plan.horizon)
            again = Epoch(problem, epoch.plan, NoNoise(), center=epoch.state()["center"])
            for number, one in sorted(self.rounds.items()):
                if one.epoch is epoch and number < self.optimizer.round and not one.last:
                    record = {"waiting": np.empty((0, 2)), **one.exploration.record()}
                    numbers = dict(self.seen)[number]
                    weights = one.complete().weights
                    exploration = again.explorer.resume(one.point, record)
                    again.take_in(ReleasedRound(exploration, numbers, weights), one.point)
            mine, right = epoch.state(), again.state()
            for name in right:
                if name.startswith(("learner.", "explorer.")) and name not in ("learner.solved", "learner.point"):
                    assert np.allclose(mine[name], right[name], rtol=1e-9, atol=1e-12), f"{name} was learned otherwise"


def is_free(lock):
    """Whether a lock can be taken by somebody else."""
    taken = []
    thread = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False) and not lock.release()))
    thread.start()
    thread.join()
    return taken == [True]


def cut_short(template, call, stop, error, again=None):
    """Cut a call short at line number `stop`, go on, and check; return whether that line was reached."""
    player = copy.deepcopy(template)
    before, given_up = player.waiting(), call.gives_up
    asked = player.optimizer._asked
    if not attempt(player, call, stop, error):
        return None
    assert is_free(player.optimizer._lock), "the optimizer is locked"
    if again is not None:  # what repairs must stand being cut short, too
        attempt(player, call if again % 2 else Call("look", lambda one: one.waiting()), again, error)
        assert is_free(player.optimizer._lock), "the optimizer is locked"
    if stop % 3 == 1 and call.kind == "tell":
        with contextlib.suppress(AlreadyTold, RoundClosed):
            call.do(player)
    elif stop % 3 == 2 and call.kind != "ask":
        one = player.ask()
        assert one.id == asked, "an id was skipped, though nothing was asked"
    gone = player.note(before, given_up)
    if call.whole is not None:
        told = set(call.whole(template)) & before
        assert not gone & told or told <= gone, "half of a call was recorded"
    elif call.kind == "ask" and not given_up:
        assert not gone
    player.finish(call.more)
    player.check()
    return player


def attempt(player, call, stop, error):
    try:
        with Tracer(stop, error) as tracer:
            call.do(player)
    except error:
        return True
    except (AlreadyTold, RoundClosed):  # a second attempt at what was recorded before it was cut short
        return True
    except InvalidLoss:  # what is raised while a loss is converted is not passed on
        return error is Cut
    finally:
        sys.settrace(None)
    return len(tracer.lines) >= stop


class Call:
    """A call to cut short: what it does, what it brings with it, and how to go on."""

    def __init__(self, kind, do, *, gives_up=False, whole=None, more=4):
        self.kind, self.do, self.gives_up, self.whole, self.more = kind, do, gives_up, whole, more


def lines_of(template, call):
    """The lines that a call executes."""
    player = copy.deepcopy(template)
    with Tracer() as tracer:
        call.do(player)
    return tracer.lines
