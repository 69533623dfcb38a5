"""Beliefs about items: each has a mean loss of its own, known from its own released numbers; any number of items.

In units of the range B, measured from 0 (or from the low end of the range), the value of item i is
theta_i = <phi_i, w> + s xi_i: a level, what features say, and a deviation of its own. w is Gaussian; the scale s is one
of ten, weighed by how well it explains what was released; both are integrated out. A released mean y of e events has
variance v = rho f(1 - f)/e + (noise/e)^2, f its expected value; rho is 1 for clicks, and otherwise follows from the
sums of x(1 - x), which are released beside the others where that is free. The posterior of each item given w and s is
its own, so that a round costs a pass over the items, and nothing is ever inverted but a matrix of features.

Decisions are not drawn from the posterior itself but from what the events to come can still teach of it: an item whose
value nobody will learn any more is taken as it is expected. With e' = `ahead` times the events that are left and v' =
q/e' + (noise/e')^2, a deviation t becomes posterior_scale * t/sqrt(1 + v'/t^2). The last round plays the best decision.
Without noise, early samples are wider and late ones narrower (`_posterior_scale`). Where all items can be known well by
the end, the samples of a round are drawn evenly: each item has one in each sixteenth of its posterior, if these are 16.
Then no item waits for its turn by bad luck, which is how good ones were lost. (With few events for many items, most are
never known, and trying all of them evenly costs more than it finds.)

Items that are added to the set begin with w and s alone, which know little of the best: so the next round shows each of
them by itself, beside the best that is known. There it carries little noise, since what all decisions have in common
needs little of the budget. Rounds begin anew to be short after that, and early samples wide. (Drawn from the posterior
like all others, newcomers waited for their turn for a tenth of the horizon.)

Memories: the same under several discounts of the past; the one that predicted the newest numbers best is in use. A
round that surprises by far more than is usual makes it forget everything.

Constants were chosen by simulation, on other seeds than are reported. Tests: tests/learning/test_item_feedback.py.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from sottovoce._arrays import Floats, Integers
from sottovoce._records import Record
from sottovoce.models.belief import Belief, BeliefState
from sottovoce.models.changes import ENOUGH, USUAL, calmer, in_use, limit_of, scored
from sottovoce.models.fit_check import Certainty, FitCheck
from sottovoce.models.known_names import KnownNames, widened
from sottovoce.models.pace import Pace
from sottovoce.models.published import MOST_COVARIANCES, Posterior
from sottovoce.models.sufficient_statistics import SufficientStatistics

_SCALES = 2.0 ** -np.arange(1.0, 11.0)  # of items' own deviations, in B
_REACHES = (math.inf, 0.1, 0.03)  # how far back memories reach, in horizons
_LEAD = np.array([4.5, -1.0, -1.0])  # nats by which each is ahead: too short a memory explores all anew
_PRIOR_LEAD = 2.0  # of what an earlier run knew, over knowing nothing
_RIDGE = 16.0  # precision of w, in 1/B^2
_OUTLIER, _FAR = 12.0, 30.0  # what a squared surprise counts at most: as a surprise; as evidence
_LIMIT = 6.0  # of surprises, at first
_GROW, _CAP, _LONG = 0.1, 0.02, 0.04  # of a round: shares of what was seen, and of the horizon
_SHORTEST = 64  # events of a round
_AHEAD = 0.03  # share of the events to come that teach of one item
_WIDER = 0.25  # how much wider samples are at first, without noise
_AMPLE = 100.0  # variance between items over that of an item's mean in the end, from which all can be known well
_MANY = 0.07  # power of the number of items by which they are wider without noise
_LEAST_SPREAD = 0.02  # of x, in f(1 - f)
_FIRST_DECISIONS, _FIRST_WORK = 1000, 16_000_000  # of a first round, at most; and times items: each is an oracle call
_NEW_EVENTS, _NEW_NOISE = 8.0, 10.0  # that show each newcomer first; and for each deviation of the noise in its sum
_NEW_AGE = 0.1  # share of the horizon after which newcomers are new no more
FEW_ITEMS = 60
"""Of more, samples of each are narrower."""
SURE = 0.15
"""What an item's number counts for at least in a round that all of its decisions show it in."""
_MOVED = 0.15  # how far the world may have moved since an earlier run, as a share of how far items lie apart


