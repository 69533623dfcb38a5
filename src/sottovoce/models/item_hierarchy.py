"""How segments inform each other item by item: what others know of it is the prior of one, as far as they are alike.

The value of item i in segment s is a sum: the level of the segment, what everybody has in common, effects of its
factors' levels and of its features, and a residual of its own. Items do not inform each other here (`ItemBelief` sees
to that), so that of each item there is one small Gaussian, of as many dimensions as segments have things in common; any
number of items costs a pass over them. What others say of a segment's item is what they say of the common parts, with
the variance of a residual on top: small segments borrow it, and large ones outweigh it by what they know themselves.

The variance of the residual, as a share of how far items lie apart, and those of the effects are the ones under which
what was released is most likely. All of it is a function of released numbers.

Tests: tests/models/test_item_hierarchy.py compares it with the joint Gaussian, written out.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.models.hierarchical_prior import HierarchicalPrior
from sottovoce.models.segments import Segments
from sottovoce.models.sufficient_statistics import Prior, SufficientStatistics
from sottovoce.models.variance_shares import VarianceShares

_FLAT = 1e-6  # precision of what everybody has in common, in 1/B^2: nothing is known of it beforehand
_LEAST_APART = 1e-5  # variance between items, in B^2
_MOST_COLUMNS, _MOST_NUMBERS = 50, 20_000_000  # that segments have in common; and of all that is kept of items


class _Parts(NamedTuple):
    """Variances of levels and of residuals, and the precision of each common part, in units of B."""

    level: float
    own: float
    common: Floats


class _Common(NamedTuple):
    """What some segments say of the common parts of each item: (n, c, c) and (n, c); and the levels of segments."""

    precision: Floats
    pull: Floats
    levels: Floats
    weights: Floats  # (S, n), residuals integrated out
    pulls: Floats


class ItemHierarchy(HierarchicalPrior):
    """What segments know of each other's items.

    Parameters
    ----------
    segments
        Whom decisions are for.
    like
        What is believed of the items of a segment before anything is known.
    """

    def __init__(self, segments: Segments, like: Any) -> None:
        self._begin(segments)
        self._items = like.dimension

    def prior(
        self, place: int, row: Floats | None = None, sizes: Floats | None = None, apart: int | None = None
    ) -> Prior:
        """Return what all other segments say of the items of one: a precision and a pull for each.

        Parameters
        ----------
        place, row, sizes
            As for `HierarchicalPrior.prior`.
        apart
            Of no use here: all segments of items have rounds of their own from the start.
        """
        others, most = self._others(place, sizes)
        level = 0.0
        if place >= 0 and self._heard[place].said.resets >= most:
            level = float(self._pooled([*others, place], self.variance_shares).levels[-1])
        common = self._pooled(others, self.variance_shares)
        mine = self._members[place].row if row is None else row
        heard = np.asarray(common.weights.any(axis=0))
        precision, pull = np.zeros((2, len(heard)))
        solved = np.linalg.solve(
            common.precision[heard],
            np.stack([np.broadcast_to(mine, common.pull[heard].shape), common.pull[heard]], axis=-1),
        )
        variance, mean = np.moveaxis(mine @ solved, -1, 0)
        precision[heard] = 1 / (variance + self._parts(self.variance_shares).own)
        pull[heard] = precision[heard] * (mean + level)
        return Prior(precision, pull, resets=most)

    def _evidence_of(self, said: Sequence[int], variance_shares: VarianceShares) -> float:
        common = self._pooled(said, variance_shares)
        weights = common.weights[common.weights > 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.nansum(common.pulls**2 / common.weights)
        effects = self._parts(variance_shares).common
        heard = common.weights.any(axis=0)
        precision, pull = common.precision[heard], common.pull[heard]
        explained = (pull * np.linalg.solve(precision, pull[:, :, None])[:, :, 0]).sum()
        sizes = float(np.linalg.slogdet(precision)[1].sum()) - len(precision) * float(np.log(effects).sum())
        return float(np.log(weights).sum() - squares + explained - sizes) / 2

    def _told(self, places: Sequence[int]) -> Floats:
        """Return precisions and pulls of the items of some segments: (2, S, n)."""
        said = [self._heard[place].said for place in places]
        return np.array([[one.precision for one in said], [one.pull for one in said]]).reshape(2, -1, self._items)

    def _parts(self, variance_shares: VarianceShares) -> "_Parts":
        """Return what values are made of, under the shares."""
        total, pulls = self._told(range(self.count)).sum(axis=1)
        heard, apart = total > 0, 0.0
        if heard.sum() > 1:
            apart = float((pulls[heard] / total[heard]).var() - (1 / total[heard]).mean())
        own, shares = variance_shares.shares()
        unit = max(_LEAST_APART, apart)
        groups = zip(shares[1:], self._groups[1:], strict=True)
        effects = [1 / (unit * share) for share, (_, size) in groups for _ in range(size)]
        return _Parts(unit, unit * own, np.array([_FLAT, *effects]))

    def _pooled(self, places: Sequence[int], variance_shares: VarianceShares) -> _Common:
        """Return what some segments say of all common parts, and their levels, which are no matter of items."""
        parts, told = self._parts(variance_shares), self._told(places)
        weights, pulls = told / (1 + parts.own * told[0])
        width = sum(size for _, size in self._groups)
        rows, levels = self._rows(places).reshape(-1, width), np.zeros(len(places))
        total = weights.sum(axis=0)
        for _ in range(2 * (len(places) > 1)):
            mean = (pulls - levels[:, None] * weights).sum(axis=0) / np.where(total > 0, total, 1.0)
            levels = (pulls - weights * mean).sum(axis=1) / (weights.sum(axis=1) + 1 / parts.level)
        pulls = pulls - levels[:, None] * weights
        precision = np.einsum("si,sa,sb->iab", weights, rows, rows, optimize=True)
        precision[:, range(width), range(width)] += parts.common
        return _Common(precision, np.einsum("si,sa->ia", pulls, rows), levels, weights, pulls)

    def _in_units(self, said: SufficientStatistics) -> SufficientStatistics:
        return said


def check_item_room(segments: Segments, items: int) -> None:
    """Refuse more than can be kept of items by segment.

    Parameters
    ----------
    segments
        Whom decisions are for.
    items
        How many there are.
    """
    columns = sum(size for _, size in segments.groups)
    if columns > _MOST_COLUMNS or segments.most * items > _MOST_NUMBERS or columns**2 * items > _MOST_NUMBERS:
        raise ValueError(
            f"{segments.most:,} segments of {items:,} items, with {columns - 1} levels of factors and features, are "
            f"more than can be kept: at most {_MOST_COLUMNS - 1} levels, and {_MOST_NUMBERS:,} numbers in all"
        )
