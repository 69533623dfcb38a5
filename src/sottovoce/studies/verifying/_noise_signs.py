"""Signs of noise in what was released: numbers with noise go where sums cannot, and their last digits are even.

Nobody who sees the released numbers alone can tell a sum from a sum with noise: that is the point of noise. But some
sums give themselves away, and noise never does. Three tests look for that; each is sound whatever the losses were, and
however later ones depended on earlier releases, and together they cry wolf with probability at most `FALSE_ALARM`
for an epoch.

- Reach. A sum of n losses lies between 0 and n times the range. Noise of the plan's scale carries a number out of these
  bounds with probability at least q = P(|noise| > half their width), wherever the sum is: the noise is symmetric and
  falls off. So the number of those outside is at least Poisson-binomial with mean sum(q), and k or fewer come with
  probability at most exp(k - mean) (mean/k)^k (Chernoff). And no number lies far outside: that has probability
  P(noise > distance) at most.
- Last digits. With M at most an eighth of the scale, noise modulo M takes each value with probability at most c/M,
  c = (M/2s) coth(M/2s) (discrete Laplace; Gaussian noise is more even still). So of n numbers some m have the same
  residue with probability at most M C(n, m) (c/M)^m. Losses on a coarse grid, such as clicks, have sums whose last
  digits agree.
- Shared noise. The same for the differences of neighbouring numbers: given the one, the other's residue is even.

What they cannot see: losses with many digits in rounds of many events, which look like noise without any. The audit
runs the program itself, and does see that: `sottovoce audit`.

Tests: tests/studies/test_noise_signs.py.
"""

import math

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.privacy import Noise

FALSE_ALARM = 1e-9
_EACH = math.log(FALSE_ALARM / 4)  # reach has two sides
_LEAST_DIGITS = 16  # a smaller modulus says nothing


class NoiseSigns:
    """Collects the released numbers of an epoch, in order, and says what they lack.

    Parameters
    ----------
    noise
        Of one number.
    steps
        The largest integer of a loss.
    """

    def __init__(self, noise: Noise, steps: int) -> None:
        self._noise, self._steps = noise, steps
        self._numbers: list[Integers] = []
        self._mean, self._outside, self._farthest = 0.0, 0, 0.0

    def add(self, numbers: Integers, counts: tuple[Integers, Integers] | None) -> None:
        """Take in a round's numbers; `counts` are the losses in each, with a minus and with a plus, at most."""
        self._numbers.append(np.asarray(numbers, dtype=np.int64))
        if counts is None:
            return
        low, high = -counts[0] * self._steps, counts[1] * self._steps
        beyond = np.maximum(low - numbers, numbers - high)
        self._outside += int((beyond > 0).sum())
        self._farthest = max(self._farthest, float(beyond.max(initial=0)))
        self._mean += float(sum(self._tail(width) for width in ((high - low) / 2).tolist()))

    def faults(self) -> list[str]:
        """Return what is wrong, in words."""
        if not self._numbers:
            return []
        faults, numbers = [], np.concatenate(self._numbers)
        if self._log_of_few() < _EACH:
            faults.append(f"of {len(numbers)} released numbers too few lie where only noise can carry them")
        if math.log(len(numbers)) + self._log_beyond(self._farthest) < _EACH:
            faults.append("a released number lies farther out than its losses and its noise can carry it")
        if self._log_of_agreement(numbers) < _EACH:
            faults.append(f"the last digits of {len(numbers)} released numbers agree, as if they had no noise")
        if len(numbers) > 1 and self._log_of_agreement(np.diff(numbers)) < _EACH:
            faults.append(f"the last digits of {len(numbers)} released numbers agree, as if they shared their noise")
        return faults

    def _tail(self, distance: float) -> float:
        """Return the probability that noise is farther from 0 than that, on either side, or a little less."""
        scale, beyond = self._noise.scale, distance + 1
        if self._noise.family == "laplace":
            return math.exp(-beyond / scale)
        # A sum over integers from `beyond` on is at least the integral, and the sum over all at most that and 1.
        whole = scale * math.sqrt(2 * math.pi)
        return math.erfc(beyond / (math.sqrt(2) * scale)) * whole / (whole + 1)

    def _log_beyond(self, distance: float) -> float:
        """Return (the logarithm of) how likely noise is to be that far out on one side, at most."""
        ratio = distance / self._noise.scale
        return -ratio if self._noise.family == "laplace" else -(ratio**2) / 2

    def _log_of_few(self) -> float:
        """Return (the logarithm of) how likely it is that so few numbers lie outside, at most."""
        outside, mean = self._outside, self._mean
        if outside >= mean:
            return 0.0
        return outside - mean + (outside * math.log(mean / outside) if outside else 0.0)

    def _log_of_agreement(self, numbers: Integers) -> float:
        """Return (the logarithm of) how likely it is that so many numbers have one residue, at most."""
        scale = self._noise.scale
        modulus = 2 ** min(40, math.floor(math.log2(scale / 8))) if scale >= 8 * _LEAST_DIGITS else 0
        if not modulus:
            return 0.0
        most, count = int(np.unique(numbers % modulus, return_counts=True)[1].max()), len(numbers)
        half = modulus / (2 * scale)
        each = math.log(half / math.tanh(half)) - math.log(modulus)
        ways = math.lgamma(count + 1) - math.lgamma(most + 1) - math.lgamma(count - most + 1)
        return math.log(modulus) + ways + most * each
