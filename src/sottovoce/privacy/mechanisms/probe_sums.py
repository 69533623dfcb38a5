"""Probe sums: one number per public probe, each released once. Pure epsilon-DP, no tree, no logarithm, no delta.

What is released: for every round, one noisy integer per probe, the sum of the integer losses of the events that were
given to that probe; and, where a plan says so, beside each sum another noisy integer, the sum of the squares of these
losses around the middle of their range (_sums.py), from which their variance follows.

Neighbours: one person's losses are replaced, in up to K events. Which event is in which number of which round is public
and does not depend on any loss.

Sensitivity: every event is in exactly *one* number of *one* round, and replacing its loss moves that number by at most
`steps` (the range of a loss on its grid); with the squares beside it, both together by no more than that, in l1 norm
and so in l2. K events: l1 at most K*steps over the whole run, and l2 as much, since all may fall into one number. If at
most c of a person's events fall into one round, l2 is at most sqrt(K*c)*steps.

Proof. Given all that was released before, a number's noise is fresh, so its likelihood ratio between neighbours is that
of one Laplace release moved by m_i*steps, m_i being how many of the person's events it holds; the sum of the m_i is at
most K. (With squares: of two releases of the same scale, moved by m_i*steps together.) Hence epsilon = K*steps/scale
for the whole run, however later rounds use earlier outputs (parallel composition). Gaussian: mu^2 = sum of
(m_i*steps/scale)^2 <= (K*steps/scale)^2. Everything after is post-processing.

Tests: tests/privacy/test_probe_sums.py.
"""

import math
from functools import lru_cache

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._checks import whole
from sottovoce.privacy.calibration import least_noise_for, noise_for
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sottovoce.privacy.mechanisms.mechanism import Mechanism, MechanismState, ReleasesRounds, Sensitivity
from sottovoce.privacy.noise import Noise, Sampler, add


def probe_noise(guarantee: Guarantee, *, steps: int, per_round: int | None = None, reached: int = 1) -> Noise:
    """Return the least noise per number that keeps the guarantee.

    Parameters
    ----------
    guarantee
        PureDP (Laplace noise), ApproxDP or ZCDP (Gaussian).
    steps
        How far replacing one loss can move its number: `LossGrid.steps`.
    per_round
        How many of one person's events can fall into one round (c), where that is known to be fewer than all of its
        contributions. Only Gaussian noise gains from it.
    reached
        How many numbers one event is in, where these move by `steps` at most all together, in l1 norm: what it is to be
        discrete is charged to Gaussian noise for each of them.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import ZCDP, PureDP
    >>> probe_noise(PureDP(epsilon=0.5, contributions=3), steps=1000)
    Noise(family='laplace', scale=6000.0)
    >>> round(probe_noise(ZCDP(rho=0.5, contributions=4), steps=1000, per_round=1).scale, 3)
    2000.0
    """
    whole("steps", steps)
    contributions = guarantee.contributions
    most = contributions if per_round is None else min(whole("per_round", per_round), contributions)
    l2 = steps * math.sqrt(contributions * most)
    return noise_for(guarantee, l1=contributions * steps, l2=l2, numbers=contributions * whole("reached", reached))


@lru_cache(1024)
def least_probe_noise(guarantee: Guarantee, steps: int, reached: int = 1) -> Noise:
    """Return the least noise of either family for one loss in one number, or in several that move no farther together.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import ApproxDP
    >>> least_probe_noise(ApproxDP(epsilon=1.0, delta=1e-6), 1000)
    Noise(family='laplace', scale=1000.0)
    """
    far = guarantee.contributions * whole("steps", steps)
    return least_noise_for(guarantee, l1=far, l2=far, numbers=guarantee.contributions * reached)


class ProbeSums(ReleasesRounds):
    """Releases each round's numbers, once.

    Parameters
    ----------
    sampler
        Draws the noise of one number; see `probe_noise` for its scale.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import PureDP
    >>> from sottovoce.privacy.noise import SimulatedNoise
    >>> noise = probe_noise(PureDP(epsilon=1.0), steps=2**10)
    >>> probes = ProbeSums(SimulatedNoise(0).sampler(noise))
    >>> probes.release(np.array([10**6, 2 * 10**6, 0])).shape, probes.round
    ((3,), 1)
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def release(self, sums: Integers) -> Integers:
        """Return a round's numbers with their noise. Hand each round in once: its events have no budget for two."""
        sums = np.asarray(sums)
        if sums.ndim != 1 or sums.dtype != np.int64:
            raise ValueError(f"sums must be a vector of int64, one per probe, got {sums.dtype} {sums.shape}")
        released = add(sums, self._sampler.draw(len(sums)))
        self._state = MechanismState(self.round + 1, released, None)
        return released.copy()


def _noise(guarantee: Guarantee, sensitivity: Sensitivity) -> Noise:
    return least_probe_noise(guarantee, sensitivity.l1, reached=2)  # a number, and the squares beside it


PROBE_SUMS = Mechanism(
    name="probe-sums",
    takes=("numbers",),
    releases="rounds",
    guarantees=(PureDP, ApproxDP, ZCDP),
    noise=_noise,  # by what one loss moves its number: all else about a round does not matter
    open=lambda sensitivity, sampler: ProbeSums(sampler),
    unasked=True,
)