@dataclass(frozen=True, eq=False)
class ItemNumbers:
    """What one round has released.

    Attributes
    ----------
    items
        That were shown.
    means, counts
        The mean value of each, and the events behind it.
    deviations
        Of the noise in each mean.
    spread
        The sum of x(1 - x) over all items and events; None where it was not released.
    end
        Events that had passed when the round was over.
    """

    items: Integers
    means: Floats
    counts: Floats
    deviations: Floats
    spread: float | None
    end: int


@dataclass(frozen=True)
class ItemSettings:
    """What is known beforehand.

    Attributes
    ----------
    horizon, width
        Events, and B.
    zero, sign
        The loss that values are measured from, and whether larger values are larger losses (1) or gains (-1).
    noise
        Deviation of the noise of an item's sum, in B, where all items count alike.
    heavy
        Whether that is Laplace noise.
    items, chosen
        How many there are, and how many a decision has at most.
    may_be_empty
        Whether a decision may choose nothing at all.
    probes, first
        Decisions of a round, and events of the first one.
    posterior_scale
        What deviations of a sample are multiplied by.
    segments, least
        Of one of several segments, how many there are, and events that its rounds have at least; 0 otherwise.
    """

    horizon: int
    width: float
    zero: float
    sign: int
    noise: float
    heavy: bool
    items: int
    chosen: int
    may_be_empty: bool
    probes: int
    first: int
    posterior_scale: float
    segments: int = 0
    least: int = 0

    def among(self, segments: int, asked: int, share: float, variance: float) -> "ItemSettings":
        """Return what holds for one of several segments: see `ModelSettings.among`."""
        least = min((self.noise * self.width) ** 2 / variance, _GROW * asked / segments)
        horizon, first = max(1, round(share * self.horizon)), max(_SHORTEST, round(share * self.first))
        return replace(self, horizon=horizon, first=first, segments=segments, least=int(least))

    @property
    def middle(self) -> float:
        """Where released means are measured from: nowhere else than at 0."""
        return 0.0


@dataclass(frozen=True, eq=False)
class ItemHistory:
    """What a belief rests on: events by item, and when rounds were over."""

    counts: Floats
    ends: Floats

    @property
    def rounds(self) -> int:
        """How many rounds it is of."""
        return len(self.ends)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.counts))

    def add(self, numbers: ItemNumbers) -> "ItemHistory":
        """Return the same with what another round has released."""
        counts = self.counts.copy()
        counts[numbers.items] += numbers.counts
        return ItemHistory(counts, np.append(self.ends, float(numbers.end)))

    def record(self) -> Record:
        """Return it as plain arrays."""
        return {"counts": self.counts, "ends": self.ends}

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """Return what `record` returned."""
        return cls(np.array(record["counts"]), np.array(record["ends"]))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Known(BeliefState):
    measurements: Any
    precisions: Floats  # (M, n), by memory: one over the variance of what was released of each item,
    pulls: Floats  # and that times its mean
    scores: Floats  # evidence for each memory, the best at 0
    surprises: Floats  # mean squared surprise of the last rounds
    alarm: float = 0.0
    mean: float = 0.5  # value of what was shown last
    enough: float = 0.0  # events of an item at which noise equals sampling error
    spread: float = 0.0  # sums of x(1 - x), as released,
    largest: float = 0.0  # and of f(1 - f), which they are at most
    squares: float = 0.0  # of all surprises, each over its variance; how many; what heavy tails add to their variance
    numbers: float = 0.0
    tails: float = 0.0
    newcomers: bool = False  # whether names were added that no round has shown
    changed: int = 0  # events before the round that first showed the newest items


