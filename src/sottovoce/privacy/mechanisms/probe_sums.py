"""Probe sums: one number per public probe, each released once. Pure epsilon-DP, no tree, no logarithm, no delta.

What is released: for every round, one noisy integer per probe, the sum of the integer losses of the events that were
given to that probe; and, where a plan says so, beside each sum another noisy integer, the sum of the squares of these
losses around the middle of their range (_sums.py), from which their variance follows.

Neighbours: one person's losses are replaced, in up to K events. Which event is in which number of which round is public
and does not depend on any loss.

Sensitivity: every event is in exactly *one* number of *one* round, and replacing its loss moves that number by at most
`steps` (the range of a loss on its grid); with the squares beside it, both together by no more than that, in l1 norm
and so in l2. K events: l1 at most K*steps over the whole run, and l2 as much, since all may fall into one number.

Proof. Given all that was released before, a number's noise is fresh, so its likelihood ratio between neighbours is that
of one Laplace release moved by m_i*steps, m_i being how many of the person's events it holds; the sum of the m_i is at
most K. (With squares: of two releases of the same scale, moved by m_i*steps together.) Hence epsilon = K*steps/scale
for the whole run, however later rounds use earlier outputs (parallel composition). Gaussian: mu^2 = sum of
(m_i*steps/scale)^2 <= (K*steps/scale)^2. Everything after is post-processing.

Tests: tests/privacy/test_probe_sums.py.
"""

from functools import lru_cache

import numpy as np

from sottovoce._arrays import Integers
from sottovoce._checks import whole
from sottovoce.privacy.calibration import least_noise_for
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sottovoce.privacy.mechanisms.mechanism import Mechanism, MechanismState, ReleasesRounds
from sottovoce.privacy.noise import Noise, Sampler, add


@lru_cache(1024)
def probe_noise(guarantee: Guarantee, steps: int) -> Noise:
    """Return the least noise per number that keeps the guarantee, whether or not the squares stand beside it.

    What it is to be discrete is charged to Gaussian noise for both numbers of an event.

    Parameters
    ----------
    guarantee
        PureDP (Laplace noise), ApproxDP (the lesser of both) or ZCDP (Gaussian).
    steps
        How far replacing one loss can move its numbers, together, in l1 norm: `LossGrid.steps`.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import ApproxDP, PureDP
    >>> probe_noise(PureDP(epsilon=0.5, contributions=3), 1000)
    Noise(family='laplace', scale=6000.0)
    >>> probe_noise(ApproxDP(epsilon=1.0, delta=1e-6), 1000)
    Noise(family='laplace', scale=1000.0)
    """
    far = guarantee.contributions * whole("steps", steps)
    return least_noise_for(guarantee, l1=far, l2=far, numbers=2 * guarantee.contributions)


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
    >>> noise = probe_noise(PureDP(epsilon=1.0), 2**10)
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


PROBE_SUMS = Mechanism(
    name="probe-sums",
    takes=("numbers",),
    releases="rounds",
    guarantees=(PureDP, ApproxDP, ZCDP),
    # By what one loss moves its number: all else about a round does not matter.
    noise=lambda guarantee, sensitivity: probe_noise(guarantee, sensitivity.l1),
    open=lambda sensitivity, sampler: ProbeSums(sampler),
    unasked=True,
)
