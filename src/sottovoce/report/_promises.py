"""The promise in plain words, from the guarantee of a run."""

import math
from dataclasses import dataclass

from sottovoce.lab import RunDetails
from sottovoce.privacy import ApproxDP, Guarantee, LocalDP, PureDP, compose

Rows = tuple[tuple[str, str], ...]
_DELTA = 1e-6  # at which Gaussian promises are put into an epsilon


@dataclass(frozen=True, slots=True)
class Promise:
    """What is promised, to whom, and whether the run kept it.

    Parameters
    ----------
    headline
        The guarantee in one line.
    words
        Sentences for people who have never heard of epsilon.
    private
        Whether anybody is known to be protected: not without noise, and not with simulated noise.
    simulated
        Whether the noise came from a seed.
    """

    headline: str
    words: tuple[str, ...]
    private: bool
    simulated: bool


def promise_of(guarantee: Guarantee | None, *, headline: str, simulated: bool) -> Promise:
    """Return a promise in words; `guarantee` is None where it is not known.

    Examples
    --------
    >>> "from 50% to at most 73%" in promise_of(PureDP(1.0), headline="...", simulated=False).words[1]
    True
    >>> promise_of(PureDP(1.0), headline="...", simulated=True).private
    False
    """
    if guarantee is None:
        return Promise(headline, ("What was promised is not known.",), False, simulated)
    if not guarantee.private:
        return Promise(headline, ("Nothing is promised: no noise is added anywhere.",), False, False)
    where = (
        "Each loss is blurred before it leaves its owner; even whoever runs the system sees only blurred reports, as "
        "long as the program on the owner's device is not theirs to replace."
        if isinstance(guarantee, LocalDP)
        else "Each loss belongs to one event, and counts as one person's secret. It is read once, added to sums, and "
        "only sums with noise are used."
    )
    against = "This holds against someone who sees every decision and knows every other loss, for the whole run."
    return Promise(headline, (where, bound_words(guarantee), against), not simulated, simulated)


def promise_of_run(details: RunDetails) -> Promise:
    """Return the promise of a run."""
    return promise_of(details.guarantee, headline=details.privacy_headline, simulated=details.simulated_noise)


def bound_words(guarantee: Guarantee) -> str:
    """Return in plain words by how much one person's loss can change what is seen."""
    if isinstance(guarantee, PureDP | LocalDP | ApproxDP):
        epsilon, delta = guarantee.epsilon, getattr(guarantee, "delta", 0.0)
    else:
        epsilon, delta = compose(guarantee).epsilon(_DELTA), _DELTA
    count = guarantee.contributions
    losses = "loss was" if count == 1 else f"losses, in up to {count:,} events, were"
    words = (
        f"Suppose somebody thinks it as likely as not that one person's {losses} high rather than low. By all that is "
        f"ever shown, and knowing everybody else's losses, they can get from 50% to at most {_sureness(epsilon)}"
    )
    return f"{words}, except with a probability of about {delta:g}." if delta else f"{words}."


def _sureness(epsilon: float) -> str:
    """Return what a belief of 50% can become under an epsilon.

    Examples
    --------
    >>> [_sureness(one) for one in (1e-5, 0.1, 1.0, 3.0, 10.0, 1000.0)]
    ['50.0003%', '52%', '73%', '95%', '99.995%', '100%']
    """
    low, high = math.tanh(epsilon / 2) / 2, math.exp(-epsilon) / (1 + math.exp(-epsilon))
    digits = max(0, -math.floor(math.log10(100 * max(min(low, high), 1e-12)))) if min(low, high) < 0.01 else 0
    return f"{100 - 100 * high:.{digits}f}%" if digits <= 8 else ("100%" if epsilon > 1 else "50%")
