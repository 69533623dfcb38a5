"""How segments inform each other: what is believed of one is the prior of another, as far as they are alike.

The coefficients of segment s are a sum: what everybody has in common, effects of its factors' levels, effects of its
features, and a residual of its own. Each part is Gaussian, and has a share of the prior variance of one segment alone.
Given the common parts, segments are independent; so of each segment a matrix and a vector are all that others need to
know (its measurements, the residual integrated out), and a segment's prior is what all others say of its common parts,
plus its residual. That is exact, and costs the cube of the coefficients, however many segments there are.

Shares are those under which what was released is most likely (the marginal likelihood), one step of a grid at a time.
All of it is a function of released numbers.

Tests: tests/exploration/test_kinship.py compares it with the joint Gaussian, written out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats, Integers
from sottovoce.exploration.posterior.segments import Segments

__all__ = ["SHARES", "Evidence", "Kin", "Kinship", "Likeness", "Prior", "check_room"]

SHARES = (0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""What a part of the coefficients may have of their prior variance."""
_MOST_COEFFICIENTS, _MOST_COMMON = 601, 2500  # of a segment, and of all that segments have in common: cubes of these
_FIRST = 4  # of SHARES, before anything is known
_DECADES = 1.5  # by which a share is expected to differ from the first one: the prior of the shares
_AGAIN = 1.5  # as many numbers as at the last time, and shares are learned again


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was released of one segment: measurements of its coefficients, as a precision and a pull; and of variances.

    Attributes
    ----------
    precision, pull
        Sum of w x x^T, and of w y x, over measurements y of <x, coefficients> with precisions w.
    squares, weight, place
        What decisions drawn twice say of the variance of a loss: a weighed sum of squares, the weight, and that times
        the mean loss.
    numbers
        Released numbers behind it.
    era
        How often all was forgotten: segments of another era are of another world.
    scores
        How well choices of a belief have predicted, if they are the same for all segments.
    """

    precision: Floats
    pull: Floats
    squares: float = 0.0
    weight: float = 0.0
    place: float = 0.0
    numbers: int = 0
    era: int = 0
    scores: tuple[Floats, ...] = ()


@dataclass(frozen=True, eq=False)
class Prior:
    """What others say of a segment's coefficients, and of the variance of its losses.

    Attributes
    ----------
    precision, pull
        Of a Gaussian, in place of what is believed of one segment alone.
    squares, weight, place
        As in `Evidence`, summed over the others.
    scores
        What all others have found to predict best, summed; empty if beliefs choose nothing in this way.
    era
        Of most events of all segments: who is of an earlier one has not noticed that the world has changed.
    """

    precision: Floats
    pull: Floats
    squares: float
    weight: float
    place: float
    scores: tuple[Floats, ...] = ()
    era: int = 0


class Kin(Protocol):
    """What a segment has to say, for others to be informed by it."""

    def evidence(self) -> Evidence:
        """What was released of it."""

    @property
    def known(self) -> object:
        """What was learned, as one value: the same object as long as nothing new is."""


class Coefficients(Protocol):
    """What is believed of coefficients before anything is known: the same for all segments."""

    @property
    def prior_mean(self) -> Floats:
        """Of the coefficients, before anything is known."""

    @property
    def prior_root(self) -> Floats:
        """R with R R^T the prior covariance of the coefficients."""

    @property
    def level_place(self) -> int:
        """Which of the coefficients is the level, whose share is its own."""


@dataclass(frozen=True)
class Likeness:
    """How alike segments are: places in `SHARES`.

    Attributes
    ----------
    residual
        What a segment has of its own.
    level
        What the level of its losses has of its own.
    effects
        What factors, and features, have: one for each group after the first.
    """

    residual: int = _FIRST
    level: int = len(SHARES) - 1
    effects: tuple[int, ...] = ()

    def places(self) -> tuple[int, ...]:
        """Return all of them in a row."""
        return self.residual, self.level, *self.effects

    @classmethod
    def at(cls, places: Sequence[int]) -> "Likeness":
        """Return what has these in a row.

        Parameters
        ----------
        places
            As `places` returns them.
        """
        return cls(int(places[0]), int(places[1]), tuple(int(one) for one in places[2:]))

    def shares(self) -> tuple[float, tuple[float, ...]]:
        """Return the shares of the residual, and of everybody and the effects: they add up to one."""
        own, effects = SHARES[self.residual], [SHARES[one] for one in self.effects]
        common = max(SHARES[0], 1 - own - sum(effects))
        whole = own + sum(effects) + common
        return own / whole, tuple(one / whole for one in (common, *effects))


class _Variances(NamedTuple):
    """Prior variances of common parts, and of what a segment has of its own, in units of the prior."""

    likeness: Likeness
    common: Floats
    own: Floats


class _Integrated(NamedTuple):
    """What segments say of their common parts; and what its likelihood is made of."""

    informs: Floats
    says: Floats
    quadratic: float
    inner: Floats  # whose determinant counts


class _Family(NamedTuple):
    """The segments: what each shares with others, and what it has to say. Replaced as a whole."""

    rows: Floats
    members: tuple[Kin, ...]


class Kinship:
    """What segments know of each other.

    Parameters
    ----------
    segments
        Whom decisions are for.
    like
        What is believed of each segment before anything is known.
    """

    def __init__(self, segments: Segments, like: Coefficients) -> None:
        self._groups = segments.groups
        self._root, self._mean, self._level = like.prior_root, like.prior_mean, like.level_place
        self._inverse = np.linalg.inv(self._root)
        self._size = len(self._mean)
        self.likeness = Likeness(effects=(_FIRST,) * (len(self._groups) - 1))
        self._family = _Family(np.empty((0, sum(size for _, size in self._groups))), ())
        self._learned = 0  # numbers that there were when the likeness was learned
        self._heard = _Heard.of(0, self._size)
        self._variances: _Variances | None = None

    def join(self, row: Floats, member: Kin, place: int | None = None) -> None:
        """Take in a segment.

        Parameters
        ----------
        row
            What it shares with others, as `Segments.row` says it.
        member
            What it has to say.
        place
            Of the segment, if a call that was cut short may have seated one there; the next one by default.
        """
        rows, members = self._family
        place = len(members) if place is None else place
        self._family = _Family(np.vstack([rows[:place], row]), (*members[:place], member))

    def replace(self, place: int, member: Kin) -> None:
        """Let another speak for a segment.

        Parameters
        ----------
        place
            Of the segment.
        member
            What it has to say.
        """
        rows, members = self._family
        self._family = _Family(rows, (*members[:place], member, *members[place + 1 :]))

    @property
    def count(self) -> int:
        """How many segments there are."""
        return len(self._family.members)

    def shares(self) -> dict[str, float]:
        """Return how alike segments are: what each part of their coefficients has of the prior variance."""
        own, common = self.likeness.shares()
        names = [name for name, _ in self._groups]
        return {**dict(zip(names, common, strict=True)), "own": own}

    # ------------------------------------------------------------------ what others say

    def prior(self, place: int, row: Floats | None = None, sizes: Floats | None = None) -> Prior:
        """Return what all other segments say of one.

        Parameters
        ----------
        place
            Of the segment; -1 for one that is not there yet, with its `row`.
        row
            What it shares with others, if it is not there yet.
        sizes
            Events of each segment: those of most decide which era it is. Equal ones by default.
        """
        heard = self._listen()
        self._learn(heard)
        self._reduce(heard)
        most = _era_of_most(heard.eras, np.ones(len(heard.eras)) if sizes is None else sizes)
        era = max(int(heard.eras[place]), most) if place >= 0 else most
        others = (heard.eras == era).astype(np.float64)
        if place >= 0:
            others[place] = 0.0
        mean, covariance = self._common(heard, others, self._family.rows[place] if row is None else row)
        covariance.flat[:: self._size + 1] += self._variances_of(self.likeness).own
        precision = self._inverse.T @ np.linalg.inv(covariance) @ self._inverse
        precision = (precision + precision.T) / 2
        squares, weight, place_ = (float(one) for one in others @ heard.repeats)
        pull = precision @ (self._mean + self._root @ mean)
        return Prior(precision, pull, squares, weight, place_, heard.summed_scores(others), most)

    def _common(self, heard: "_Heard", others: Floats, row: Floats) -> tuple[Floats, Floats]:
        """Return mean and covariance of a segment's common parts, in units of the prior, given some segments."""
        precision, pull = self._added_up(heard.informs, heard.says, others)
        precision.flat[:: len(precision) + 1] += 1 / self._variances_of(self.likeness).common
        if len(row) == 1:
            covariance = np.linalg.inv(precision)
            return np.asarray(covariance @ pull), np.asarray(covariance, dtype=np.float64)
        across = np.kron(row, np.eye(self._size))
        solved = np.linalg.solve(precision, np.column_stack([across.T, pull]))
        return np.asarray(across @ solved[:, -1]), np.asarray(across @ solved[:, :-1])

    def _added_up(self, informs: Floats, says: Floats, others: Floats) -> tuple[Floats, Floats]:
        """What segments, each so many times, say of all common parts together: a precision and a pull."""
        rows, size = self._family.rows, self._size
        if rows.shape[1] == 1:
            return (others @ informs.reshape(len(rows), size * size)).reshape(size, size), others @ says
        width, weighed = rows.shape[1], others[:, None] * rows
        pairs = (weighed[:, :, None] * rows[:, None, :]).reshape(len(rows), width * width)
        summed = (pairs.T @ informs.reshape(len(rows), size * size)).reshape(width, width, size, size)
        return summed.swapaxes(1, 2).reshape(width * size, width * size), (weighed.T @ says).ravel()

    def _variances_of(self, likeness: Likeness) -> "_Variances":
        """Prior variances under a likeness; those that are in use are kept."""
        if self._variances is None or self._variances.likeness != likeness:
            found = _Variances(likeness, self._common_variances(likeness), self._own_shares(likeness))
            if likeness != self.likeness:
                return found
            self._variances = found
        return self._variances

    def _common_variances(self, likeness: Likeness) -> Floats:
        """Prior variances of the common parts, in units of the prior; levels have one part in common, and no more."""
        _, shares = likeness.shares()
        parts = []
        for share, (name, columns) in zip(shares, self._groups, strict=True):
            part = np.full(self._size, share)
            part[self._level] = 1.0 - SHARES[likeness.level] + SHARES[0] if name == "everybody" else SHARES[0]
            parts += [part] * columns
        return np.concatenate(parts)

    def _own_shares(self, likeness: Likeness) -> Floats:
        own, _ = likeness.shares()
        shares = np.full(self._size, own)
        shares[self._level] = SHARES[likeness.level]
        return shares

    def _reduce(self, heard: "_Heard") -> None:
        """See to it that what each segment says of its common parts is up to date."""
        if heard.likeness != self.likeness:
            heard.stale[:] = True
            heard.likeness = self.likeness
        stale = np.flatnonzero(heard.stale)
        if len(stale):
            found = self._integrated(heard.precisions[stale], heard.pulls[stale], self.likeness)
            heard.informs[stale], heard.says[stale] = found.informs, found.says
            heard.stale[stale] = False

    def _integrated(self, precisions: Floats, pulls: Floats, likeness: Likeness) -> "_Integrated":
        """What segments say of their common parts, residuals integrated out: (A^-1 + own)^-1, and the pull."""
        own = np.sqrt(self._variances_of(likeness).own)
        scaled = own[:, None] * precisions
        inner = scaled * own + np.eye(self._size)
        targets = np.concatenate([scaled, (own * pulls)[:, :, None]], axis=2)
        solved = np.linalg.solve(inner, targets)
        back = np.swapaxes(scaled, 1, 2) @ solved
        quadratic = float((targets[:, :, -1] * solved[:, :, -1]).sum())
        return _Integrated(precisions - back[:, :, :-1], pulls - back[:, :, -1], quadratic, inner)

    # ------------------------------------------------------------------ how alike they are

    def log_evidence(self, likeness: Likeness) -> float:
        """Return the log-likelihood of all that was released, up to what does not depend on the likeness.

        Parameters
        ----------
        likeness
            How alike segments are taken to be.
        """
        heard = self._listen()
        found = self._integrated(heard.precisions, heard.pulls, likeness)
        own = (found.quadratic - float(np.linalg.slogdet(found.inner)[1].sum())) / 2
        precision, pull = self._added_up(found.informs, found.says, np.ones(len(found.says)))
        root = np.sqrt(self._variances_of(likeness).common)
        inner = root[:, None] * precision * root + np.eye(len(root))
        pull = root * pull
        quadratic = float(pull @ np.linalg.solve(inner, pull))
        return own + (quadratic - float(np.linalg.slogdet(inner)[1])) / 2

    def _learn(self, heard: "_Heard") -> None:
        """Take steps of each share to where what was released is more likely; now and then."""
        numbers = int(heard.numbers.sum())
        if len(self._family.members) < 2 or numbers < max(2.0, _AGAIN * self._learned):
            return
        ends = [self._climbed(start) for start in self._starts()]
        self.likeness, self._learned = max(ends, key=lambda end: end[1])[0], numbers

    def _starts(self) -> list[Likeness]:
        """Where to look: from what is known; and from each factor being all there is, which no single step leads to."""
        now, count = self.likeness, len(self.likeness.effects)
        others = [
            Likeness(_FIRST, now.level, tuple(len(SHARES) - 1 if one == place else _FIRST for one in range(count)))
            for place in range(count)
        ]
        return [now, *others]

    def _climbed(self, start: Likeness) -> tuple[Likeness, float]:
        """Take steps of one share at a time, as long as they make what was released more likely."""
        best, value = start, self._posterior_of(start)
        for which in range(len(best.places())):
            for step in (-1, 1):
                while (other := _stepped(best, which, step)) and (found := self._posterior_of(other)) > value:
                    best, value = other, found
        return best, value

    def _posterior_of(self, likeness: Likeness) -> float:
        shares = np.array(SHARES)
        first = Likeness(effects=(_FIRST,) * len(likeness.effects))
        away = np.log10(shares[list(likeness.places())] / shares[list(first.places())]) / _DECADES
        return self.log_evidence(likeness) - float((away**2).sum()) / 2

    # ------------------------------------------------------------------ in units of the prior

    def _listen(self) -> "_Heard":
        """Return what all segments have to say; of those alone that have learned something is it asked again."""
        known = [one.known for one in self._family.members]
        heard = self._heard
        if len(heard.known) != len(known):
            heard = self._heard = heard.of_length(len(known))
        if heard.known == known:  # the same objects
            return heard
        for place, (before, now) in enumerate(zip(heard.known, known, strict=True)):
            if before is not now:
                self._hear(heard, place, now)
        return heard

    def _hear(self, heard: "_Heard", place: int, known: object) -> None:
        said = self._family.members[place].evidence()
        heard.precisions[place] = self._root.T @ said.precision @ self._root
        heard.pulls[place] = self._root.T @ (said.pull - said.precision @ self._mean)
        heard.repeats[place] = said.squares, said.weight, said.place
        heard.numbers[place], heard.eras[place], heard.stale[place] = said.numbers, said.era, True
        heard.scores[place] = said.scores
        heard.known[place] = known  # last: what is cut short before is heard again


