"""What every belief offers: decisions that may be the best, drawn from what was released, and lengths of rounds."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import Record, headed, part
from sottovoce.models.fit_check import Certainty, FitCheck
from sottovoce.models.gaussian import DiagonalPrior, Fitted, LossPrior
from sottovoce.models.known_names import KnownNames
from sottovoce.models.measurements import Measurements, Tried
from sottovoce.models.pace import ModelSettings, Pace
from sottovoce.models.published import MOST_COVARIANCES, Posterior
from sottovoce.models.sufficient_statistics import Prior, SufficientStatistics

_Found = TypeVar("_Found")
_DOUBT = 3.0  # nats by which knowing nothing must have predicted better than what an earlier run knew


@dataclass(frozen=True, eq=False, kw_only=True)
class BeliefState:
    """What was learned: replaced as a whole.

    Attributes
    ----------
    measurements
        What was released since all was forgotten last.
    since, resets
        The event at which that was, and how often.
    prior_evidence
        Evidence for what an earlier run knew, against knowing nothing.
    """

    measurements: Measurements
    since: int = 0
    resets: int = 0
    prior_evidence: float = 0.0

    @property
    def prior_stands(self) -> bool:
        """Whether nothing speaks against what an earlier run knew."""
        return not self.resets and self.prior_evidence > -_DOUBT


class Belief(ABC):
    """What is believed about losses, given all that was released; replaced as a whole, never changed in part."""

    model: str
    settings: Any
    dimension: int
    known: Any
    """What was learned, as one value: the same object as long as nothing new is."""

    known_names: KnownNames | None = None
    """What its coordinates are, where these are more than the set's, or in another order."""

    _among: tuple[str, ...] = ("horizon", "least", "segments")  # settings that depend on other segments
    _earlier: Any = None  # what an earlier run has released
    _shared_prior: Prior | None = None  # what other segments say
    _found: tuple[Any, dict[Hashable, Any]] = None, {}  # what is known, and what was computed of it

    # ------------------------------------------------------------------ what a model says

    @abstractmethod
    def _nothing(self) -> BeliefState:
        """Return what is known before anything is."""

    @property
    @abstractmethod
    def pace(self) -> Pace:
        """What the lengths of rounds follow from."""

    @abstractmethod
    def learn(self, numbers: Any) -> None:
        """Take in what a round has released.

        Parameters
        ----------
        numbers
            Means, and the events behind them.
        """

    @abstractmethod
    def coefficients(self) -> Floats:
        """Return the posterior mean of what mean losses are linear in."""

    @abstractmethod
    def best_for(self, coefficients: Floats) -> Floats:
        """Return the best decision for coefficients.

        Parameters
        ----------
        coefficients
            As `coefficients` returns them.
        """

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of one loss at one decision, as far as is known."""

    @abstractmethod
    def sufficient_statistics(self) -> "SufficientStatistics":
        """Return what was released, as measurements of the coefficients."""

    @abstractmethod
    def expected_loss(self, decision: Floats) -> float:
        """Return the loss per event that is expected of a decision.

        Parameters
        ----------
        decision
            A point of the set.
        """

    @abstractmethod
    def gaps(self, one: Floats, other: Floats, draws: int) -> Floats:
        """Draw from what is believed by how much one decision loses more than another.

        Parameters
        ----------
        one, other
            Decisions.
        draws
            How many samples.
        """

    @abstractmethod
    def certainty(self, decision: Floats, draws: int = 200) -> Certainty:
        """Say how sure it is that a decision is the best: draw from the posterior, and see what is better by how much.

        Parameters
        ----------
        decision
            A point of the set.
        draws
            Samples of the posterior that it is judged by.
        """

    @abstractmethod
    def fit_check(self) -> FitCheck:
        """Compare what was released with the model."""

    @abstractmethod
    def posterior(self) -> Posterior:
        """Return what is believed, as a public record, with what an earlier run knew if that still counts."""

    def is_as_good(self, decision: Floats) -> bool:
        """Whether nothing but rounding makes the leader better than another decision.

        Parameters
        ----------
        decision
            A point of the set.
        """
        return False

    # ------------------------------------------------------------------ what follows

    @property
    def leader(self) -> Floats:
        """The best decision, as far as is known."""
        return self._computed("leader", lambda: self.best_for(self.coefficients()))

    def _computed(self, what: Hashable, compute: Callable[[], _Found]) -> _Found:
        """Return what follows from what is known, computed once."""
        found = self._found
        if found[0] is not self.known:
            found = self._found = self.known, {}
        if what not in found[1]:
            found[1][what] = compute()
        made: _Found = found[1][what]
        return made

    @property
    def measurements(self) -> Any:
        """What it rests on, since all was forgotten last."""
        return self.known.measurements

    @property
    def resets(self) -> int:
        """How often all was forgotten, because a round surprised far more than is usual: the world had changed."""
        return int(self.known.resets)

    @property
    def remembers_earlier(self) -> bool:
        """Whether what an earlier run knew is in use: until all is forgotten, or what is released speaks against it."""
        return self._earlier is not None and bool(self.known.prior_stands)

    @property
    def told_so(self) -> int:
        """How often most other segments have forgotten all: they notice what a small segment cannot."""
        return 0 if self._shared_prior is None else self._shared_prior.resets

    # ------------------------------------------------------------------ one of many segments

    def fresh_copy(self) -> Self:
        """Return a belief of another segment: of the same set, and knowing nothing."""
        other = copy.copy(self)
        other.known, other._shared_prior = other._nothing(), None
        return other

    def use_prior(self, prior: Prior, settings: Any) -> None:
        """Begin with what other segments say of this one, in place of nothing.

        Parameters
        ----------
        prior
            What they say.
        settings
            What is known of the segment's place among them: see `ModelSettings.among`.
        """
        self._found = None, {}  # first: what follows from the old one must not outlive it
        self._shared_prior, self.settings = prior, settings

    def prior_record(self) -> Record:
        """Return the prior in use, as plain arrays and numbers: what is learned of its rounds follows from that."""
        prior, settings = self._shared_prior, self.settings
        if prior is None:
            return {}
        among = {name: getattr(settings, name) for name in self._among}
        scores = {f"scores.{choice}": score for choice, score in enumerate(prior.scores)}
        precision = prior.precision if prior.precision.ndim == 1 else prior.precision[np.triu_indices(len(prior.pull))]
        numbers = {"precision": precision, "pull": prior.pull, "scatter": prior.scatter, "resets": prior.resets}
        return {**numbers, **among, **scores}

    def restore_prior(self, prior_record: Record) -> None:
        """Lean on what `prior_record` returned."""
        if "pull" not in prior_record:
            return
        precision, pull, scatter, resets = (prior_record[name] for name in ("precision", "pull", "scatter", "resets"))
        if len(precision) > len(pull):  # the upper half of a matrix
            upper, precision = precision, np.empty((len(pull), len(pull)))
            precision[np.triu_indices(len(pull))] = precision.T[np.triu_indices(len(pull))] = upper
        scores = tuple(score for _, score in sorted(part(prior_record, "scores").items()))
        among: dict[str, Any] = {name: prior_record[name] for name in self._among}
        self.use_prior(Prior(precision, pull, scatter, resets=resets, scores=scores), replace(self.settings, **among))

    # ------------------------------------------------------------------ keeping

    def knowledge(self) -> Any:
        """Return what was learned, as one value that nothing changes later."""
        return self.known

    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned, be it of a set before this one."""
        self.known = self._in_room(knowledge)

    def _in_room(self, known: Any) -> Any:
        """Return what is known with a coordinate for each name that there is now."""
        measurements = known.measurements.in_room(self._nothing().measurements)
        return known if measurements is known.measurements else replace(known, measurements=measurements)

    def memory(self) -> Record:
        """Return what was learned, as plain arrays and numbers: what was released, and what followed from it."""
        plain = {one.name: getattr(self.known, one.name) for one in fields(self.known) if one.name != "measurements"}
        return plain | headed("measurements", self.measurements.record())

    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""
        known = {one.name: memory[one.name] for one in fields(self.known) if one.name != "measurements"}
        known["measurements"] = self.measurements.from_record(part(memory, "measurements"))
        self.known = type(self.known)(**known)

    def carry_over(self, earlier: Any, events: int) -> None:
        """Begin with what another belief of the same kind knows, `events` before this one's first.

        Parameters
        ----------
        earlier
            That belief.
        events
            How many.
        """
        known = self._in_room(earlier.known)
        measurements = replace(known.measurements, ends=known.measurements.ends - events)
        self.known = replace(known, measurements=measurements, since=known.since - events)


