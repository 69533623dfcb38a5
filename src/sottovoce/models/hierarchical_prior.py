"""How segments inform each other: what is believed of one is the prior of another, as far as they are alike.

The coefficients of segment s are a sum: what everybody has in common, effects of its factors' levels, effects of its
features, and a residual of its own. Each part is Gaussian, and has a share of the prior variance of one segment alone.
Given the common parts, segments are independent; so of each segment a matrix and a vector are all that others need to
know (its measurements, the residual integrated out), and a segment's prior is what all others say of its common parts,
plus its residual. That is exact, and costs the cube of the coefficients, however many segments there are.

Shares are those under which what was released is most likely (the marginal likelihood), one step of a grid at a time.
All of it is a function of released numbers.

Tests: tests/models/test_hierarchical_prior.py compares it with the joint Gaussian, written out.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.models.belief import GaussianBelief
from sottovoce.models.segments import Segments
from sottovoce.models.sufficient_statistics import Prior, SegmentStatistics
from sottovoce.models.variance_shares import SHARES, VarianceShares

__all__ = ["HierarchicalPrior", "check_room", "resets_of_most"]

_MOST_COEFFICIENTS, _MOST_COMMON = 601, 2500  # of a segment, and of all that segments have in common: cubes of these
_WORTH_A_TRY = 10.0  # nats by which a place may be worse, and is still climbed from
_SOME = 5  # numbers of a segment, on average, before it is tried elsewhere at all
_AGAIN = 1.5  # as many numbers as at the last time, and shares are learned again
_DOUBT = 2.0  # nats by which what segments have of their own, at least or at most, is less likely
_KNOWN = attrgetter("known")


class _Variances(NamedTuple):
    """Prior variances of common parts, and of what a segment has of its own, in units of the prior."""

    variance_shares: VarianceShares
    common: Floats
    own: Floats


class _Integrated(NamedTuple):
    """What segments say of their common parts; and what its likelihood is made of."""

    informs: Floats
    says: Floats
    quadratic: float
    inner: Floats  # whose determinant counts, times the variances of what segments have of their own


class _Members(NamedTuple):
    """The segments: what each shares with others, and what it has to say. Replaced as a whole."""

    rows: Floats
    members: tuple[Any, ...]  # beliefs, or what speaks for them: they have `known` and `sufficient_statistics`
    parts: Floats  # of the variance of what one segment has of its own: 1, and less for a mean of several


class HierarchicalPrior:
    """What segments know of each other.

    Parameters
    ----------
    segments
        Whom decisions are for.
    like
        What is believed of each segment before anything is known.
    """

    def __init__(self, segments: Segments, like: GaussianBelief) -> None:
        self._begin(segments)
        self._root, self._mean, self._level = like.prior_root, like.prior_mean, like.level_place
        self._inverse = np.linalg.inv(self._root)
        self._size = len(self._mean)
        self._statistics = SegmentStatistics.of(0, self._size)
        self._variances: _Variances | None = None

    def _begin(self, segments: Segments) -> None:
        self._groups = segments.groups
        self.variance_shares = VarianceShares.first(len(self._groups) - 1)
        self._members = _Members(np.empty((0, sum(size for _, size in self._groups))), (), np.empty(0))
        # What segments have of their own at least and at most, as places in `SHARES`: what was released speaks against
        # less, and more.
        self.apart = 0, len(SHARES) - 1
        self.learned = 0  # numbers that there were when the shares was learned

    def join(self, row: Floats, member: Any, place: int | None = None) -> None:
        """Take in a segment.

        Parameters
        ----------
        row
            What it shares with others, as `Segments.row` says it.
        member
            What it has to say.
        place
            Of the segment, if a call that was cut short may have put one there; the next one by default.
        """
        rows, members, parts = self._members
        place = len(members) if place is None else place
        parts = np.append(parts[:place], 1.0)
        self._members = _Members(np.vstack([rows[:place], row]), (*members[:place], member), parts)

    def mix(self, place: int, shares: Floats) -> None:
        """Let a member speak for several segments: what they have of their own is averaged, and so varies less.

        Parameters
        ----------
        place
            Of the member.
        shares
            Which share of its events each of the members has.
        """
        rows, members, parts = self._members
        mixed, parts = rows.copy(), parts.copy()
        mixed[place], parts[place] = shares @ rows, float(shares @ shares)
        if place < len(self._statistics.stale):
            self._statistics.stale[place] = True  # first: what is cut short below is computed again for nothing
        self._members = _Members(mixed, members, parts)

    def replace(self, place: int, member: Any) -> None:
        """Let another speak for a segment.

        Parameters
        ----------
        place
            Of the segment.
        member
            What it has to say.
        """
        rows, members, parts = self._members
        if members[place] is not member:
            self._members = _Members(rows, (*members[:place], member, *members[place + 1 :]), parts)

    def in_later_set(self, segments: Segments, like: Any, members: Iterable[Any]) -> Self:
        """Return the same of a set that has taken the place of this one.

        Parameters
        ----------
        segments, like
            As for a new one, of that set.
        members
            What speaks for each segment there.
        """
        other = type(self)(segments, like)
        other._members = self._members._replace(members=tuple(members))
        other.variance_shares, other.learned, other.apart = self.variance_shares, self.learned, self.apart
        return other

    @property
    def count(self) -> int:
        """How many segments there are."""
        return len(self._members.members)

    def shares(self) -> dict[str, float]:
        """Return how alike segments are: what each part of their coefficients has of the prior variance."""
        own, common = self.variance_shares.shares()
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
            Events of each segment: those of most decide how many resets count. Equal ones by default.
        """
        return self._said_of(place, row, sizes, self.variance_shares)

    def prior_of_scout(self, place: int, sizes: Floats, apart: int) -> Prior:
        """Return what all other segments say of one that is to find out how much they differ.

        Parameters
        ----------
        place, sizes
            As for `prior`.
        apart
            How much it may have of its own, as a place in `SHARES`.
        """
        return self._said_of(place, None, sizes, replace(self.variance_shares, residual=apart))

    def _said_of(self, place: int, row: Floats | None, sizes: Floats | None, mine: VarianceShares) -> Prior:
        statistics = self._refreshed()
        self._reduce(statistics)
        counts = statistics.reset_counts
        most = resets_of_most(counts, np.ones(len(counts)) if sizes is None else sizes)
        resets = max(int(counts[place]), most) if place >= 0 else most
        others = ((counts == resets) & (statistics.numbers > 0)).astype(np.float64)
        if place >= 0:
            others[place] = 0.0
        its, part = (self._members.rows[place], self._members.parts[place]) if row is None else (row, 1.0)
        precision, pull = self._expected(statistics, others, its, part * self._own_shares(mine))
        precision = self._inverse.T @ precision @ self._inverse
        precision = (precision + precision.T) / 2
        pull = precision @ self._mean + self._inverse.T @ pull
        scatter, scores = others @ statistics.scatter, statistics.summed_scores(others)
        return Prior(precision, pull, scatter, resets=most, scores=scores)

    def _expected(
        self, statistics: SegmentStatistics, others: Floats, row: Floats, variances: Floats
    ) -> tuple[Floats, Floats]:
        """Return precision and pull of what some segments say of one, in units of the prior: common parts, and its own.

        With P and p those of the common part, and D the variances of what it has of its own, (P^-1 + D)^-1 is
        D^-1 - D^-1 (P + D^-1)^-1 D^-1, and the pull is D^-1 (P + D^-1)^-1 p: one inverse.
        """
        said = np.flatnonzero(others)
        precision, pull = self._added_up(
            self._members.rows[said], statistics.informs[said], statistics.says[said], others[said]
        )
        precision.flat[:: len(precision) + 1] += 1 / self._variances_of(self.variance_shares).common
        own = 1 / variances
        if len(row) > 1:
            across = np.kron(row, np.eye(self._size))
            solved = np.linalg.solve(precision, np.column_stack([across.T, pull]))
            precision = np.linalg.inv(across @ solved[:, :-1])
            pull = precision @ (across @ solved[:, -1])
        precision.flat[:: self._size + 1] += own
        inverse = np.linalg.inv(precision)
        expected = -own[:, None] * inverse * own
        expected.flat[:: self._size + 1] += own
        return expected, own * (inverse @ pull)

    def _added_up(self, rows: Floats, informs: Floats, says: Floats, others: Floats) -> tuple[Floats, Floats]:
        """What segments, each so many times, say of all common parts together: a precision and a pull."""
        size = self._size
        if rows.shape[1] == 1:
            return (others @ informs.reshape(len(rows), size * size)).reshape(size, size), others @ says
        width, weighed = rows.shape[1], others[:, None] * rows
        pairs = (weighed[:, :, None] * rows[:, None, :]).reshape(len(rows), width * width)
        summed = (pairs.T @ informs.reshape(len(rows), size * size)).reshape(width, width, size, size)
        return summed.swapaxes(1, 2).reshape(width * size, width * size), (weighed.T @ says).ravel()

    def _variances_of(self, variance_shares: VarianceShares) -> "_Variances":
        """Prior variances under the shares; those that are in use are kept."""
        if self._variances is None or self._variances.variance_shares != variance_shares:
            found = _Variances(
                variance_shares, self._common_variances(variance_shares), self._own_shares(variance_shares)
            )
            if variance_shares != self.variance_shares:
                return found
            self._variances = found
        return self._variances

    def _common_variances(self, variance_shares: VarianceShares) -> Floats:
        """Prior variances of the common parts, in units of the prior; levels have one part in common, and no more."""
        _, shares = variance_shares.shares()
        parts = []
        for share, (name, columns) in zip(shares, self._groups, strict=True):
            part = np.full(self._size, share)
            part[self._level] = 1.0 - SHARES[variance_shares.level] + SHARES[0] if name == "everybody" else SHARES[0]
            parts += [part] * columns
        return np.concatenate(parts)

    def _own_shares(self, variance_shares: VarianceShares) -> Floats:
        own, _ = variance_shares.shares()
        shares = np.full(self._size, own)
        shares[self._level] = SHARES[variance_shares.level]
        return shares

    def _reduce(self, statistics: SegmentStatistics) -> None:
        """See to it that what each segment says of its common parts is up to date."""
        if statistics.variance_shares != self.variance_shares:
            statistics.stale[:] = True
            statistics.variance_shares = self.variance_shares
        stale = np.flatnonzero(statistics.stale & (statistics.numbers > 0))
        if len(stale):
            found = self._integrated(statistics, stale, self.variance_shares)
            statistics.informs[stale], statistics.says[stale] = found.informs, found.says
            statistics.stale[stale] = False

    def _integrated(
        self, statistics: SegmentStatistics, places: Integers, variance_shares: VarianceShares
    ) -> "_Integrated":
        """What segments say of their common parts, residuals integrated out: (A^-1 + own)^-1, as in `_expected`."""
        precisions, pulls = statistics.precisions[places], statistics.pulls[places]
        own = 1 / (self._members.parts[places, None] * self._variances_of(variance_shares).own)
        diagonal = own[:, :, None] * np.eye(self._size)
        inner = precisions + diagonal
        inverse = np.linalg.inv(inner)
        solved = (inverse @ pulls[:, :, None])[:, :, 0]
        return _Integrated(
            diagonal - own[:, :, None] * inverse * own[:, None, :], own * solved, float((pulls * solved).sum()), inner
        )

    # ------------------------------------------------------------------ how alike they are

    def log_evidence(self, variance_shares: VarianceShares) -> float:
        """Return the log-likelihood of all that was released, up to what does not depend on the shares.

        Parameters
        ----------
        variance_shares
            How alike segments are taken to be.
        """
        return self._evidence_of(np.flatnonzero(self._refreshed().numbers), variance_shares)  # others add nothing

    def _evidence_of(self, said: Integers, variance_shares: VarianceShares) -> float:
        statistics = self._refreshed()
        found = self._integrated(statistics, said, variance_shares)
        roots = np.diagonal(np.linalg.cholesky(found.inner), axis1=1, axis2=2)
        owns = self._members.parts[said, None] * self._variances_of(variance_shares).own
        scale = float(np.log(owns).sum())
        own = (found.quadratic - scale) / 2 - float(np.log(roots).sum())
        precision, pull = self._added_up(self._members.rows[said], found.informs, found.says, np.ones(len(said)))
        root = np.sqrt(self._variances_of(variance_shares).common)
        inner = root[:, None] * precision * root + np.eye(len(root))
        pull = root * pull
        quadratic = float(pull @ np.linalg.solve(inner, pull))
        return own + (quadratic - float(np.linalg.slogdet(inner)[1])) / 2

    def learn(self, given: int | None = None) -> None:
        """Take steps of each share to where what was released is more likely; now and then.

        Parameters
        ----------
        given
            The place of a member whose numbers are taken as given, if there is one that speaks for many: how well
            others are predicted by it tells how alike they are, and how much it has to say itself does not.
        """
        numbers = self._refreshed().numbers
        total = int(numbers.sum() - (0 if given is None else numbers[given]))
        least = max(2.0 if given is None else 1.0, _AGAIN * self.learned)
        if len(self._members.members) < 2 or total < least:
            return
        here, *elsewhere = self.variance_shares.starts()
        judge = cache(partial(self._posterior_of, given=given))  # a step back leads to where it was
        ends = [_climbed(here, judge)]
        if total >= _SOME * np.count_nonzero(numbers):
            least = ends[0][1] - _WORTH_A_TRY
            ends += [_climbed(start, judge) for start in elsewhere if judge(start) > least]
        best = max(ends, key=lambda end: end[1])[0]
        if given is not None:
            values = np.array([judge(replace(best, residual=own)) for own in range(len(SHARES))])
            likely = np.flatnonzero(values >= values.max() - _DOUBT)
            self.apart = int(likely[0]), int(likely[-1])
            best = replace(best, residual=self.apart[0])  # what is taken to be their own is explored, and that costs
        self.variance_shares, self.learned = best, total

    def precision_of(self, place: int) -> float:
        """Return how precisely a segment's coefficients are measured, on average over them, in units of the prior.

        Parameters
        ----------
        place
            Of the segment.
        """
        return float(np.delete(np.diagonal(self._refreshed().precisions[place]), self._level).mean())

    def _posterior_of(self, variance_shares: VarianceShares, given: int | None = None) -> float:
        found = self.log_evidence(variance_shares) + variance_shares.log_prior()
        return found if given is None else found - self._evidence_of(np.array([given]), variance_shares)

    # ------------------------------------------------------------------ in units of the prior

    def _refreshed(self) -> SegmentStatistics:
        """Return the statistics of all segments; only those of segments that learned are computed anew."""
        known = list(map(_KNOWN, self._members.members))
        statistics = self._statistics
        if len(statistics.known) != len(known):
            statistics = self._statistics = statistics.of_length(len(known))
        if statistics.known == known:  # the same objects
            return statistics
        for place, (before, now) in enumerate(zip(statistics.known, known, strict=True)):
            if before is not now:
                self._update(statistics, place, now)
        return statistics

    def _update(self, statistics: SegmentStatistics, place: int, known: object) -> None:
        said = self._members.members[place].sufficient_statistics()
        statistics.precisions[place] = self._root.T @ said.precision @ self._root
        statistics.pulls[place] = self._root.T @ (said.pull - said.precision @ self._mean)
        statistics.scatter[place] = said.scatter
        statistics.numbers[place], statistics.reset_counts[place], statistics.stale[place] = (
            said.numbers,
            said.resets,
            True,
        )
        statistics.scores[place] = said.scores
        statistics.known[place] = known  # last: what is cut short before is done again


def _climbed(start: VarianceShares, judge: Callable[[VarianceShares], float]) -> tuple[VarianceShares, float]:
    """Take steps of one share at a time, as long as they make what was released more likely."""
    best, value = start, judge(start)
    for which in range(len(best.places())):
        for step in (-1, 1):
            while (other := best.stepped(which, step)) and (found := judge(other)) > value:
                best, value = other, found
    return best, value


def resets_of_most(reset_counts: Integers, sizes: Floats) -> int:
    """Return the highest number of resets that segments with more than half of all events have reached."""
    half, first = float(sizes.sum()) / 2, int(reset_counts[0]) if len(reset_counts) else 0
    if (reset_counts == first).all():
        return first if half > 0 else 0
    return max(
        (int(resets) for resets in np.unique(reset_counts) if float(sizes[reset_counts >= resets].sum()) > half),
        default=0,
    )


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
