"""Checks of everything that is stored: checksums first, then what must be true between the rows."""

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._records import checksum
from sottovoce.errors import StudyDamaged
from sottovoce.exploration import Record
from sottovoce.learning.bandit.saved_state import coins_from_record
from sottovoce.studies.database.cells import LONGEST, Cell, cell_of, entries
from sottovoce.studies.database.snapshot import Snapshot, tried
from sottovoce.studies.database.tables import DROPPED, OPEN, RELEASED, UNRELEASED
from sottovoce.studies.session.counters import Counters

__all__ = ["MALFORMED", "Examiner"]


MALFORMED = (KeyError, ValueError, TypeError, IndexError, AttributeError, ArithmeticError, AssertionError)

_STATES = (OPEN, RELEASED, UNRELEASED, DROPPED)
_NOT_ASKED = "%s has losses for actions that were not asked, or not wanted"
_PUBLIC = {"number", "epoch", "first", "size", "last", "opened", "point"}


class Examiner:
    """Looks at a snapshot piece by piece; what is wrong is in `faults`, in words, and never a loss among them.

    Parameters
    ----------
    snapshot
        Of a study.
    shares_clock
        Whether it is of a segment: patience counts positions of all of them.
    """

    def __init__(self, snapshot: Snapshot, *, shares_clock: bool = False) -> None:
        self.rows, self.shares_clock = snapshot, shares_clock
        self.faults: list[str] = []
        self.public: dict[int, Record] = {}  # of rounds, by number
        self.released: dict[int, Record] = {}
        self.made: dict[int, Record] = {}  # of epochs
        self.learned: dict[int, Record] = {}
        self.drawn: dict[int, list[Record]] = {}  # actions at hand, by round
        self.losses: dict[int, list[Integers]] = {}  # that are stored, by round: they go nowhere but into checks
        self.simulated = False  # what the configuration says of the noise

    def examine(self) -> None:
        """Check all that can be checked without a domain."""
        self.told, self.forgotten = 0, 0  # losses on record of open rounds
        steps = {"study": self._study, "epochs": self._epochs, "rounds": self._rounds, "actions": self._blocks}
        for what, step in (steps | {"losses": self._cells, "counters": self._counters}).items():
            try:
                step()
            except MALFORMED as problem:  # its checksum fits, but it is not what a study writes
                self.faults.append(f"the {what} cannot be read: {type(problem).__name__}")

    def expect(self, holds: bool, fault: str) -> bool:
        """Note a fault unless something holds."""
        if not holds:
            self.faults.append(fault)
        return holds

    # ------------------------------------------------------------------ the study and its epochs

    def _study(self) -> None:
        row = self.rows.study
        counters = Counters(**{one.name: getattr(row, one.name) for one in fields(Counters)})
        try:
            sealed = bytes(row.seal) == counters.seal()
        except TypeError:
            sealed = False
        self.expect(sealed, "the counters fail their checksum")
        coins = tried("the public coins", row.coins, self.faults)
        if coins is not None:
            try:
                np.random.Generator(np.random.SFC64(0)).bit_generator.state = coins_from_record(coins)
            except (KeyError, ValueError, TypeError):
                self.faults.append("the public coins are not the state of a generator")
        self.expect(0 <= row.erased <= row.closed, f"{row.erased} rounds are erased, of {row.closed} that are closed")
        self.expect(0 <= row.returned <= row.asked, f"{row.returned} events were given back, of {row.asked}")

    def _epochs(self) -> None:
        first = 0
        for place, row in enumerate(self.rows.epochs):
            what = f"epoch {row.number}"
            self.expect(row.number == place, f"{what} follows epoch {place - 1}")
            made = tried(what, row.made, self.faults)
            learned = tried(f"what {what} has learned", row.learned, self.faults)
            if made is None:
                continue
            length = int(made["plan"]["horizon"])
            self.made[row.number] = made
            self.expect(made["first"] == first, f"{what} begins with event {made['first']}, not {first}")
            self.expect(0 <= row.passed <= length, f"{what} has opened {row.passed} of {length} events")
            last = place == len(self.rows.epochs) - 1
            self.expect(last or row.passed == length, f"{what} is over, with {row.passed} of {length} events opened")
            first += length
            if learned is not None:
                self.learned[row.number] = learned
                self.expect(learned["first"] == made["first"], f"what {what} has learned is another epoch's")
                in_order = learned["passed"] <= row.passed and learned["opened"] <= row.opened
                self.expect(in_order, f"what {what} has learned is ahead of its counters")

    # ------------------------------------------------------------------ rounds

    def _rounds(self) -> None:
        closed = sum(row.state != OPEN for row in self.rows.rounds)
        self.expect(
            closed == self.rows.study.closed,
            f"{closed} rounds are closed, and the counter says {self.rows.study.closed}",
        )
        event: int | None = 0
        self._given_back = {row.round for row in self.rows.cells if row.given_back}
        for place, row in enumerate(self.rows.rounds):
            what = f"round {row.number}"
            self.expect(row.number == place, f"{what} follows round {place - 1}")
            self.expect(row.state in _STATES, f"{what} is in an unknown state")
            self.expect((row.state == OPEN) == (place >= closed), f"{what} is {row.state}, out of order")
            public = tried(what, row.public, self.faults)
            if public is None or not self.expect(public.keys() >= _PUBLIC, f"{what} is incomplete"):
                event = None
                continue
            self.public[row.number] = public
            self.expect(public["number"] == row.number, f"{what} holds round {public['number']}")
            self.expect(event in (None, public["first"]), f"{what} begins with event {public['first']}, not {event}")
            event = public["first"] + public["size"]
            self._size(what, public, newest=place == len(self.rows.rounds) - 1)
            self._full(what, row, public)
            self._release(what, row, public)
        self._epoch_counts()

    def _size(self, what: str, public: Record, *, newest: bool) -> None:
        size, opened = public["size"], public["opened"]
        self.expect(0 < opened <= size, f"{what} has {opened} of {size} events opened")
        self.expect(newest or opened == size, f"{what} has {opened} of {size} events opened, and others follow it")
        self.expect(public["epoch"] in self.made, f"{what} belongs to epoch {public['epoch']}, which is not stored")
        self.expect(bool(np.isfinite(public["point"]).all()), f"the point of {what} is not finite")

    def _full(self, what: str, row: Any, public: Record) -> None:
        whole, after = public["first"] + public["size"], row.full_after
        if after is not None:  # not always before the next: its end may have been given back, and asked again
            possible = whole <= after <= self.rows.study.asked
            if self.shares_clock:  # positions of other segments count, too, and may be given back
                possible = whole <= after
            self.expect(possible, f"{what} was asked to its end by event {after}, which cannot be")
        if row.state == OPEN:
            asked_all = self.rows.study.asked >= whole
            noted = (row.full_at is not None) and (row.full_after is not None)
            not_noted = row.full_at is None and row.full_after is None
            back = row.number in self._given_back
            in_order = (asked_all and (noted or (back and not_noted))) or (not asked_all and not_noted)
            self.expect(in_order, f"{what}: when it was asked to its end is not in order")

    def _release(self, what: str, row: Any, public: Record) -> None:
        """Check that a closed round has one release, or says why it has none; and an open one has nothing."""
        if row.state == OPEN:
            self.expect(row.released is None, f"{what} is open, and has a release")
            return
        self.expect(row.whole == 1, f"{what} is {row.state}, and says that it wants losses")
        record = tried(f"the release of {what}", row.released, self.faults)
        if record is None:
            return
        self.released[row.number] = record
        self.expect(record.get("number") == row.number, f"the release of {what} is another round's")
        has_numbers = "numbers" in record
        if row.state == DROPPED:
            self.expect(bool(record.get("dropped")) and not has_numbers, f"{what} was dropped, and has a release")
            return
        self.expect(has_numbers == (row.state == RELEASED), f"{what} is {row.state}, and its release says otherwise")
        self.expect(has_numbers != public["last"], f"{what} is {'' if public['last'] else 'not '}the last of its epoch")
        if has_numbers:
            numbers, weights = record["numbers"], record["weights"]
            fine = numbers.shape == weights.shape and numbers.ndim == 1 and bool(np.isfinite(numbers).all())
            self.expect(fine and weights.dtype.kind == "i", f"the release of {what} has numbers of the wrong kind")
        missing, wanted = record["missing"], record.get("wanted", np.arange(public["size"]))
        self.expect(bool(np.isin(missing, wanted).all()), f"{what} misses losses that nobody wanted")
        self.expect(not len(wanted) or 0 <= wanted.min() <= wanted.max() < public["size"], f"{what} wants too much")

    def _epoch_counts(self) -> None:
        for row in self.rows.epochs:
            mine = [one for one in self.public.values() if one["epoch"] == row.number and one["opened"] == one["size"]]
            events = sum(one["size"] for one in mine)
            found = f"epoch {row.number} counts {row.opened} rounds with {row.passed} events"
            self.expect((row.opened, row.passed) == (len(mine), events), f"{found}, and has {len(mine)} with {events}")

    # ------------------------------------------------------------------ blocks and losses

    def _blocks(self) -> None:
        self.wanted: dict[int, list[np.ndarray[Any, Any]]] = {}  # of open rounds: which slots wait for a loss
        covered: dict[int, list[tuple[int, int]]] = {}
        for row in self.rows.blocks:
            what = f"the actions from event {row.first} on"
            record, public = tried(what, row.draw, self.faults), self.public.get(row.round)
            if record is None or not self.expect(public is not None, f"{what} are of round {row.round}, not stored"):
                continue
            count = len(record["rows"] if "rows" in record else record["index"])
            self.drawn.setdefault(row.round, []).append(record)
            covered.setdefault(row.round, []).append((row.first, row.first + count))
            wants = record.get("wants", np.ones(count, dtype=bool))
            self.expect(record["first"] == row.first and len(wants) == count, f"{what} are not in order")
            self.wanted.setdefault(row.round, []).append(np.asarray(wants))
        for row in self.rows.rounds:
            if row.number in self.public:
                self._coverage(row, self.public[row.number], covered.get(row.number, []))

    def _coverage(self, row: Any, public: Record, stretches: list[tuple[int, int]]) -> None:
        """Check that an open round has all of its actions, and a closed one only those that were not asked yet."""
        first, end, asked = public["first"], public["first"] + public["opened"], self.rows.study.asked
        joined = all(before[1] == after[0] for before, after in pairwise(stretches))
        if row.state == OPEN:
            whole = bool(stretches) and (stretches[0][0], stretches[-1][1]) == (first, end)
            self.expect(joined and whole, f"round {row.number} is open, and not all of its actions are stored")
        elif stretches:
            late = stretches[0][1] > asked and stretches[-1][1] == end
            self.expect(joined and late, f"round {row.number} is closed, and actions that were asked are still stored")
        else:
            self.expect(asked >= end, f"round {row.number} is closed, and actions that were not asked are not stored")

    def _cells(self) -> None:
        """Check the losses that are stored; count them, and those that are noted as missing."""
        states, found = {row.number: row.state for row in self.rows.rounds}, dict[int, list[Cell]]()
        names = ("round", "first", "size", "wanted", "told", "missing", "given_back", "closed", "losses")
        for row in self.rows.cells:
            state = states.get(row.round)
            if not self.expect(state == OPEN, f"losses of round {row.round} are stored, and it is {state or 'gone'}"):
                continue
            try:
                cell = cell_of(*(getattr(row, name) for name in names))
            except StudyDamaged:
                self.faults.append(f"a stretch of round {row.round} is not as long as it should be")
                continue
            ours = row.generation == self.rows.study.generation and row.given_back in (0, 1)
            self.expect(ours, f"a stretch of round {row.round} is of another life")
            found.setdefault(row.round, []).append(cell)
        for number, public in self.public.items():
            if states.get(number) == OPEN:
                self._stretches(number, public, found.get(number, []))
        back = sum(cell.size for mine in found.values() for cell in mine if cell.given_back)
        self.expect(
            back == self.rows.study.returned, f"{back} events are to be had again, not {self.rows.study.returned}"
        )

    def _stretches(self, number: int, public: Record, mine: list[Cell]) -> None:
        """Check that the cells of an open round are all that was reserved of it, each with what it was told."""
        asked, at = min(public["opened"], max(0, self.rows.study.asked - public["first"])), 0
        wanted = np.concatenate(self.wanted.get(number, [np.empty(0, dtype=bool)]))
        for cell in mine:
            fits = cell.first == at and 0 < cell.size <= LONGEST and cell.end <= min(asked, len(wanted))
            if not self.expect(fits, f"the stretches of round {number} do not fit together"):
                return
            at = cell.end
            self._told(cell, wanted[cell.first : cell.end])
        self.expect(at == asked, f"the stretches of round {number} are not all that was reserved of it")
        row = next(one for one in self.rows.rounds if one.number == number)
        whole = public["opened"] == public["size"] and not wanted[asked:].any()
        self.expect(
            row.whole == whole, f"round {number} is {'' if whole else 'not '}reserved as far as it wants losses"
        )

    def _told(self, cell: Cell, wanted: NDArray[np.bool_]) -> None:
        what, filled = f"round {cell.round}", np.zeros(cell.size, dtype=bool)
        try:
            told = list(entries(cell.round, cell.losses))
        except StudyDamaged:
            self.faults.append(f"losses of {what} fail their checksum")
            return
        counts = [0, 0]
        for slots, integers in told:
            inside = slots - cell.first
            if not self.expect(bool(len(slots)) and 0 <= inside.min() <= inside.max() < cell.size, _NOT_ASKED % what):
                return
            twice = bool(filled[inside].any()) or len(np.unique(inside)) < len(inside)
            self.expect(not twice, f"{what} has two losses for one action")
            self.expect(bool(wanted[inside].all()), _NOT_ASKED % what)
            filled[inside] = True
            counts[integers is None] += len(slots)
            if integers is not None:
                self.losses.setdefault(cell.round, []).append(integers)
        self.told, self.forgotten = self.told + counts[0], self.forgotten + counts[1]
        closed = bool((cell.closed == (filled | ~wanted)).all())
        counted = (cell.wanted, cell.told, cell.missing) == (int(wanted.sum()), *counts)
        self.expect(closed and counted, f"{what} has a stretch that does not say what it was told")
        self.expect(not (cell.given_back and filled.any()), f"{what} was told losses of actions that were given back")

    # ------------------------------------------------------------------ counters

    def _counters(self) -> None:
        counters = self.rows.study
        if self.rows.rounds and len(self.public) == len(self.rows.rounds):
            newest = self.public[self.rows.rounds[-1].number]
            first, end = newest["first"], newest["first"] + newest["opened"]
            self.expect(first < counters.asked <= end, f"{counters.asked} events are asked, and {end} are opened")
        elif not self.rows.rounds:
            self.expect(counters.asked == 0, f"{counters.asked} events are asked, and no round is stored")
        told, forgotten, dropped = 0, 0, 0
        for row in self.rows.rounds:
            record, size = self.released.get(row.number), self.public.get(row.number, {}).get("size", 0)
            if row.state == DROPPED and record is not None and "told" in record:
                told, forgotten = told + record["told"], forgotten + record["forgotten"]
            elif row.state == DROPPED:  # rounds of old do not say how far they had come
                dropped += size
            elif record is not None and "missing" in record:
                missing = len(record["missing"])
                told += len(record["wanted"] if "wanted" in record else range(size)) - missing
                forgotten += missing
        if not self.faults:  # otherwise the sums mean nothing
            self.expect(
                told <= counters.told <= told + dropped, f"{counters.told} losses are told, and {told} on record"
            )
            least, most = forgotten, forgotten + dropped
            self.expect(
                least <= counters.forgotten <= most, f"{counters.forgotten} are forgotten, and {least} on record"
            )

    def key_matches(self, record: Record) -> bool:
        """Whether the key of ids is the one that the study was made with."""
        expected = record.get("key_check")
        return expected is None or checksum(bytes(self.rows.study.key)).hex() == expected