@dataclass(eq=False)
class _Heard:
    """What was released of all segments, in units of the prior; and, residuals integrated out, what it says."""

    known: list[object]  # that it follows from
    precisions: Floats  # (S, p, p)
    pulls: Floats  # (S, p)
    repeats: Floats  # (S, 3)
    numbers: Integers
    eras: Integers
    stale: NDArray[np.bool_]  # where the following are out of date
    informs: Floats  # (S, p, p)
    says: Floats  # (S, p)
    scores: list[tuple[Floats, ...]]
    likeness: Likeness | None = None  # of the last two

    def summed_scores(self, others: Floats) -> tuple[Floats, ...]:
        """What has predicted best in some segments, all of them together; nothing, if they choose nothing so."""
        if not any(self.scores):
            return ()
        mine = [one for one, other in zip(self.scores, others, strict=True) if other and one]
        return tuple(np.sum(choice, axis=0) for choice in zip(*mine, strict=True))

    @classmethod
    def of(cls, count: int, size: int) -> "_Heard":
        square, row, none = (count, size, size), (count, size), np.zeros(count, dtype=np.int64)
        return cls(
            [None] * count,
            np.zeros(square),
            np.zeros(row),
            np.zeros((count, 3)),
            none,
            none.copy(),
            np.ones(count, dtype=bool),
            np.zeros(square),
            np.zeros(row),
            [()] * count,
        )

    def of_length(self, count: int) -> "_Heard":
        """Return the same with room for more segments, or for fewer."""
        other, kept = _Heard.of(count, self.pulls.shape[1]), min(count, len(self.known))
        for one in ("precisions", "pulls", "repeats", "numbers", "eras", "stale", "informs", "says"):
            getattr(other, one)[:kept] = getattr(self, one)[:kept]
        other.known[:kept], other.scores[:kept] = self.known[:kept], self.scores[:kept]
        other.likeness = self.likeness
        return other