class GaussianBelief(Belief):
    """A belief whose mean losses are linear in coefficients that are Gaussian.

    A model says what mean losses are linear in (`features`), what is believed of the coefficients (`best_fit`), which
    decision is the best for some (`best_for`), and how it learns; the rest follows.
    """

    settings: ModelSettings
    measurements: Measurements
    prior: DiagonalPrior | LossPrior
    """Of the coefficients, before anything is known."""

    # ------------------------------------------------------------------ what a model says

    @abstractmethod
    def draw(self, count: int, passed: int, number: int, coins: np.random.Generator) -> Floats:
        """Draw decisions that may be the best, for round `number`, which begins after `passed` events.

        Parameters
        ----------
        count
            How many decisions.
        passed
            Events before the round.
        number
            Of the round, from 0.
        coins
            Public ones.
        """

    @property
    @abstractmethod
    def best_fit(self) -> Fitted:
        """The posterior that is in use."""

    @abstractmethod
    def features(self, decisions: Floats) -> Floats:
        """Return what the mean losses of decisions are linear in.

        Parameters
        ----------
        decisions
            In rows.
        """

    @abstractmethod
    def _residuals(self) -> tuple[Floats, Floats, Floats]:
        """Variances of released means, and mean and covariance of decisions, by a model that is taken to be right."""

    @abstractmethod
    def _tried(self) -> Tried:
        """What was released of each decision, with what an earlier run knew if that still counts."""

    @abstractmethod
    def _in_units(self) -> tuple[Floats, Floats | None, Floats | None, dict[str, Any]]:
        """Mean, covariance and deviations of slopes, level and what comes after; and more fields of `Posterior`."""

    # ------------------------------------------------------------------ what follows

    def coefficients(self) -> Floats:
        """Return the posterior mean of what mean losses are linear in."""
        return self.best_fit.mean

    def expected_loss(self, decision: Floats) -> float:
        """Return the loss per event that is expected of a decision."""
        return float(self.settings.middle + self.features(decision[None, :])[0] @ self.coefficients())

    def gaps(self, one: Floats, other: Floats, draws: int) -> Floats:
        """Draw from what is believed by how much one decision loses more than another."""
        drawn, rows = self.best_fit.sample(np.random.default_rng(1), draws), self.features(np.array([one, other]))
        return np.asarray(drawn @ (rows[0] - rows[1]))

    def fit_check(self) -> FitCheck:
        """Compare what was released with the model."""
        return FitCheck.between_decisions(self.model, self.settings, self.measurements, self._residuals())

    def posterior(self) -> Posterior:
        """Return what is believed, as a public record, with what an earlier run knew if that still counts."""
        settings, n, tried = self.settings, self.dimension, self._tried()
        mean, covariance, deviations, more = self._in_units()
        return Posterior(
            model=self.model,
            loss_range=(settings.middle - settings.width / 2, settings.middle + settings.width / 2),
            decisions=tried.decisions,
            means=settings.middle + tried.pulls / tried.precisions,
            precisions=tried.precisions,
            events=tried.events,
            slopes=mean[:n],
            level=float(settings.middle + mean[n]),
            deviations=None if deviations is None else deviations[:n],
            covariance=covariance if n <= MOST_COVARIANCES else None,
            rounds=self.measurements.rounds,
            fit_check=self.fit_check(),
            **more,
        )
