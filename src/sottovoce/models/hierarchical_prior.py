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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple, Self

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.models.belief import GaussianBelief
from sottovoce.models.segments import Segments
from sottovoce.models.sufficient_statistics import Prior, SufficientStatistics
from sottovoce.models.variance_shares import SHARES, VarianceShares

_MOST_COEFFICIENTS, _MOST_COMMON = 601, 2500  # of a segment, and of all that segments have in common: cubes of these
_WORTH_A_TRY = 10.0  # nats by which a place may be worse, and is still climbed from
_SOME = 5  # numbers of a segment, on average, before it is tried elsewhere at all
_AGAIN = 1.5  # as many numbers as at the last time, and shares are learned again
_DOUBT = 2.0  # nats by which what segments have of their own, at least or at most, is less likely


class _Integrated(NamedTuple):
    """What segments say of their common parts; and what its likelihood is made of."""

    informs: Floats
    says: Floats
    quadratic: float
    inner: Floats  # whose determinant counts, times the variances of what segments have of their own


class _Member(NamedTuple):
    """A segment: what it shares with others, and what has to say something for it."""

    row: Floats
    speaker: Any  # a belief, or what speaks for one: it has `known` and `sufficient_statistics`
    part: float = 1.0  # of the variance of what one segment has of its own: less for a mean of several


