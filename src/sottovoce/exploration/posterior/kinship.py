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
from functools import cached_property
from typing import Protocol

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.exploration.posterior.segments import Segments

__all__ = ["SHARES", "Evidence", "Kin", "Kinship", "Likeness", "Prior"]

SHARES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""What a part of the coefficients may have of their prior variance."""
_FIRST = 5  # of SHARES, before anything is known
_DECADES = 1.0  # by which a share is expected to differ from the first one: the prior of the shares
_AGAIN = 1.3  # as many numbers as at the last time, and shares are learned again


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
    """

    precision: Floats
    pull: Floats
    squares: float = 0.0
    weight: float = 0.0
    place: float = 0.0
    numbers: int = 0
    era: int = 0


@dataclass(frozen=True, eq=False)
class Prior:
    """What others say of a segment's coefficients, and of the variance of its losses.

    Attributes
    ----------
    precision, pull
        Of a Gaussian, in place of what is believed of one segment alone.
    squares, weight, place
        As in `Evidence`, summed over the others.
    horizon
        Events that the segment is expected to have in all.
    """

    precision: Floats
    pull: Floats
    squares: float
    weight: float
    place: float
    horizon: int


class Kin(Protocol):
    """What a segment has to say, for others to be informed by it."""

    def evidence(self) -> Evidence:
        """What was released of it."""

    def knowledge(self) -> object:
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
        """Return what has these in a row."""
        return cls(int(places[0]), int(places[1]), tuple(int(one) for one in places[2:]))

    def shares(self) -> tuple[float, tuple[float, ...]]:
        """Return the shares of the residual, and of everybody and the effects: they add up to one."""
        own, effects = SHARES[self.residual], [SHARES[one] for one in self.effects]
        common = max(SHARES[0], 1 - own - sum(effects))
        whole = own + sum(effects) + common
        return own / whole, tuple(one / whole for one in (common, *effects))