class _Prior(NamedTuple):
    """Of each scale: its weight, the mean of w, and a root of its covariance."""

    weights: Floats
    means: Floats
    roots: Floats


class _Scaled(NamedTuple):
    """What is believed of items if their own deviations have a certain scale."""

    means: Floats
    precisions: Floats
    common: Floats  # rows: what each of the independent parts of w that are unsure adds to an item's value

    def together(self, items: Any) -> tuple[Any, Any]:
        """Return mean and variance of what some items, or rows of them, come to: what is unsure of all adds up."""
        return items @ self.means, items**2 @ (1 / self.precisions) + ((items @ self.common) ** 2).sum(axis=-1)


def _evenly_drawn(shape: tuple[int, int], coins: np.random.Generator) -> Floats:
    """Draw standard normal numbers that each column has one of in each of as many equally likely ranges as rows."""
    ranges = coins.permuted(np.broadcast_to(np.arange(shape[0], dtype=float)[:, None], shape), axis=0)
    return np.asarray(ndtri(np.maximum((ranges + coins.random(shape)) / shape[0], 1e-12)))


class ItemBelief(Belief):
    """What is believed of items, given all that was released.

    Parameters
    ----------
    oracle
        From a cost for each item to the best decision.
    settings
        What is known beforehand.
    features
        (n, d), a row for each item; None if there are none.
    earlier
        Means and variances of items, as losses, that an earlier run believed in; NaN where it knew nothing.
    known_names
        Items that something is known of, where these are more than the set's: features and `earlier` are of these.

    Examples
    --------
    >>> settings = ItemSettings(1000, 1.0, 0.0, 1, 0.0, False, 3, 1, False, 4, 64, 1.0)
    >>> belief = ItemBelief(lambda cost: np.eye(3)[cost.argmin()], settings)
    >>> belief.learn(ItemNumbers(np.arange(3), np.array([0.9, 0.1, 0.8]), np.full(3, 50.0), np.zeros(3), None, 150))
    >>> belief.leader
    array([0., 1., 0.])
    """

    model = "items"
    settings: ItemSettings
    known: _Known
    _among = ("horizon", "first", "segments", "least")
    _earlier: tuple[Floats, Floats] | None

    def __init__(
        self,
        oracle: Callable[[Floats], Floats],
        settings: ItemSettings,
        *,
        features: Floats | None = None,
        earlier: tuple[Floats, Floats] | None = None,
        known_names: KnownNames | None = None,
    ) -> None:
        self.oracle, self.settings, self.known_names = oracle, settings, known_names
        self.dimension = settings.items if known_names is None else len(known_names.names)
        self._in_set = slice(None) if known_names is None else known_names.places
        ones = np.ones((self.dimension, 1))
        self._features = ones if features is None else np.hstack([ones, self._standard(features)])
        self._start = np.eye(1, self._features.shape[1])[0] / 2  # the mean of w
        self._reaches: tuple[float, ...] = _REACHES
        self._earlier, self._lead = None, _LEAD
        if earlier is not None:  # what was known earlier is in the first; the last reaches as far back without it
            self._earlier = self._as_data(*earlier)
            self._reaches, self._lead = (*_REACHES, math.inf), np.append(_LEAD, _LEAD[0] - _PRIOR_LEAD)
        self.known = self._nothing()

    def _as_data(self, means: Floats, variances: Floats) -> tuple[Floats, Floats]:
        """Return what an earlier run knew as a precision and a pull for each item: the world may have moved since."""
        settings, heard = self.settings, np.isfinite(means)
        values = settings.sign * (means - settings.zero) / settings.width
        apart = float(values[heard].std()) if heard.any() else 0.0
        spread = variances / settings.width**2 + (_MOVED * apart) ** 2
        precisions = np.where(heard, 1 / np.where(heard, spread, 1.0), 0.0)
        return precisions, precisions * np.where(heard, values, 0.0)

    def _nothing(self) -> _Known:
        known = self._forgotten()
        if self._earlier is None:
            return known
        precisions, pulls = self._earlier
        known.precisions[0], known.pulls[0] = precisions, pulls
        mean = float(np.clip(pulls.sum() / precisions.sum(), 1e-5, 0.98)) if precisions.any() else known.mean
        return replace(known, mean=mean)

    def _forgotten(self) -> _Known:
        """Return what is known when all is forgotten, what an earlier run knew included."""
        data = np.zeros((2, len(self._reaches), self.dimension))
        none, scores = ItemHistory(np.zeros(self.dimension), np.empty(0)), np.zeros(len(self._reaches))
        return _Known(measurements=none, precisions=data[0], pulls=data[1], scores=scores, surprises=np.empty(0))

    def _losses(self, values: Floats) -> Floats:
        return np.asarray(self.settings.zero + self.settings.sign * self.settings.width * values)

    # ------------------------------------------------------------------ what is believed

    @property
    def pace(self) -> Pace:
        """Since when it remembers."""
        return Pace(since=self.known.since)

    @property
    def remembers_earlier(self) -> bool:
        """Whether what an earlier run knew is in use."""
        return self._earlier is not None and not self.known.resets and self._memory == 0

    @property
    def knows_nothing(self) -> bool:
        """Whether every item is like every other."""
        return not self._data(0)[0][self._in_set].any()

    def _data(self, memory: int) -> tuple[Floats, Floats]:
        """Return precisions and pulls of items: what was released, and what other segments say."""
        known, others = self.known, self._shared_prior
        if others is None:
            return known.precisions[memory], known.pulls[memory]
        mine = float(known.resets >= others.resets)  # or most others have seen that the world has changed
        return mine * known.precisions[memory] + others.precision, mine * known.pulls[memory] + others.pull

    @property
    def _memory(self) -> int:
        """Which memory is in use: that which predicted best, if by a margin."""
        return in_use(self.known.scores, self._lead)

    @property
    def ratio(self) -> float:
        """rho, the variance of a loss over that of a click as likely."""
        known = self.known
        return 1.0 if not known.largest else min(1.0, max(_LEAST_SPREAD, 1 - known.spread / known.largest))

    def _prior(self, memory: int) -> _Prior:
        """Return what all items together say of each: w for each scale, and how likely that scale is."""
        return self._computed(memory, lambda: self._fitted(memory))

    def _fitted(self, memory: int) -> _Prior:
        precisions, pulls = self._data(memory)
        shown = precisions > 0
        rows, variances = self._features[shown], 1 / precisions[shown]
        values, size = pulls[shown] * variances, self._features.shape[1]
        fits, means, roots = [], [], []
        for scale in _SCALES:
            weights = 1 / (scale * scale + variances)
            precision = (rows.T * weights) @ rows + _RIDGE * np.eye(size)
            mean = np.linalg.solve(precision, rows.T @ (weights * values) + _RIDGE * self._start)
            off = values - rows @ mean
            fit = np.log(weights).sum() - (weights * off**2).sum() - _RIDGE * ((mean - self._start) ** 2).sum()
            fits.append(0.5 * (fit - np.linalg.slogdet(precision)[1]))
            means.append(mean)
            roots.append(np.linalg.inv(np.linalg.cholesky(precision)).T)
        likely = np.exp(np.array(fits) - max(fits))
        return _Prior(likely / likely.sum(), np.array(means), np.array(roots))

    def _expected(self, memory: int) -> tuple[Floats, Floats]:
        """Return mean and variance of each item's value."""
        prior = self._prior(memory)
        own = float(prior.weights @ _SCALES**-2.0)
        data, pulls = self._data(memory)
        precisions = own + data
        level = self._features @ (prior.weights @ prior.means)
        return (own * level + pulls) / precisions, 1 / precisions

    def _samples(
        self, count: int, coins: np.random.Generator, later: float, posterior_scale: float, *, evenly: bool = False
    ) -> Floats:
        """Draw values of all items: the part of the posterior that numbers of variance `later` would still teach."""
        memory = self._memory
        prior = self._prior(memory)
        pick = coins.choice(len(_SCALES), count, p=prior.weights)
        drawn = coins.standard_normal((count, self._features.shape[1]))
        level = (prior.means[pick] + np.einsum("mij,mj->mi", prior.roots[pick], drawn)) @ self._features[self._in_set].T
        own = _SCALES[pick][:, None] ** -2.0
        data, pulls = self._data(memory)
        precisions = own + data[self._in_set]
        noise = _evenly_drawn(precisions.shape, coins) if evenly else coins.standard_normal(precisions.shape)
        noise *= posterior_scale
        noise /= np.sqrt(precisions * (1 + later * precisions))
        return np.asarray((own * level + pulls[self._in_set]) / precisions + noise)

    # ------------------------------------------------------------------ rounds

    def round_size(self, passed: int) -> int:
        """Events of the round that begins after `passed` events."""
        settings, left = self.settings, self.settings.horizon - passed
        seen = passed - max(self.known.since, self.known.changed)
        size, new = float(settings.first), self._newcomers
        if not self.knows_nothing and len(new):
            size = self._first_look(len(new))
        elif not self.knows_nothing:
            grown, long = min(_GROW * seen, _CAP * settings.horizon), min(seen, _LONG * settings.horizon)
            size = max(min(size, seen), grown, min(self.known.enough, long))
        size = max(_SHORTEST, settings.least, size)
        if settings.segments:  # nobody knows how many events are left of one
            return int(size)
        if left < 1.2 * size:
            return left
        return int(min(left, (left + 1) // 2 if left < 1.5 * size else size))

    def count(self, passed: int, size: int) -> int:
        """Decisions of a round of `size` events that begins after `passed` others."""
        settings = self.settings
        if not self.knows_nothing:
            most = max(settings.probes, min(len(self._newcomers), _FIRST_DECISIONS))
            return 1 if self._is_last(passed, size) else min(most, size)
        shown = min(-(-2 * settings.items // settings.chosen), _FIRST_DECISIONS, _FIRST_WORK // settings.items)
        return int(min(size, max(settings.probes, shown)))

    def _is_last(self, passed: int, size: int) -> bool:
        return passed + size >= self.settings.horizon and not self.settings.segments

    def draw(self, count: int, passed: int, size: int, coins: np.random.Generator) -> list[Floats]:
        """Draw decisions that may be the best; before anything is known, some that show all items evenly.

        Parameters
        ----------
        count
            How many decisions.
        passed, size
            Events before the round, and in it.
        coins
            Public ones.
        """
        settings, drawn = self.settings, []
        if self.knows_nothing:
            load = np.zeros(settings.items)
            for _ in range(count):
                cost = load + coins.random(settings.items)
                if settings.may_be_empty:  # as many as can be, of sets that need not choose any
                    cost -= cost.max() + 1
                decision = self.oracle(cost)
                load += decision
                drawn.append(decision)
            return drawn
        if self._is_last(passed, size):
            return [self.leader] * count
        left = settings.horizon - passed - size
        events = _AHEAD * (max(left, _GROW * passed) if settings.segments else left) + 1e-9
        usual = self._usual
        later = usual / events + (settings.noise / events) ** 2
        new = self._newcomers
        if len(new):
            return self._with_newcomers(new, count, coins)
        ample = self._ample(usual)
        values = self._samples(count, coins, later, self._posterior_scale(passed, ample), evenly=ample == 1)
        return [self.oracle(one) for one in settings.sign * values]

    @property
    def _newcomers(self) -> Integers:
        """Items of the set that were added, and that nothing is known of: of other segments, either."""
        if not self.known.newcomers:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self._data(0)[0][self._in_set] == 0)

    def _first_look(self, newcomers: int) -> float:
        """Events of the round that shows so many newcomers first."""
        settings = self.settings
        share = (1 + SURE * (settings.chosen - 1)) / settings.chosen if settings.heavy else 1.0
        return min(newcomers * (_NEW_EVENTS + _NEW_NOISE * settings.noise * share), _LONG * settings.horizon)

    def _with_newcomers(self, new: Integers, count: int, coins: np.random.Generator) -> list[Floats]:
        """Show newcomers, each by itself where the set allows it, beside the best that is known."""
        costs = self.settings.sign * self.coefficients()
        far = 1 + 2 * float(np.abs(costs).sum())
        costs[new] += far
        drawn = []
        for one in np.resize(coins.permutation(new), count):
            cost = costs.copy()
            cost[one] -= 2 * far
            drawn.append(self.oracle(cost))
        return drawn

    def _ample(self, usual: float) -> float:
        """Return 1 where all items can be known well by the end, noise included; less if not so well."""
        settings, prior = self.settings, self._prior(self._memory)
        events = settings.horizon * settings.chosen / settings.items
        variance = usual / events + (settings.noise / events) ** 2 / _CAP  # of its mean: so many rounds have noise
        return min(1.0, float(prior.weights @ _SCALES**2) / variance / _AMPLE)

    def _posterior_scale(self, passed: int, ample: float) -> float:
        """Return what deviations of samples are multiplied by: without noise more, and more still at first.

        An item that had bad luck in its first events would be given up otherwise; finding it in the end pays no more.
        """
        settings = self.settings
        if settings.noise:
            return settings.posterior_scale
        age, reach = passed - self.known.changed, _NEW_AGE if self.known.changed else 1.0
        many = max(1.0, settings.items / FEW_ITEMS) ** (_MANY * ample)
        early = 1 + _WIDER * ample * (1 - 2 * min(1.0, age / (reach * settings.horizon)))
        return float(settings.posterior_scale * many * early)

    # ------------------------------------------------------------------ learning

    def learn(self, numbers: ItemNumbers) -> None:
        """Take in what a round has released.

        Parameters
        ----------
        numbers
            Means of items, and the events behind them.
        """
        settings = self.settings
        items, means, counts = numbers.items, numbers.means, numbers.counts
        if self.told_so > self.known.resets:
            since = int(self.known.measurements.ends[-1:].sum())
            self.known = replace(self._forgotten(), since=since, resets=self.told_so)
        known = self.known
        fresh, memory = self.knows_nothing, self._memory
        shown = float((means * counts).sum())
        mean = min(0.98, max((shown + 1) / (counts.sum() + 20), 1e-5))
        fits = [] if fresh else [self._expected(one) for one in range(len(known.scores))]
        likely = np.full(len(items), mean) if fresh else np.clip(fits[memory][0][items], mean / 4, 1 - (1 - mean) / 4)
        if numbers.spread is not None:
            known = replace(
                known,
                spread=known.spread + numbers.spread,
                largest=known.largest + float((counts * likely * (1 - likely)).sum()),
            )
            self.known = known  # for `ratio`
        own = self.ratio * likely * (1 - likely)
        private = numbers.deviations**2
        variances = own / counts + private
        known = replace(known, mean=mean, enough=settings.noise**2 / max(1e-12, float(np.median(own))))
        measurements = known.measurements.add(numbers)
        events = numbers.end - (known.measurements.ends[-1] if len(known.measurements.ends) else known.since)
        if fits:
            squares = np.array([(means - one[items]) ** 2 / (two[items] + variances) for one, two in fits])
            spreads = np.array([two[items] + variances for _, two in fits])
            shock = float(np.minimum(squares[memory], _OUTLIER).mean())
            limit, alarm = limit_of(known.surprises, known.alarm, _LIMIT), calmer(known.alarm, events, settings.horizon)
            remembers = known.measurements.rounds or self._shared_prior is None  # or nothing of it is its own
            if shock > limit and len(items) >= min(ENOUGH, settings.chosen) and remembers:
                kept = {"alarm": alarm + 1, "mean": mean, "enough": known.enough}
                self.known = replace(self._forgotten(), since=numbers.end, resets=known.resets + 1, **kept)
                return
            evidence = -0.5 * (np.log(spreads) + np.minimum(squares, _FAR)).sum(axis=1)
            share = private / spreads[memory]
            known = replace(
                known,
                alarm=alarm,
                scores=scored(known.scores, evidence),
                surprises=np.append(known.surprises, shock)[-USUAL:],
                squares=known.squares + float(squares[memory].sum()),
                numbers=known.numbers + len(items),
                tails=known.tails + (float((3 * share**2).sum()) if settings.heavy else 0.0),
            )
        fade = np.exp([-events / (reach * settings.horizon) for reach in self._reaches])[:, None]
        if known.newcomers and (known.precisions[0][items] == 0).any():
            known = replace(known, newcomers=False, changed=int(numbers.end - events))
        precisions, pulls = known.precisions * fade, known.pulls * fade
        precisions[:, items] += 1 / variances
        pulls[:, items] += means / variances
        self.known = replace(known, measurements=measurements, precisions=precisions, pulls=pulls)

    # ------------------------------------------------------------------ one of many segments

    def sufficient_statistics(self) -> SufficientStatistics:
        """Return what was released of each item: precisions and pulls."""
        known, memory = self.known, self._memory
        numbers = len(known.measurements) * known.measurements.rounds
        data = np.stack([known.precisions[memory], known.pulls[memory]])
        if self._earlier is not None and self.remembers_earlier:  # all segments know it already
            data = data - np.stack(self._earlier)
        return SufficientStatistics(data[0], data[1], numbers=numbers, resets=known.resets)

    @property
    def variance(self) -> float:
        """Variance of one item's loss, as far as is known."""
        return self._usual * self.settings.width**2

    @property
    def _usual(self) -> float:
        """The same of its value."""
        return max(self.ratio * self.known.mean * (1 - self.known.mean), 1e-6)

    def coefficients(self) -> Floats:
        """Return the expected value of each item of the set."""
        return np.asarray(self._expected(self._memory)[0][self._in_set])

    def best_for(self, coefficients: Floats) -> Floats:
        """Return the best decision for values of items."""
        return np.asarray(self.oracle(self.settings.sign * coefficients))

    # ------------------------------------------------------------------ saying

    def item_losses(self) -> tuple[Floats, Floats]:
        """Return the loss that is expected of each item of the set, and its standard deviation."""
        means, deviations = self._all_losses()
        return means[self._in_set], deviations[self._in_set]

    def _all_losses(self) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of each item's loss."""
        values, deviations = self._over_scales(sparse.eye_array(self.dimension, format="csr"))
        return self._losses(values), deviations

    def _over_scales(self, items: Any) -> tuple[Any, Any]:
        """Return the mean of what items come to, and the deviation of its loss, over all scales that may be."""
        weights, moments = self._prior(self._memory).weights, [one.together(items) for one in self._by_scale()]
        means, variances = (np.array(part) for part in zip(*moments, strict=True))
        mean = weights @ means
        return mean, self.settings.width * np.sqrt(weights @ (variances + (means - mean) ** 2))

    def _covariance(self) -> Floats:
        """Return the covariance of all items' losses, and of a level, which has none."""
        weights, scaled = self._prior(self._memory).weights, list(self._by_scale())
        mean, found = weights @ np.array([one.means for one in scaled]), np.zeros((self.dimension + 1,) * 2)
        for weight, one in zip(weights, scaled, strict=True):
            off = one.means - mean
            found[:-1, :-1] += weight * (np.diag(1 / one.precisions) + one.common @ one.common.T + np.outer(off, off))
        return np.asarray(self.settings.width**2 * found)

    def _by_scale(self) -> Iterator[_Scaled]:
        prior, (data, pulls) = self._prior(self._memory), self._data(self._memory)
        for scale, mean, root in zip(_SCALES, prior.means, prior.roots, strict=True):
            own, precisions = scale**-2.0, scale**-2.0 + data
            common = (own / precisions)[:, None] * (self._features @ root)
            yield _Scaled((own * (self._features @ mean) + pulls) / precisions, precisions, common)

    def expected_loss(self, decision: Floats) -> float:
        """Return the loss per event that is expected of a decision: the sum of its items'."""
        return float(self.item_losses()[0] @ decision)

    def gaps(self, one: Floats, other: Floats, draws: int) -> Floats:
        """Draw from what is believed by how much one decision loses more than another."""
        values = self._samples(draws, np.random.default_rng(1), 0.0, 1.0)
        return np.asarray(self.settings.sign * self.settings.width * (values @ (one - other)))

    def certainty(self, decision: Floats, draws: int = 200) -> Certainty:
        """Say how sure it is that a decision is the best: draw from the posterior, and see what is better by how much.

        Parameters
        ----------
        decision
            Of the set.
        draws
            Samples of the posterior that it is judged by.
        """
        sign, coins, gaps, same = self.settings.sign, np.random.default_rng(1), [], 0
        for _ in range(draws):
            values = self._samples(1, coins, 0.0, 1.0)[0]
            best = self.oracle(sign * values)
            gaps.append(sign * float(values @ (decision - best)))
            same += bool(np.array_equal(best, decision))
        worse = self.settings.width * np.maximum(0.0, gaps)
        shortfall = float(worse.mean()), float(np.quantile(worse, 0.95))
        x = np.zeros(self.dimension)
        x[self._in_set] = decision
        _, deviation = self._over_scales(x)
        return Certainty(same / draws, shortfall, self.expected_loss(decision), float(deviation))

    def fit_check(self) -> FitCheck:
        """Compare what was released of items with what was expected of them, round by round."""
        known = self.known
        return FitCheck.of(known.squares, known.numbers, known.tails, self.model)

    def posterior(self) -> Posterior:
        """Return what is believed, as a public record: the loss of each item."""
        settings, known, n = self.settings, self.known, self.dimension
        means, deviations = self._all_losses()
        data = known.precisions[self._memory]
        (shown,) = np.nonzero(data)
        ends = settings.zero, settings.zero + settings.sign * settings.width
        return Posterior(
            model=self.model,
            loss_range=(min(ends), max(ends)),
            decisions=sparse.csr_array((np.ones(len(shown)), (np.arange(len(shown)), shown)), shape=(len(shown), n)),
            means=self._losses(known.pulls[self._memory][shown] / data[shown]),
            precisions=data[shown] / settings.width**2,
            events=known.measurements.counts[shown],
            center=np.zeros(n),
            slopes=means,
            level=0.0,
            deviations=deviations,
            covariance=self._covariance() if n <= MOST_COVARIANCES else None,
            rounds=known.measurements.rounds,
            fit_check=self.fit_check(),
        )

    def is_as_good(self, decision: Floats) -> bool:
        """Whether nothing but rounding makes the leader better than another decision."""
        means = self.coefficients()
        return abs(float(means @ (decision - self.leader))) <= 1e-9 * max(1.0, float(np.abs(means).max()))

    # ------------------------------------------------------------------ keeping

    def carry_over(self, earlier: Any, events: int) -> None:
        """Begin with what another belief knows, as `Belief.carry_over` says."""
        super().carry_over(earlier, events)
        if self.known.changed:
            self.known = replace(self.known, changed=self.known.changed - events)

    def _in_room(self, known: _Known) -> _Known:
        """Return what is known with an entry for each name that there is now."""
        n, history = self.dimension, known.measurements
        if len(history.counts) == n:
            return known
        data = {name: widened(getattr(known, name), n) for name in ("precisions", "pulls")}
        measurements = ItemHistory(widened(history.counts, n), history.ends)
        new = known.newcomers or bool(history.counts.any())  # before anything was shown, nobody comes later than others
        return replace(known, measurements=measurements, newcomers=new, **data)

    def _standard(self, features: Floats) -> Floats:
        """Return features with a deviation of 1 in the set, around 0: the prior is the same for each."""
        mine = features[self._in_set]
        spread = mine.std(axis=0)
        return np.asarray((features - mine.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