class _Heard(NamedTuple):
    """What was released of a segment, in units of the prior, and what it follows from.

    `reduced` is what that says of common parts, residuals integrated out, by what these are taken to be.
    """

    known: object
    said: SufficientStatistics
    reduced: dict[tuple[float, VarianceShares], tuple[Floats, Floats]]


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
        self._root, self._mean, self._level = like.prior.root, like.prior.mean, like.prior.level_place
        self._inverse = np.linalg.inv(self._root)
        self._size = len(self._mean)

    def _begin(self, segments: Segments) -> None:
        self._groups = segments.groups
        self.variance_shares = VarianceShares.first(len(self._groups) - 1)
        self._members: tuple[_Member, ...] = ()
        self._heard: dict[int, _Heard] = {}
        # What segments have of their own at least and at most, as places in `SHARES`: what was released speaks against
        # less, and more.
        self.apart = 0, len(SHARES) - 1
        self.learned = 0  # numbers that there were when the shares were learned

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
        self._members = (*self._members[:place], _Member(row, member))

    def mix(self, place: int, shares: Floats) -> None:
        """Let a member speak for several segments: what they have of their own is averaged, and so varies less.

        Parameters
        ----------
        place
            Of the member.
        shares
            Which share of its events each of the members has.
        """
        self._put(place, row=shares @ self._rows(range(self.count)), part=float(shares @ shares))

    def replace(self, place: int, member: Any) -> None:
        """Let another speak for a segment.

        Parameters
        ----------
        place
            Of the segment.
        member
            What it has to say.
        """
        if self._members[place].speaker is not member:
            self._put(place, speaker=member)

    def _put(self, place: int, **changes: Any) -> None:
        changed = self._members[place]._replace(**changes)
        self._members = (*self._members[:place], changed, *self._members[place + 1 :])

    def _rows(self, places: Iterable[int]) -> Floats:
        return np.array([self._members[place].row for place in places])

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
        other._members = tuple(mine._replace(speaker=one) for mine, one in zip(self._members, members, strict=True))
        other.variance_shares, other.learned, other.apart = self.variance_shares, self.learned, self.apart
        return other

    @property
    def count(self) -> int:
        """How many segments there are."""
        return len(self._members)

    def shares(self) -> dict[str, float]:
        """Return how alike segments are: what each part of their coefficients has of the prior variance."""
        own, common = self.variance_shares.shares()
        names = [name for name, _ in self._groups]
        return {**dict(zip(names, common, strict=True)), "own": own}

    # ------------------------------------------------------------------ what others say

    def prior(
        self, place: int, row: Floats | None = None, sizes: Floats | None = None, apart: int | None = None
    ) -> Prior:
        """Return what all other segments say of one.

        Parameters
        ----------
        place
            Of the segment; -1 for one that is not there yet, with its `row`.
        row
            What it shares with others, if it is not there yet.
        sizes
            Events of each segment: those of most decide how many resets count. Equal ones by default.
        apart
            Of one that is to find out how much segments differ: what it may have of its own, as a place in `SHARES`.
        """
        mine = self.variance_shares if apart is None else replace(self.variance_shares, residual=apart)
        others, most = self._others(place, sizes)
        its = _Member(row, None) if row is not None else self._members[place]
        precision, pull = self._expected(others, its.row, its.part * self._own_shares(mine))
        precision = self._inverse.T @ precision @ self._inverse
        precision = (precision + precision.T) / 2
        pull = precision @ self._mean + self._inverse.T @ pull
        said = [self._heard[one].said for one in others]
        scatter = np.sum([one.scatter for one in said], axis=0) if said else np.zeros(4)
        scores = tuple(np.sum(choice, axis=0) for choice in zip(*(one.scores for one in said), strict=True))
        return Prior(precision, pull, scatter, resets=most, scores=scores)

    def _others(self, place: int, sizes: Floats | None) -> tuple[list[int], int]:
        """Return who has something to say to a segment, and how often most events of all segments were reset."""
        heard = self._refreshed()
        resets = np.array([one.resets for one in heard], dtype=np.int64)
        most = _resets_of_most(resets, np.ones(len(heard)) if sizes is None else sizes)
        its = most if place < 0 else max(heard[place].resets, most)
        others = [one for one, said in enumerate(heard) if one != place and said.numbers and said.resets == its]
        return others, most

    def _expected(self, others: Sequence[int], row: Floats, variances: Floats) -> tuple[Floats, Floats]:
        """Return precision and pull of what some segments say of one, in units of the prior: common parts, and its own.

        With P and p those of the common part, and D the variances of what it has of its own, (P^-1 + D)^-1 is
        D^-1 - D^-1 (P + D^-1)^-1 D^-1, and the pull is D^-1 (P + D^-1)^-1 p: one inverse.
        """
        said = [self._reduced(one) for one in others]
        precision, pull = self._added_up(
            self._rows(others), np.array([informs for informs, _ in said]), np.array([says for _, says in said])
        )
        precision.flat[:: len(precision) + 1] += 1 / self._common_variances(self.variance_shares)
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

    def _added_up(self, rows: Floats, informs: Floats, says: Floats) -> tuple[Floats, Floats]:
        """What segments say of all common parts together: a precision and a pull."""
        width, size = sum(columns for _, columns in self._groups), self._size
        if not len(rows):
            return np.zeros((width * size, width * size)), np.zeros(width * size)
        if width == 1:
            return informs.sum(axis=0), says.sum(axis=0)
        pairs = (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), width * width)
        summed = (pairs.T @ informs.reshape(len(rows), size * size)).reshape(width, width, size, size)
        return summed.swapaxes(1, 2).reshape(width * size, width * size), (rows.T @ says).ravel()

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

    def _reduced(self, place: int) -> tuple[Floats, Floats]:
        """Return what a segment says of its common parts; computed anew where it follows from something else."""
        reduced, now = self._heard[place].reduced, (self._members[place].part, self.variance_shares)
        if now not in reduced:
            made = self._integrated([place], self.variance_shares)
            reduced.clear()
            reduced[now] = made.informs[0], made.says[0]
        return reduced[now]

    def _integrated(self, places: Sequence[int], variance_shares: VarianceShares) -> _Integrated:
        """What segments say of their common parts, residuals integrated out: (A^-1 + own)^-1, as in `_expected`."""
        precisions = np.array([self._heard[place].said.precision for place in places])
        pulls = np.array([self._heard[place].said.pull for place in places])
        own = 1 / (self._parts_of(places)[:, None] * self._own_shares(variance_shares))
        diagonal = own[:, :, None] * np.eye(self._size)
        inner = precisions + diagonal
        inverse = np.linalg.inv(inner)
        solved = (inverse @ pulls[:, :, None])[:, :, 0]
        return _Integrated(
            diagonal - own[:, :, None] * inverse * own[:, None, :], own * solved, float((pulls * solved).sum()), inner
        )

    def _parts_of(self, places: Sequence[int]) -> Floats:
        return np.array([self._members[place].part for place in places])

    # ------------------------------------------------------------------ how alike they are

    def log_evidence(self, variance_shares: VarianceShares) -> float:
        """Return the log-likelihood of all that was released, up to what does not depend on the shares.

        Parameters
        ----------
        variance_shares
            How alike segments are taken to be.
        """
        said = [place for place, one in enumerate(self._refreshed()) if one.numbers]  # others add nothing
        return self._evidence_of(said, variance_shares)

    def _evidence_of(self, said: Sequence[int], variance_shares: VarianceShares) -> float:
        found = self._integrated(said, variance_shares)
        roots = np.diagonal(np.linalg.cholesky(found.inner), axis1=1, axis2=2)
        owns = self._parts_of(said)[:, None] * self._own_shares(variance_shares)
        own = (found.quadratic - float(np.log(owns).sum())) / 2 - float(np.log(roots).sum())
        precision, pull = self._added_up(self._rows(said), found.informs, found.says)
        root = np.sqrt(self._common_variances(variance_shares))
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
        numbers = [one.numbers for one in self._refreshed()]
        total = sum(numbers) - (0 if given is None else numbers[given])
        least = max(2.0 if given is None else 1.0, _AGAIN * self.learned)
        if self.count < 2 or total < least:
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
        return float(np.delete(np.diagonal(self._refreshed()[place].precision), self._level).mean())

    def _posterior_of(self, variance_shares: VarianceShares, given: int | None = None) -> float:
        found = self.log_evidence(variance_shares) + variance_shares.log_prior()
        return found if given is None else found - self._evidence_of([given], variance_shares)

    # ------------------------------------------------------------------ in units of the prior

    def _refreshed(self) -> list[SufficientStatistics]:
        """Return what all segments have to say; only those that learned since are asked again."""
        said = []
        for place, member in enumerate(self._members):
            known, heard = member.speaker.known, self._heard.get(place)
            if heard is None or heard.known is not known:
                heard = self._heard[place] = _Heard(known, self._in_units(member.speaker.sufficient_statistics()), {})
            said.append(heard.said)
        return said

    def _in_units(self, said: SufficientStatistics) -> SufficientStatistics:
        precision = self._root.T @ said.precision @ self._root
        return replace(said, precision=precision, pull=self._root.T @ (said.pull - said.precision @ self._mean))


def _climbed(start: VarianceShares, judge: Callable[[VarianceShares], float]) -> tuple[VarianceShares, float]:
    """Take steps of one share at a time, as long as they make what was released more likely."""
    best, value = start, judge(start)
    for which in range(len(best.places())):
        for step in (-1, 1):
            while (other := best.stepped(which, step)) and (found := judge(other)) > value:
                best, value = other, found
    return best, value


def _resets_of_most(resets: Integers, sizes: Floats) -> int:
    """Return the highest number of resets that segments with more than half of all events have reached."""
    half = float(sizes.sum()) / 2
    return max((one for one in set(resets.tolist()) if float(sizes[resets >= one].sum()) > half), default=0)


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