@dataclass(frozen=True, eq=False)
class _Stacked:
    """What was released of all segments, in units of the prior."""

    known: tuple[object, ...]
    precisions: Floats  # (S, p, p)
    pulls: Floats  # (S, p)
    evidences: tuple[Evidence, ...]
    eras: Integers

    @property
    def numbers(self) -> int:
        return sum(one.numbers for one in self.evidences)


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
        self._size = len(self._mean)
        self.likeness = Likeness(effects=(_FIRST,) * (len(self._groups) - 1))
        self._members: list[Kin] = []
        self._rows = np.empty((0, sum(size for _, size in self._groups)))
        self._learned = 0  # numbers that there were when the likeness was learned
        self._stack: _Stacked | None = None
        self._reduced: tuple[_Stacked, Likeness, Floats, Floats] | None = None

    def join(self, row: Floats, member: Kin) -> int:
        """Take in a segment; return its place.

        Parameters
        ----------
        row
            What it shares with others, as `Segments.row` says it.
        member
            What it has to say.
        """
        self._rows = np.vstack([self._rows[: len(self._members)], row])
        self._members = [*self._members, member]
        return len(self._members) - 1

    @property
    def count(self) -> int:
        """How many segments there are."""
        return len(self._members)

    # ------------------------------------------------------------------ what others say

    def prior(self, place: int, horizon: int, row: Floats | None = None) -> Prior:
        """Return what all other segments say of one.

        Parameters
        ----------
        place
            Of the segment; -1 for one that is not there yet, with its `row`.
        horizon
            Events that it is expected to have in all.
        row
            What it shares with others, if it is not there yet.
        """
        stack = self._stacked()
        self._learn(stack)
        era = int(stack.eras[place]) if place >= 0 else int(np.max(stack.eras, initial=0))
        others = stack.eras == era
        if place >= 0:
            others[place] = False
        own = self._own_shares(self.likeness)
        mean, covariance = self._common(stack, others, self._rows[place] if row is None else row)
        covariance[np.diag_indices_from(covariance)] += own
        inverse = np.linalg.inv(self._root)
        precision = inverse.T @ np.linalg.inv(covariance) @ inverse
        precision = (precision + precision.T) / 2
        known = [one for one, other in zip(stack.evidences, others, strict=True) if other]
        squares, weight, place_ = (sum(getattr(one, name) for one in known) for name in ("squares", "weight", "place"))
        return Prior(precision, precision @ (self._mean + self._root @ mean), squares, weight, place_, horizon)

    def _common(self, stack: _Stacked, others: Floats | Integers, row: Floats) -> tuple[Floats, Floats]:
        """Return mean and covariance of a segment's common parts, in units of the prior, given some segments."""
        informs, pulls = self._without_residuals(stack, self.likeness)
        rows, size = self._rows[others], self._size
        width = rows.shape[1]
        precision = np.einsum("sg,sh,sij->gihj", rows, rows, informs[others], optimize=True)
        precision = precision.reshape(width * size, width * size)
        precision[np.diag_indices_from(precision)] += 1 / self._common_variances(self.likeness)
        pull = np.einsum("sg,si->gi", rows, pulls[others]).ravel()
        across = np.kron(row, np.eye(size))  # (p, G p): from the parts to the segment
        solved = np.linalg.solve(precision, np.column_stack([across.T, pull]))
        return np.asarray(across @ solved[:, -1]), np.asarray(across @ solved[:, :-1])

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

    def _without_residuals(self, stack: _Stacked, likeness: Likeness) -> tuple[Floats, Floats]:
        """What each segment says of its common parts, its residual integrated out: (A^-1 + own)^-1, and its pull."""
        if self._reduced is None or self._reduced[0] is not stack or self._reduced[1] != likeness:
            informs, pulls, _ = self._integrated(stack, likeness)
            self._reduced = stack, likeness, informs, pulls
        return self._reduced[2], self._reduced[3]

    def _integrated(self, stack: _Stacked, likeness: Likeness) -> tuple[Floats, Floats, float]:
        own = np.sqrt(self._own_shares(likeness))
        scaled = own[:, None] * stack.precisions
        inner = scaled * own + np.eye(self._size)
        targets = np.concatenate([scaled, (own * stack.pulls)[:, :, None]], axis=2)
        solved = np.linalg.solve(inner, targets)
        informs = stack.precisions - np.swapaxes(scaled, 1, 2) @ solved[:, :, :-1]
        pulls = stack.pulls - (np.swapaxes(scaled, 1, 2) @ solved[:, :, -1:])[:, :, 0]
        determinants = float(np.linalg.slogdet(inner)[1].sum())
        quadratic = float((targets[:, :, -1] * solved[:, :, -1]).sum())
        return informs, pulls, (quadratic - determinants) / 2

    # ------------------------------------------------------------------ how alike they are

    def log_evidence(self, likeness: Likeness) -> float:
        """Return the log-likelihood of all that was released, up to what does not depend on the likeness.

        Parameters
        ----------
        likeness
            How alike segments are taken to be.
        """
        stack = self._stacked()
        informs, pulls, own = self._integrated(stack, likeness)
        rows, variances = self._rows, self._common_variances(likeness)
        width = rows.shape[1] * self._size
        precision = np.einsum("sg,sh,sij->gihj", rows, rows, informs, optimize=True).reshape(width, width)
        root = np.sqrt(variances)
        inner = root[:, None] * precision * root + np.eye(width)
        pull = root * np.einsum("sg,si->gi", rows, pulls).ravel()
        quadratic = float(pull @ np.linalg.solve(inner, pull))
        return own + (quadratic - float(np.linalg.slogdet(inner)[1])) / 2

    def _learn(self, stack: _Stacked) -> None:
        """Take a step of each share to where what was released is more likely; now and then."""
        if len(self._members) < 2 or stack.numbers < max(2.0, _AGAIN * self._learned):
            return
        best = self.likeness
        value = self._posterior_of(best)
        for which in range(len(best.places())):
            for step in (-1, 1):
                while (other := _stepped(best, which, step)) is not None and (found := self._posterior_of(other)) > value:
                    best, value = other, found
        self.likeness, self._learned = best, stack.numbers

    def _posterior_of(self, likeness: Likeness) -> float:
        places = np.array(likeness.places())
        first = np.array([_FIRST, len(SHARES) - 1, *([_FIRST] * len(likeness.effects))])
        away = np.log10(np.array(SHARES)[places] / np.array(SHARES)[first]) / _DECADES
        return self.log_evidence(likeness) - float((away**2).sum()) / 2

    # ------------------------------------------------------------------ in units of the prior

    def _stacked(self) -> _Stacked:
        known = tuple(one.knowledge() for one in self._members)
        before = self._stack
        if before is not None and len(before.known) == len(known) and all(map(_is, before.known, known)):
            return before
        p, count = self._size, len(known)
        precisions, pulls, evidences = np.zeros((count, p, p)), np.zeros((count, p)), []
        for place, member in enumerate(self._members):
            if before is not None and place < len(before.known) and before.known[place] is known[place]:
                precisions[place], pulls[place] = before.precisions[place], before.pulls[place]
                evidences.append(before.evidences[place])
                continue
            said = member.evidence()
            precisions[place] = self._root.T @ said.precision @ self._root
            pulls[place] = self._root.T @ (said.pull - said.precision @ self._mean)
            evidences.append(said)
        eras: Integers = np.array([one.era for one in evidences], dtype=np.int64)
        self._stack = _Stacked(known, precisions, pulls, tuple(evidences), eras)
        return self._stack

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What segments may have in common, by name."""
        return tuple(name for name, _ in self._groups)


def _is(one: object, other: object) -> bool:
    return one is other


def _stepped(likeness: Likeness, which: int, step: int) -> Likeness | None:
    places = list(likeness.places())
    places[which] += step
    return Likeness.at(places) if 0 <= places[which] < len(SHARES) else None
