"""What came of it: which trial to take, and what to expect of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from sottovoce._arrays import Floats
from sottovoce.privacy import PrivacyStatement

CONFIRMS = "private_confirms"
"""Attribute of a trial that evaluates another again: the number of that one."""


@dataclass(frozen=True)
class Estimate:
    """What is known of one trial's parameters, from released means alone.

    Attributes
    ----------
    number
        Of the trial.
    params
        Its parameters.
    released
        The mean that was released for it, the trial's value: picked for being best it looks better than it is.
    standard_error
        Of that mean, the noise of privacy in it.
    confirmed
        The mean of a second evaluation, of other people, which nobody was picked by; None if there was none.
    confirmed_error
        Its standard error.
    expected
        What to expect, all trials considered: free of the luck of having been picked, as far as trials tell.
    """

    number: int
    params: dict[str, Any]
    released: float
    standard_error: float
    confirmed: float | None
    confirmed_error: float | None
    expected: float

    def __str__(self) -> str:
        words = f"trial {self.number}, expected {self.expected:.3g} (released {self.released:.3g} +- "
        words += f"{self.standard_error:.2g}"
        if self.confirmed is not None:
            words += f"; confirmed {self.confirmed:.3g} +- {self.confirmed_error:.2g}"
        return words + ")"


def estimates(study: optuna.Study) -> tuple[Estimate, ...]:
    """Return what is known of every trial with a private value, the one of which most is expected first.

    Parameters
    ----------
    study
        A study that `private_optimize` has worked on; other trials in it are left out.
    """
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    seen = [one for one in complete if "private_standard_error" in one.user_attrs]
    again: dict[int, list[FrozenTrial]] = {}
    for one in seen:
        if CONFIRMS in one.user_attrs:
            again.setdefault(int(one.user_attrs[CONFIRMS]), []).append(one)
    first = [one for one in seen if CONFIRMS not in one.user_attrs]
    pooled = [_pooled([one, *again.get(one.number, [])]) for one in first]
    expected, _ = shrunk(np.array([mean for mean, _ in pooled]), np.array([error for _, error in pooled]))
    found = [_estimate(one, again.get(one.number, []), float(best)) for one, best in zip(first, expected, strict=True)]
    sign = -1.0 if study.direction is StudyDirection.MAXIMIZE else 1.0
    return tuple(sorted(found, key=lambda one: (sign * one.expected, sign * one.released)))


def _estimate(trial: FrozenTrial, again: list[FrozenTrial], expected: float) -> Estimate:
    mean, error = _pooled(again) if again else (None, None)
    value, own = _pooled([trial])
    return Estimate(trial.number, dict(trial.params), value, own, mean, error, expected)


def _pooled(trials: list[FrozenTrial]) -> tuple[float, float]:
    """Mean of several released means of the same parameters, each weighted by how sure it is; its standard error."""
    errors = np.array([one.user_attrs["private_standard_error"] for one in trials])
    means = np.array([one.value for one in trials], dtype=np.float64)
    weights = errors.min() ** 2 / errors**2 if errors.min() > 0 else (errors == 0).astype(float)
    return float(means @ weights / weights.sum()), float(errors.min() / np.sqrt(weights.sum()))


@dataclass(frozen=True)
class PrivateOutcome:
    """What `private_optimize` returns; print it.

    Attributes
    ----------
    estimates
        What is known of each trial of the study, the best to take first: finalists of this call before all others.
    trials
        How many trials this call has completed.
    events
        How many people it has served.
    events_per_trial
        How many people a trial had.
    privacy
        What is promised, to whom, and why it holds.
    earlier
        What was promised to people of trials that the study had before this call, and how many trials these are: they
        are among `estimates`, and the sampler has chosen by them.
    """

    estimates: tuple[Estimate, ...]
    trials: int
    events: int
    events_per_trial: int
    privacy: PrivacyStatement
    earlier: tuple[tuple[str, int], ...] = ()

    @property
    def best(self) -> Estimate:
        """The trial to take."""
        if not self.estimates:
            raise ValueError("no trial was completed, so there is none to take")
        return self.estimates[0]

    @property
    def best_params(self) -> dict[str, Any]:
        """Its parameters."""
        return self.best.params

    def __str__(self) -> str:
        lines = [f"{self.trials} trials of {self.events_per_trial} events, {self.events:,} people served"]
        if self.estimates:
            lines.append(f"Take {self.best}")
            lines += [f"  {name} = {value!r}" for name, value in self.best_params.items()]
        lines.append(f"Privacy: {self.privacy.headline}")
        if self.earlier:
            lines.append("Earlier trials: " + "; ".join(f"{count} under {words}" for words, count in self.earlier))
        return "\n".join(lines)

    __repr__ = __str__


# ----------------------------------------------------------------------
# What the best of many noisy numbers is worth: less than it looks.
#
# The trial whose released mean is best is best in part by luck (the winner's curse). If the true means are draws from
# a distribution G, and each was seen with an error of known size, then the expectation of each given what was seen is
# free of that: it is the same whether the trial was picked for being best or not (Bayes' rule does not know about
# picking). G is not known, but many trials show it: here it is the distribution on a grid that makes what was seen
# most likely, found by expectation and maximisation (the nonparametric maximum likelihood of Kiefer and Wolfowitz
# 1956, as used by Jiang and Zhang 2009). It bends to what samplers do, a few bad trials first and many good ones
# later, where a normal distribution would not. All of it is computed from released means.
#
# Tests: tests/integrations/test_shrinking.py.


_GRID = 200  # points at which G may have mass
_STEPS = 200  # of expectation and maximisation; more of them make G spiky, not better


def shrunk(means: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Return the expectation of each true mean given all that was seen, and its standard deviation.

    Parameters
    ----------
    means
        What was released.
    errors
        Standard error of each.

    Examples
    --------
    >>> seen = np.array([0.1, 0.5, 0.5, 0.6, 0.4])
    >>> expected, _ = shrunk(seen, np.full(5, 0.1))
    >>> bool(0.1 < expected[0] < 0.5)
    True
    """
    means, errors = np.asarray(means, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if len(means) < 2 or not errors.min() > 0:
        return means.copy(), errors.copy()
    grid = np.linspace(means.min(), means.max(), _GRID)
    logs = -0.5 * ((means[:, None] - grid) / errors[:, None]) ** 2
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(_GRID, 1 / _GRID)
    for _ in range(_STEPS):
        joint = likely * weights
        weights = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    joint = likely * weights
    joint /= joint.sum(axis=1, keepdims=True)
    expected = joint @ grid
    return expected, np.sqrt(np.maximum(joint @ grid**2 - expected**2, 0.0))
