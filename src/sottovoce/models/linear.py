"""Beliefs about linear losses: mean loss of decision v is level + <theta, v - c>, theta and level Gaussian.

Prior: theta is isotropic in the coordinates of the set (or follows features), scaled so that <theta, v - c> deviates by
B/(4 sqrt(H)) over random vertices, H the entries of a vertex that are not 0; the level is the middle of the range, give
or take B/4. Nothing else is asked of the set: a few dozen oracle calls.

Memories: the posterior under several discounts of the past, exp(-age/reach), and one that takes mean losses to wander
from round to round around what they are on average. The one that predicted the newest numbers best is in use, the one
of a still world being ahead by a margin. If a round's numbers surprise even that one, by far more than is usual, all is
forgotten, that round included: some of it was before the change. The limit doubles each time, and is halved again as
time passes: a world that changes now and then is followed, one that flips all the time is averaged.

The variance of a loss comes from the squares that are released beside sums (scatter.py). Losses of a decision vary by
f (B - f), for the most part, f its mean loss: less near the ends of their range.

Tests: tests/models/test_linear.py.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sottovoce._arrays import Floats
from sottovoce._records import Record
from sottovoce.models.belief import BeliefState, GaussianBelief
from sottovoce.models.changes import ENOUGH, MEMORIES, USUAL, Memory, Outcome, calmer, in_use, judged, limit_of, scored
from sottovoce.models.fit_check import Certainty
from sottovoce.models.gaussian import ByCoefficients, ByMeasurements, Fitted, LossPrior, sums_of_offsets
from sottovoce.models.known_names import KnownNames, widened
from sottovoce.models.measurements import Measurements, Numbers, Tried, numbered, stacked, written
from sottovoce.models.pace import ModelSettings, Pace
from sottovoce.models.scatter import NO_SCATTER, scatter_of, squared_mean, variance_of
from sottovoce.models.sufficient_statistics import Prior, SufficientStatistics

Oracle = Callable[[Floats], Floats]
_OUTLIER = 12.0  # what a squared surprise counts at most, where Laplace noise is all there is
_FLAT = 0.002  # losses at the very ends of their range vary by this share of what they can vary by in its middle
_BOLD_EVERY = 4  # samples deviate by less than the posterior, which costs less, but for every fourth: or else what
# looked bad early, by chance, may never be tried again; where there is more to lose by that, by not so much less
_CALM, _CALM_IF_LONG, _LONG = 0.7, 0.85, 100_000
_LEAST_SHARE = 0.5  # of the average variance, that of any decision at least
_MANY = 600  # coordinates from which decisions are kept sparse, and covariances are not shown
_AROUND = 10**7  # multiplications by which one form of the posterior must be cheaper, for a change of form to pay
_SPARSE = 300  # coordinates from which sums over decisions are worth to be taken over their entries that are not 0
_VERTICES = 64  # random ones that set the prior's scale
_MOVED = 0.15  # how far the world may have moved since an earlier run, as a share of how far losses lie apart at all
_ROUNDING = 1e-9  # relative


@dataclass(frozen=True, eq=False, kw_only=True)
class _LinearState(BeliefState):
    scores: Floats  # evidence for each memory, the best at 0
    surprises: Floats  # mean squared surprise of the last rounds, oldest first
    alarm: float = 0.0  # how often the limit is doubled: once for every reset that is not yet forgiven
    scatter: Floats = field(default_factory=lambda: NO_SCATTER)  # what was released of the variance of losses


class _Counted(NamedTuple):
    """How numbers count, whatever others say later: their variances; by memory, their precision and pull.

    The variances follow from coefficients, and from what others had said of variances then.
    """

    known: _LinearState
    variances: Floats
    summed: dict[Memory, tuple[Floats, Floats]]
    coefficients: Floats
    said: Floats


class LinearBelief(GaussianBelief):
    """What is believed about linear losses over the vertices of a set.

    Parameters
    ----------
    oracle, dimension
        The set.
    settings
        What is known beforehand.
    features
        (n, k) a row for each coordinate: coordinates of like features have like losses. None if there are none.
    earlier
        What an earlier run has released of the same decisions, with a column for each of the names.
    known_names
        What decisions have columns for, where that is more than the set's coordinates: `dimension` is then of these.

    Examples
    --------
    >>> settings = ModelSettings(1000, 1.0, 0.5, 0.0, (1 / 400, 1 / 8, 1 / 4), 6, 8, 0.1, 0.02, 1.0)
    >>> belief = LinearBelief(lambda cost: np.eye(3)[cost.argmin()], 3, settings)
    >>> belief.learn(Numbers(np.eye(3), np.array([0.9, 0.1, 0.9]), np.full(3, 100.0), 300))
    >>> belief.leader
    array([0., 1., 0.])
    """

    model = "linear"
    known: _LinearState
    prior: LossPrior

    def __init__(
        self,
        oracle: Oracle,
        dimension: int,
        settings: ModelSettings,
        *,
        features: Floats | None = None,
        earlier: Tried | None = None,
        known_names: KnownNames | None = None,
    ) -> None:
        self.oracle, self.settings, self.known_names = oracle, settings, known_names
        self.dimension = dimension if known_names is None else len(known_names.names)
        self.many = self.dimension > _MANY
        coins = np.random.default_rng(0)  # public and always the same: what follows is part of the plan
        vertices = self._wide(np.array([oracle(coins.standard_normal(dimension)) for _ in range(_VERTICES)]))
        self.prior = LossPrior.of(vertices, settings.width, features)
        self.center = self.prior.center
        self._earlier = None if earlier is None else earlier.written(many=self.many)
        self.known = self._nothing()
        self._counted: _Counted | None = None

    def _nothing(self) -> _LinearState:
        empty = Measurements.empty(self.dimension, many=self.many)
        return _LinearState(measurements=empty, scores=np.zeros(len(MEMORIES)), surprises=np.empty(0))

    # ------------------------------------------------------------------ one of many segments

    def sufficient_statistics(self) -> SufficientStatistics:
        """Return what was released, as the memory in use counts it."""
        known = self.known
        precision, pull = self._once(MEMORIES[self.memory_in_use], self._variances())
        return SufficientStatistics(precision, pull, known.scatter, len(self.measurements), known.resets)

    def prior_record(self) -> Record:
        """Return the prior in use, and what its numbers were counted by before it did."""
        self._variances()
        counted = self._counted
        assert counted is not None
        return {**super().prior_record(), "counted": counted.coefficients, "said": counted.said}

    def restore_prior(self, prior_record: Record) -> None:
        """Lean on what `prior_record` returned."""
        self._shared_prior = Prior(np.empty((0, 0)), np.empty(0), np.array(prior_record["said"]))
        self._counted = self._count(prior_record["counted"])
        self._shared_prior = None
        super().restore_prior(prior_record)

    def _once(self, memory: Memory, variances: Floats) -> tuple[Floats, Floats]:
        """Add up once what counts in the same way."""
        counted = self._counted
        if counted is None or counted.variances is not variances:
            return self._summed(memory, variances)
        if memory not in counted.summed:
            counted.summed[memory] = self._summed(memory, variances)
        return counted.summed[memory]

    def _summed(self, memory: Memory, variances: Floats) -> tuple[Floats, Floats]:
        """Add up what was released, each number by its precision: of the coefficients, a precision and a pull."""
        measurements = self.measurements
        summed, pulled = measurements.pooled(self._kept(memory) / self._wandering(memory, variances))
        if self.dimension >= _SPARSE:
            return sums_of_offsets(measurements.decisions, self.center, summed, pulled)
        rows = self._computed("rows", lambda: self._offsets(measurements.decisions))  # once for all memories
        return (rows * summed[:, None]).T @ rows, rows.T @ pulled

    def best_for(self, coefficients: Floats) -> Floats:
        """Return the best decision for slopes and a level."""
        return np.asarray(self.oracle(self._cost(coefficients)))

    def _cost(self, coefficients: Floats) -> Floats:
        """Return what coefficients say of the set's coordinates."""
        known = self.known_names
        return coefficients[: self.dimension] if known is None else coefficients[known.places]

    def _wide(self, decisions: Any) -> Any:
        """Return decisions of the set with a column for each name."""
        return decisions if self.known_names is None else self.known_names.wide(decisions)

    # ------------------------------------------------------------------ what is believed

    @property
    def memory_in_use(self) -> int:
        """Which of the memories predicts best."""
        return in_use(self.known.scores)

    @property
    def pace(self) -> Pace:
        """What the lengths of rounds follow from."""
        return Pace(self.known.since, MEMORIES[self.memory_in_use].reach * self.settings.horizon)

    @property
    def variance(self) -> float:
        """Variance of one loss at one decision."""
        return variance_of(self._scatter, self.settings)

    @property
    def _scatter(self) -> Floats:
        """What was released of the variance, here and in other segments."""
        others = self._shared_prior
        return self.known.scatter if others is None else self.known.scatter + others.scatter

    def number_variance(self, counts: Floats, raised: Floats | float = 1.0) -> Floats:
        """Variance of released means of so many losses (`counts`), that of a loss `raised` so many times."""
        return self.settings.number_variance(np.minimum(self.variance * raised, self.settings.variances[2]), counts)

    @property
    def best_fit(self) -> Fitted:
        """The posterior that is in use."""
        return self._fit(MEMORIES[self.memory_in_use])

    def _fit(self, memory: Memory) -> Fitted:
        return self._computed(memory, lambda: self._fitted(memory, self._variances()))

    def _variances(self) -> Floats:
        """Variance of every number: fit with one for all, then take that of each decision."""
        if self._counted is not None and self._counted.known is self.known:
            return self._counted.variances
        measurements, found = self.measurements, np.empty(0)
        if len(measurements):
            found = self._fitted(MEMORIES[0], self.number_variance(measurements.counts)).mean
        self._counted = self._count(found)
        return self._counted.variances

    def _count(self, coefficients: Floats) -> _Counted:
        """Return how numbers count if these are the coefficients; none, if there are no numbers."""
        measurements, others = self.measurements, self._shared_prior
        raised: Any = 1.0
        if len(measurements):
            raised = self._raised(self.prior.values(measurements.decisions, coefficients))[measurements.index]
        said = NO_SCATTER if others is None else others.scatter
        return _Counted(self.known, self.number_variance(measurements.counts, raised), {}, coefficients, said)

    def _raised(self, expected: Floats) -> Floats:
        """How much larger the variance of losses is at decisions, compared with where it was measured."""
        scatter, largest = self._scatter, (self.settings.width / 2) ** 2
        if not scatter[1]:
            return np.ones(expected.shape)
        here = max(largest - squared_mean(scatter, self.settings), _FLAT * largest)
        return np.asarray(np.maximum((largest - expected**2) / here, _LEAST_SHARE))

    @property
    def _by_measurements(self) -> bool:
        """Whether a posterior by measurements takes less time: the work grows as the third power of a matrix's side.

        Earlier runs and other segments are taken in by one form alone.
        """
        if self._earlier is not None or self.settings.segments or self._shared_prior is not None:
            return self.many
        measured: int = self.measurements.decisions.shape[0]
        return measured**3 + _AROUND < self.dimension**3

    def _fitted(self, memory: Memory, variances: Floats, *, warm: bool = True) -> Fitted:
        if not self._by_measurements:
            return self._of_coefficients(memory, variances, warm=warm)
        measurements = self.measurements
        summed, pulled = measurements.pooled(self._kept(memory) / self._wandering(memory, variances))
        rows = measurements.decisions
        before = self._told_before if warm else None
        if before is not None:
            rows = stacked(rows, before.decisions)
            summed, pulled = np.append(summed, before.precisions), np.append(pulled, before.pulls)
        gram, kept = None, csr_array(rows)
        if rows is measurements.decisions:
            gram = self._computed("gram", lambda: self.prior.gram(kept, kept))  # once for all memories
        return ByMeasurements(self.prior, kept, summed, pulled, gram)

    def _of_coefficients(self, memory: Memory, variances: Floats, *, warm: bool = True) -> ByCoefficients:
        found = self._once(memory, variances)
        precision, pull = self._warm_prior if warm and self.remembers_earlier else (self._plain_prior, 0.0)
        if self._shared_prior is not None:
            precision = precision + (self._shared_prior.precision - self._plain_prior)
            pull = pull + self._shared_prior.pull
        return ByCoefficients(precision + found[0], pull + found[1])

    def _kept(self, memory: Memory) -> Floats:
        """How much each released mean still counts."""
        ends = self.measurements.ends
        ages = (float(ends[-1]) if len(ends) else 0.0) - ends
        return np.asarray(np.exp(-ages / (memory.reach * self.settings.horizon)))

    def _wandering(self, memory: Memory, variances: Floats) -> Floats:
        """Add what mean losses wander by: n numbers of one decision in one round say as much as 1/(v/n + wander^2)."""
        if not memory.wander:
            return variances
        return np.asarray(variances + self.measurements.alike * (memory.wander * self.settings.width) ** 2)

    def features(self, decisions: Floats) -> Floats:
        """Return what the mean losses of `decisions` are linear in."""
        return self._offsets(self._wide(decisions))

    def _offsets(self, rows: Any) -> Floats:
        return np.column_stack([written(rows) - self.center, np.ones(rows.shape[0])])

    def _rows(self, rows: Any) -> Any:
        return csr_array(rows) if self._by_measurements else self._offsets(rows)

    @cached_property
    def _plain_prior(self) -> Floats:
        precision = np.diag(np.append(np.full(self.dimension, self.prior.scale**-2), self.prior.level**-2))
        if self.prior.factor.size:
            precision[:-1, :-1] = np.linalg.inv(self.prior.covariance())
        return precision

    @property
    def _told_before(self) -> Tried | None:
        """What an earlier run knew, until all is forgotten; the world may have moved since."""
        earlier = self._earlier
        if earlier is None or not self.remembers_earlier:
            return None
        shares = 1 / (1 + earlier.precisions * _MOVED**2 * self.prior.variances(earlier.decisions))
        return Tried(earlier.decisions, shares * earlier.precisions, shares * earlier.pulls, earlier.events)

    @cached_property
    def _warm_prior(self) -> tuple[Floats, Floats]:
        """Precision, and precision times mean, after an earlier run: its posterior, wider by as much as worlds move."""
        assert self._earlier is not None
        earlier, plain = self._earlier, self._plain_prior
        rows = self._offsets(earlier.decisions)
        then = ByCoefficients(plain + (rows.T * earlier.precisions) @ rows, rows.T @ earlier.pulls)
        precision = np.linalg.inv(np.linalg.inv(then.precision) + _MOVED**2 * np.linalg.inv(plain))
        return precision, precision @ then.mean

    # ------------------------------------------------------------------ decisions

    def is_as_good(self, decision: Floats) -> bool:
        """Whether a decision is expected to lose as little as the leader, up to rounding; not while all are alike.

        Coordinates of which as little is known have equal means, and how those are rounded is the machine's business.
        """
        mean, leader = self._cost(self.best_fit.mean), self.leader
        size = float(np.linalg.norm(mean)) * max(float(np.linalg.norm(leader)), float(np.linalg.norm(decision)))
        return size > 0 and abs(float(mean @ (decision - leader))) <= _ROUNDING * size

    def draw(self, count: int, passed: int, number: int, coins: np.random.Generator) -> Floats:
        """Draw `count` decisions for round `number`, after `passed` events, each the best for one posterior sample."""
        settings = self.settings
        bold = (number + np.arange(count)) % _BOLD_EVERY == 0
        calm = _CALM if settings.horizon <= _LONG else _CALM_IF_LONG
        scales = settings.sample_scale * np.where(bold, 1.0, calm)
        drawn = self.best_fit.sample(coins, count, scales[:, None])
        return np.array([self.best_for(row) for row in drawn])

    # ------------------------------------------------------------------ learning

    def learn(self, numbers: Numbers) -> None:
        """Take in what a round has released: judge the memories by it, then let all of them know."""
        known, settings = self.known, self.settings
        probes = widened(numbers.probes, self.dimension)
        centred = replace(numbers, probes=probes, means=numbers.means - settings.middle)
        known = replace(
            known,
            prior_evidence=known.prior_evidence + self._evidence_for_earlier(centred),
            scatter=known.scatter + scatter_of(centred, settings),
            alarm=calmer(known.alarm, float(numbers.counts.sum()), settings.horizon),
        )
        surprise = 0.0
        if not settings.segments or len(numbers.means) >= ENOUGH:  # a few numbers tell memories from nothing
            outcomes = self._evidence([self._fit(memory) for memory in MEMORIES], MEMORIES, centred)
            surprise = outcomes[self.memory_in_use].surprise
            known = replace(
                known,
                scores=scored(known.scores, [one.likelihood for one in outcomes]),
                surprises=np.append(known.surprises, surprise)[-USUAL:],
            )
        surprised = surprise > limit_of(self.known.surprises, self.known.alarm) and len(numbers.means) >= ENOUGH
        if surprised or self.told_so > known.resets:
            # This round, too: some of its events were before the change, and it is large.
            self.known = replace(
                self._nothing(),
                since=numbers.end,
                resets=max(self.told_so, known.resets + surprised),
                surprises=known.surprises,
                alarm=known.alarm + surprised,
                prior_evidence=known.prior_evidence,
            )
        else:
            self.known = replace(known, measurements=known.measurements.add(centred))

    def _evidence(self, fits: Sequence[Fitted], memories: Sequence[Memory], numbers: Numbers) -> list[Outcome]:
        """Compare a round's numbers with what was predicted of them."""
        rows, group = self._rows(numbers.probes), numbered(numbers.probes)
        predicted = [fit.predict(rows) for fit in fits]
        expected, covariances = (np.array(part) for part in zip(*predicted, strict=True))
        variances = self.number_variance(numbers.counts, self._raised(expected))
        wander = np.array([(memory.wander * self.settings.width) ** 2 for memory in memories])
        covariances += wander[:, None, None] * (group[:, None] == group)
        covariances[:, np.arange(len(group)), np.arange(len(group))] += variances
        laplace = None
        if self.settings.heavy and self.settings.noise:
            laplace = (self.settings.noise / numbers.counts) ** 2 / variances
        return judged(numbers.means - expected, covariances, laplace, _OUTLIER)

    def _evidence_for_earlier(self, numbers: Numbers) -> float:
        """Return how much better a round's numbers were predicted with what an earlier run knew than without."""
        if not self.remembers_earlier:
            return 0.0
        memory = MEMORIES[self.memory_in_use]
        cold = self._fitted(memory, self._variances(), warm=False)
        with_it, without = self._evidence([self.best_fit, cold], [memory, memory], numbers)
        return with_it.likelihood - without.likelihood

    # ------------------------------------------------------------------ looking

    def _residuals(self) -> tuple[Floats, Floats, Floats]:
        """By the posterior that forgets nothing."""
        return self._variances(), *self._fit(MEMORIES[0]).predict(self._rows(self.measurements.decisions))

    def certainty(self, decision: Floats, draws: int = 200) -> Certainty:
        """Say how sure it is that a decision is the best, by so many samples of the posterior."""
        costs = np.array([self._cost(row) for row in self.best_fit.sample(np.random.default_rng(1), draws)])
        best = np.array([self.oracle(row) for row in costs])
        gaps = np.maximum(0.0, np.einsum("ij,ij->i", costs, decision - best))
        same = float((np.abs(best - decision).max(axis=1) < 1e-9).mean())
        shortfall = float(gaps.mean()), float(np.quantile(gaps, 0.95))
        mean, variance = self.best_fit.predict(self._rows(self._wide(decision[None, :])))
        loss = float(self.settings.middle + mean[0])
        return Certainty(same, shortfall, loss, math.sqrt(max(0.0, float(variance[0, 0]))))

    def _tried(self) -> Tried:
        measurements, memory = self.measurements, MEMORIES[self.memory_in_use]
        kept = self._kept(memory)
        weights = kept / self._wandering(memory, self._variances())
        tried, before = measurements.tried(weights, kept * measurements.counts), self._told_before
        return tried if before is None else tried.with_more(before)

    def _in_units(self) -> tuple[Floats, Floats | None, Floats | None, dict[str, Any]]:
        center = {"center": self.center}
        if self.many:
            return self.best_fit.mean, None, None, center
        fit = self._of_coefficients(MEMORIES[self.memory_in_use], self._variances())
        covariance = np.asarray(np.linalg.inv(fit.precision), dtype=np.float64)
        return fit.mean, covariance, np.sqrt(np.diag(covariance)), center
