"""The ways in which losses arrive: each plays a whole run, the same in both worlds but for the person's losses."""

import math
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sottovoce import playing
from sottovoce._arrays import Floats
from sottovoce.auditing.playing.public_views import listening, without
from sottovoce.auditing.playing.transcripts import Harness, Transcript
from sottovoce.auditing.playing.worlds import PAIRS, Neighbours, OneOfTwo
from sottovoce.learning import Actions

_MOST_EVENTS = 448  # where the horizon is unknown: all of the first epoch, and a part of the second
_THREADS = 3
_LOOKS = 2  # over a run; besides those that follow the person's losses, and the last


class _Answer(NamedTuple):
    id: Any
    loss: float | None  # None: it will not come
    of_person: bool


class _Asked(NamedTuple):
    ids: list[Any]
    x: list[Floats]  # decisions, each of its own length: the set may change within a block


class _Run:
    """One run under way, and whether all that is public is looked at on the way."""

    def __init__(self, harness: Harness, worlds: Neighbours, watched: bool) -> None:
        self.harness, self._events, self._watched = harness, worlds.events, watched
        self._gaps = None in PAIRS[worlds.pair]
        self.waiting: list[_Answer] = []  # asked, and told later, or never
        self.coins = np.random.default_rng(0)  # the order is public, and the same in both worlds
        self.transcript = Transcript()
        self._ids: dict[Any, str] = {}  # where they are another in every run, with their numbers
        self.total = _MOST_EVENTS if harness.remaining is None else harness.remaining

    @property
    def asked(self) -> int:
        return len(self.transcript.actions)

    @property
    def goes_on(self) -> bool:
        return self.asked < self.total

    def ask_round(self, most: int | None = None) -> _Asked:
        """Ask for the rest of a round, all of it, and write down what is seen of it."""
        return self.ask(None)

    def ask(self, size: int | None) -> _Asked:
        """Ask, and write down what is seen."""
        seen, first = self.transcript, self.asked
        actions: Actions = self.harness.ask(size)
        call = seen.rounds[-1] + 1 if seen.rounds else 0
        asked = _Asked(actions.ids.tolist(), [one.x for one in actions])
        seen.actions.extend(asked.x)
        seen.wanted.extend(actions.wants_loss.tolist())
        seen.rounds.extend([call] * len(asked.ids))
        if self._watched:
            drawn = [(event, one) for event, one in enumerate(asked.ids, first) if _is_drawn(one)]
            self._ids |= {one: f"<id {event}>" for event, one in drawn}
        return asked

    def answers(self, ids: list[Any], losses: list[float | None]) -> list[_Answer]:
        """Return ids with the losses that they have in this world: of what was asked last."""
        events = range(self.asked - len(ids), self.asked)
        return [_Answer(one, loss, event in self._events) for event, one, loss in zip(events, ids, losses, strict=True)]

    def hand_in(self, answers: list[_Answer]) -> None:
        """Tell a block, and say of the rest of it that it will not come.

        Which segment's round is released first follows from when losses come, and that is public. So where a world has
        losses that do not come, both are told segment by segment, for the same order.
        """
        parts = self.harness.parts([answer.id for answer in answers]) if self._gaps else [list(range(len(answers)))]
        for part in parts:
            told = [answers[i] for i in part if answers[i].loss is not None]
            gone = [answers[i].id for i in part if answers[i].loss is None]
            if told:
                self.harness.tell(np.array([answer.id for answer in told]), np.array([answer.loss for answer in told]))
            if gone:
                self.harness.forget(np.array(gone))
        self.note(answers)

    def hand_in_one(self, answer: _Answer) -> None:
        """Tell one loss, in the way that is for single losses."""
        if answer.loss is None:
            self.harness.forget([answer.id])
        else:
            self.harness.tell(answer.id, answer.loss)

    def note(self, answers: Sequence[_Answer] = ()) -> None:
        """Write down how many rounds are closed; and look, if it is time, or if these answers are the person's."""
        counters = self.transcript.counters
        counters.append(self.harness.closed)
        if self._watched:
            theirs = next((answer for answer in answers if answer.of_person), None)
            if theirs is not None or len(counters) % max(1, self.total // _LOOKS) == 0:
                self.transcript.views.append(self._look() | self._refused(theirs or next(iter(answers), None)))

    def _look(self) -> dict[str, Any]:
        seen: dict[str, Any] = self.same(self.harness.look())
        return seen

    def same(self, seen: Any) -> Any:
        """Return what was seen, in words that do not depend on which run it is."""
        return without(seen, self.harness.own | self._ids)

    def _refused(self, answer: _Answer | None) -> dict[str, Any]:
        """Return what is said to calls that are to be refused: a second loss for an id, and no number."""
        if answer is None or answer.loss is None:
            return {}
        return {
            f"the refusal of {words}": self._refusal(answer.id, loss)
            for words, loss in (
                ("a second loss", answer.loss),
                ("no number", math.nan),
                ("infinity", math.copysign(math.inf, answer.loss)),
            )
        }

    def _refusal(self, one: Any, loss: float) -> str:
        try:
            self.harness.tell(one, loss)
        except Exception as refused:  # whatever it is, somebody sees it
            return str(self.same(f"{type(refused).__name__}: {refused}"))
        return "none"

    def end(self) -> None:
        """Look twice: what is the same number must be the same, however often it is read."""
        if self._watched:
            first, second = self._look(), self._look()
            settled = [name for name in first if name not in self.harness.unsettled]
            self.transcript.views.append(first)
            self.transcript.changed = [name for name in settled if first[name] != second.get(name)]


def _is_drawn(one: Any) -> bool:
    """Whether an id has something random in it: numbers do from the second incarnation on."""
    return isinstance(one, str) or one >= 2**32


def play(harness: Harness, worlds: Neighbours, world: int, *, watched: bool = False) -> Transcript:
    """Play a run from its first ask to its last tell, in world 0 or 1.

    Parameters
    ----------
    harness
        What is played on.
    worlds
        The pair of worlds.
    world
        Which of them.
    watched
        Whether all that is public is written down as well, on the way and in the end.
    """
    run, schedule = _Run(harness, worlds, watched), _SCHEDULES[worlds.schedule]

    def tell(asked: Any, losses: list[float | None]) -> None:
        schedule.tell(run, run.answers(asked.ids, losses))

    with listening(run.transcript.said) if watched else nullcontext():
        try:
            here = OneOfTwo(worlds, world, harness.loss_range)
            for _ in playing.play(run, here, run.total, schedule.size(run.total), tell=tell):
                pass
            run.end()
        finally:
            harness.close()
    run.transcript.said = run.same(run.transcript.said)
    run.transcript.released = harness.released
    return run.transcript


def _one_by_one(run: _Run, answers: list[_Answer]) -> None:
    for answer in answers:
        run.hand_in_one(answer)
        run.note([answer])


def _shuffled(run: _Run, answers: list[_Answer]) -> None:
    run.waiting = run.waiting + answers
    if not run.goes_on or len(run.waiting) >= run.total // 2:
        _one_by_one(run, [run.waiting[i] for i in run.coins.permutation(len(run.waiting))])
        run.waiting = []


def _in_pieces(run: _Run, answers: list[_Answer]) -> None:
    """Tell the second half before the first."""
    middle = (len(answers) + 1) // 2
    for part in (answers[middle:], answers[:middle]):
        if part:
            run.hand_in(part)


def _from_threads(run: _Run, answers: list[_Answer]) -> None:
    def tell(part: list[_Answer]) -> None:
        for answer in part:
            run.hand_in_one(answer)

    at_once([partial(tell, answers[i::_THREADS]) for i in range(_THREADS)])
    run.note(answers)


def at_once(calls: Sequence[Callable[[], None]]) -> None:
    """Carry out calls at once, each in a thread of its own.

    Parameters
    ----------
    calls
        What to carry out.
    """
    threads = [threading.Thread(target=one) for one in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _with_gaps(run: _Run, answers: list[_Answer]) -> None:
    """In every round somebody else's loss does not come: it is given up once the next round is asked, or times out."""
    if run.waiting and run.harness.patient:
        run.harness.forget(np.array([answer.id for answer in run.waiting]))
        run.note()
    run.waiting = next(([answer] for answer in answers if not answer.of_person), [])
    run.hand_in([answer for answer in answers if answer not in run.waiting])


def _renewed(run: _Run, answers: list[_Answer], how: str = "renewed") -> None:
    _one_by_one(run, answers)
    if run.asked == run.total // 2:
        run.harness.renew(how)


class _Schedule(NamedTuple):
    """How the losses of what was asked are told; and of a whole run, how many events are asked for at once."""

    tell: Callable[[_Run, list[_Answer]], None]
    size: Callable[[int], int | None] = lambda total: None  # rounds


_SCHEDULES = {
    "block": _Schedule(_Run.hand_in),
    "single": _Schedule(_one_by_one, lambda total: 1),
    "shuffled": _Schedule(_shuffled),
    "pieces": _Schedule(_in_pieces, lambda total: max(2, total // 3 + 1)),  # a size that no round has
    "threads": _Schedule(_from_threads),
    "gaps": _Schedule(_with_gaps),
    "renewed": _Schedule(_renewed, lambda total: 1),
    "restored": _Schedule(partial(_renewed, how="restored"), lambda total: 1),
}
