"""What came of it: which trial to take, and what to expect of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.study import StudyDirection
from optuna.trial import TrialState

from sottovoce._arrays import Floats
from sottovoce.privacy import PrivacyStatement


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
    expected
        What to expect, all trials considered: free of the luck of having been picked, as far as trials tell.
    """

    number: int
    params: dict[str, Any]
    released: float
    standard_error: float
    expected: float

    def __str__(self) -> str:
        released = f"released {self.released:.3g} +- {self.standard_error:.2g}"
        return f"trial {self.number}, expected {self.expected:.3g} ({released})"


def estimates(study: optuna.Study) -> tuple[Estimate, ...]:
    """Return what is known of every trial with a private value, the one of which most is expected first.

    Parameters
    ----------
    study
        A study that `private_optimize` has worked on; other trials in it are left out.
    """
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    seen = [one for one in complete if "private_standard_error" in one.user_attrs]
    errors = np.array([one.user_attrs["private_standard_error"] for one in seen], dtype=np.float64)
    expected = shrunk(np.array([one.value for one in seen], dtype=np.float64), errors)
    found = [
        Estimate(one.number, dict(one.params), float(one.value or 0.0), float(error), float(best))
        for one, error, best in zip(seen, errors, expected, strict=True)
    ]
    sign = -1.0 if study.direction is StudyDirection.MAXIMIZE else 1.0
    return tuple(sorted(found, key=lambda one: (sign * one.expected, sign * one.released)))


@dataclass(frozen=True)
class PrivateOutcome:
    """What `private_optimize` returns; print it.

    Attributes
    ----------
    estimates
        What is known of each trial of the study, the best to take first.
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


def shrunk(means: Floats, errors: Floats) -> Floats:
    """Return the expectation of each true mean given all that was seen.

    Parameters
    ----------
    means
        What was released.
    errors
        Standard error of each.

    Examples
    --------
    >>> seen = np.array([0.1, 0.5, 0.5, 0.6, 0.4])
    >>> bool(0.1 < shrunk(seen, np.full(5, 0.1))[0] < 0.5)
    True
    """
    if len(means) < 2 or not errors.min() > 0:
        return means
    grid = np.linspace(means.min(), means.max(), _GRID)
    logs = -0.5 * ((means[:, None] - grid) / errors[:, None]) ** 2
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(_GRID, 1 / _GRID)
    for _ in range(_STEPS):
        joint = likely * weights
        weights = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    joint = likely * weights
    return np.asarray(joint @ grid / joint.sum(axis=1))
