"""How segments inform each other: what is believed of one is the prior of another, as far as they are alike.

The coefficients of segment s are a sum: what everybody has in common, effects of its factors' levels, effects of its
features, and a residual of its own. Each part is Gaussian, and has a share of the prior variance of one segment alone.
Given the common parts, segments are independent; so of each segment a matrix and a vector are all that others need to
know (its measurements, the residual integrated out), and a segment's prior is what all others say of its common parts,
plus its residual. That is exact, and costs the cube of the coefficients, however many segments there are.

Shares are those under which what was released is most likely (the marginal likelihood), one step of a grid at a time.
All of it is a function of released numbers.

Tests: tests/models/test_kinship.py compares it with the joint Gaussian, written out.
"""

from operator import attrgetter
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.models.hearsay import Coefficients, Heard, Kin, Prior
from sottovoce.models.likeness import SHARES, Likeness
from sottovoce.models.segments import Segments

__all__ = ["Kinship", "check_room"]

_MOST_COEFFICIENTS, _MOST_COMMON = 601, 2500  # of a segment, and of all that segments have in common: cubes of these
_WORTH_A_TRY = 10.0  # nats by which a place may be worse, and is still climbed from
_SOME = 5  # numbers of a segment, on average, before it is tried elsewhere at all
_AGAIN = 1.5  # as many numbers as at the last time, and shares are learned again
_KNOWN = attrgetter("known")


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
        self.likeness = Likeness.first(len(self._groups) - 1)
        self._family = _Family(np.empty((0, sum(size for _, size in self._groups))), ())
        self.learned = 0  # numbers that there were when the likeness was learned
        self._heard = Heard.of(0, self._size)
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
        return Prior(precision, pull, squares, weight, place_, era=most, scores=heard.summed_scores(others))

    def _common(self, heard: Heard, others: Floats, row: Floats) -> tuple[Floats, Floats]:
        """Return mean and covariance of a segment's common parts, in units of the prior, given some segments."""
        precision, pull = self._added_up(self._family.rows, heard.informs, heard.says, others)
        precision.flat[:: len(precision) + 1] += 1 / self._variances_of(self.likeness).common
        if len(row) == 1:
            covariance = np.linalg.inv(precision)
            return np.asarray(covariance @ pull), np.asarray(covariance, dtype=np.float64)
        across = np.kron(row, np.eye(self._size))
        solved = np.linalg.solve(precision, np.column_stack([across.T, pull]))
        return np.asarray(across @ solved[:, -1]), np.asarray(across @ solved[:, :-1])

    def _added_up(self, rows: Floats, informs: Floats, says: Floats, others: Floats) -> tuple[Floats, Floats]:
        """What segments, each so many times, say of all common parts together: a precision and a pull."""
        size = self._size
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

    def _reduce(self, heard: Heard) -> None:
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
        said = np.flatnonzero(heard.numbers)  # by whom: the others add nothing
        found = self._integrated(heard.precisions[said], heard.pulls[said], likeness)
        roots = np.diagonal(np.linalg.cholesky(found.inner), axis1=1, axis2=2)
        own = found.quadratic / 2 - float(np.log(roots).sum())
        precision, pull = self._added_up(self._family.rows[said], found.informs, found.says, np.ones(len(said)))
        root = np.sqrt(self._variances_of(likeness).common)
        inner = root[:, None] * precision * root + np.eye(len(root))
        pull = root * pull
        quadratic = float(pull @ np.linalg.solve(inner, pull))
        return own + (quadratic - float(np.linalg.slogdet(inner)[1])) / 2

    def learn(self) -> None:
        """Take steps of each share to where what was released is more likely; now and then."""
        numbers = int(self._listen().numbers.sum())
        if len(self._family.members) < 2 or numbers < max(2.0, _AGAIN * self.learned):
            return
        here, *elsewhere = self.likeness.starts()
        ends = [self._climbed(here)]
        if numbers >= _SOME * self.count:
            least = ends[0][1] - _WORTH_A_TRY
            ends += [self._climbed(start) for start in elsewhere if self._posterior_of(start) > least]
        self.likeness, self.learned = max(ends, key=lambda end: end[1])[0], numbers

    def _climbed(self, start: Likeness) -> tuple[Likeness, float]:
        """Take steps of one share at a time, as long as they make what was released more likely."""
        best, value = start, self._posterior_of(start)
        for which in range(len(best.places())):
            for step in (-1, 1):
                while (other := best.stepped(which, step)) and (found := self._posterior_of(other)) > value:
                    best, value = other, found
        return best, value

    def _posterior_of(self, likeness: Likeness) -> float:
        return self.log_evidence(likeness) + likeness.log_prior()

    # ------------------------------------------------------------------ in units of the prior

    def _listen(self) -> Heard:
        """Return what all segments have to say; of those alone that have learned something is it asked again."""
        known = list(map(_KNOWN, self._family.members))
        heard = self._heard
        if len(heard.known) != len(known):
            heard = self._heard = heard.of_length(len(known))
        if heard.known == known:  # the same objects
            return heard
        for place, (before, now) in enumerate(zip(heard.known, known, strict=True)):
            if before is not now:
                self._hear(heard, place, now)
        return heard

    def _hear(self, heard: Heard, place: int, known: object) -> None:
        said = self._family.members[place].evidence()
        heard.precisions[place] = self._root.T @ said.precision @ self._root
        heard.pulls[place] = self._root.T @ (said.pull - said.precision @ self._mean)
        heard.repeats[place] = said.squares, said.weight, said.place
        heard.numbers[place], heard.eras[place], heard.stale[place] = said.numbers, said.era, True
        heard.scores[place] = said.scores
        heard.known[place] = known  # last: what is cut short before is heard again


def _era_of_most(eras: Integers, sizes: Floats) -> int:
    """Return the latest era such that segments with more than half of all events are of it, or of a later one."""
    half, first = float(sizes.sum()) / 2, int(eras[0]) if len(eras) else 0
    if (eras == first).all():
        return first if half > 0 else 0
    return max((int(era) for era in np.unique(eras) if float(sizes[eras >= era].sum()) > half), default=0)


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
