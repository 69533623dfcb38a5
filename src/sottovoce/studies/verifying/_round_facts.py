"""What must be true of a round by its plan: its size, its actions, which losses it wanted, and what they weigh."""

from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._records import part
from sottovoce.errors import StudyDamaged
from sottovoce.exploration import Exploration, Explorer, Record
from sottovoce.exploration.posterior import PosteriorProbes
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.studies.database.rows import draw_from_record
from sottovoce.studies.database.tables import DROPPED, OPEN, RELEASED
from sottovoce.studies.session.open_round import TERMS
from sottovoce.studies.verifying._examiner import Examiner
from sottovoce.studies.verifying._noise_signs import NoiseSigns

__all__ = ["RoundFacts", "on_its_terms", "resumed"]

_EVENTS = ("actions", "wants", "index", "sign", "rows")  # of a stretch of actions: one entry for each event


def resumed(epoch: Epoch, public: Record) -> Exploration:
    """Return a round's exploration, as it was drawn."""
    drawn = {"waiting": np.empty((0, 2)), **part(public, "exploration")}
    return epoch.explorer.resume(public["point"], drawn)


def on_its_terms(explorer: Explorer, public: Record) -> None:
    """Let an explorer of a segment take for granted what a round did: how many events it may have, of how many."""
    if isinstance(explorer, PosteriorProbes) and "terms.segments" in public:
        explorer.stand_alone(public["terms.reach"], **{name: public[f"terms.{name}"] for name in TERMS})


def _can_draw(exploration: Exploration, record: Record, public: Record) -> bool:
    try:
        draw = draw_from_record(record, exploration)
    except StudyDamaged:
        return False
    return exploration.can_draw(draw, record["first"] - public["first"])


class RoundFacts:
    """Checks the rounds of an epoch, in order; faults are added to those of the examiner.

    Parameters
    ----------
    examiner
        That has looked at the rows.
    epoch
        That has learned again.
    known
        What its explorer knew after 0, 1, 2, ... rounds: lengths of rounds may follow from it.
    steps
        The largest integer of a loss; None if reports have no bounds.
    """

    def __init__(self, examiner: Examiner, epoch: Epoch, known: list[Any], steps: int | None) -> None:
        self._examiner, self._epoch, self._known, self._steps = examiner, epoch, known, steps
        self._signs: NoiseSigns | None = None
        if epoch.plan.noise is not None and steps is not None and not examiner.simulated:  # which may come again
            self._signs = NoiseSigns(epoch.plan.noise, steps)

    def check(self, rows: list[Any]) -> None:
        """Check all rounds."""
        passed, horizon, expect = 0, self._epoch.plan.horizon, self._examiner.expect
        for row in rows:
            what, public = f"round {row.number}", self._examiner.public[row.number]
            exploration = resumed(self._epoch, public)
            expect(exploration.is_possible(), f"{what} has probes that its plan does not draw")
            due = self._check_beginning(what, row, exploration, passed)
            self._check_size(what, row, due, last=passed + due == horizon)
            self._check_losses(what, self._examiner.losses.get(row.number, []))
            planned = getattr(self._epoch.plan.options, "directions", exploration.numbers)
            known = planned == exploration.numbers
            expect(known, f"{what} has {exploration.numbers} directions, and its plan others")
            for record in self._examiner.drawn.get(row.number, []):
                lengths = {len(record[name]) for name in _EVENTS if name in record}
                fits = len(lengths) == 1 and _can_draw(exploration, record, public)
                expect(fits, f"the actions from event {record['first']} on are not those of {what}")
            if row.state == RELEASED:
                self._check_release(what, exploration, public, self._examiner.released[row.number])
            passed += public["size"]
        self._examiner.faults += [] if self._signs is None else self._signs.faults()

    def _check_beginning(self, what: str, row: Any, exploration: Exploration, passed: int) -> int:
        """Check what follows from the rounds that were learned from when a round began; return the events it has."""
        explorer, known, public = self._epoch.explorer, self._known, self._examiner.public[row.number]
        explorer.go_back(known[min(public.get("learned") or 0, len(known) - 1)])
        on_its_terms(explorer, public)
        due = min(explorer.round_size(passed), self._epoch.plan.horizon - passed)
        fits = exploration.can_begin(passed, due)
        explorer.go_back(known[-1])
        over = row.state != OPEN and "exploration.waiting" not in public  # then nothing says what would have come next
        if public["size"] == due and not over:  # uncut
            fits = fits and exploration.can_go_on(public["opened"])
        self._examiner.expect(fits, f"{what} has probes that do not follow from where it began")
        return due

    def _check_losses(self, what: str, pieces: list[Integers]) -> None:
        for integers in pieces:
            if self._steps is None:
                valid = bool(self._epoch.grid.channel.valid(integers))  # type: ignore[attr-defined]
            else:
                valid = bool(((integers >= 0) & (integers <= self._steps)).all())
            self._examiner.expect(valid, f"{what} has losses outside their range")

    def _check_size(self, what: str, row: Any, due: int, *, last: bool) -> None:
        public, expect = self._examiner.public[row.number], self._examiner.expect
        size, drawn = public["size"], public.get("exploration.drawn")
        # A restoration drops what was not asked: of rounds that were open, or had all the losses that they wanted.
        droppable = row.state == DROPPED or "wanted" in self._examiner.released.get(row.number, {})
        cut = droppable and self._examiner.rows.study.generation > 1 and size < due
        expect(size == due or cut, f"{what} has {size} events, and its plan says {due}")
        expect(public.get("exploration.size", due) == due, f"{what} has probes for another size")
        expect(public["last"] == last, f"{what} is {'' if last else 'not '}the last of its epoch")
        expect(cut or drawn in (None, public["opened"]), f"{what} has drawn {drawn} events")

    def _check_release(self, what: str, exploration: Exploration, public: Record, record: Record) -> None:
        size = public["exploration.size" if "exploration.size" in public else "size"]  # uncut
        wanted, weights, expect = record.get("wanted", np.arange(size)), record["weights"], self._examiner.expect
        expect(exploration.can_want(wanted, size), f"{what} wanted losses that its probes do not need")
        if weights.shape != (exploration.numbers,):
            return  # said elsewhere
        expect(exploration.can_weigh(weights, size), f"the release of {what} has weights that its actions do not have")
        counts = exploration.counts(weights, size)
        if self._signs is not None:
            self._signs.add(record["numbers"], counts)
        elif self._epoch.plan.noise is None and self._steps is not None and counts is not None:
            low, high = -counts[0] * self._steps, counts[1] * self._steps
            possible = bool(((low <= record["numbers"]) & (record["numbers"] <= high)).all())
            expect(possible, f"the release of {what} is not a sum of its losses")