def _era_of_most(eras: Integers, sizes: Floats) -> int:
    """Return the latest era such that segments with more than half of all events are of it, or of a later one."""
    half = float(sizes.sum()) / 2
    return max((int(era) for era in np.unique(eras) if float(sizes[eras >= era].sum()) > half), default=0)


def _stepped(likeness: Likeness, which: int, step: int) -> Likeness | None:
    places = list(likeness.places())
    places[which] += step
    return Likeness.at(places) if 0 <= places[which] < len(SHARES) else None


def check_room(segments: Segments, dimension: int) -> None:
    """Refuse more coefficients than can be kept by segment: what segments say of each other is a matrix of them.

    Parameters
    ----------
    segments
        Whom decisions are for.
    dimension
        Coordinates of a decision.
    """
    if dimension + 1 > _MOST_COEFFICIENTS:
        raise ValueError(
            f"segments are for decisions of up to {_MOST_COEFFICIENTS - 1} coordinates, and these have {dimension:,}: "
            "leave segments out, or make one optimizer for each"
        )
    columns = sum(size for _, size in segments.groups)
    if columns > 1 and columns * (dimension + 1) > _MOST_COMMON:
        raise ValueError(
            f"segments have {columns - 1} levels of factors and features, and decisions {dimension:,} coordinates: "
            f"together more than {_MOST_COMMON:,}. Name the segments without factors, or use fewer levels"
        )
