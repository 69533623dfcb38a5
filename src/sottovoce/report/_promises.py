"""A promise in plain words, from the guarantee."""

import math

from sottovoce.privacy import ApproxDP, Guarantee, LocalDP, PureDP, compose

Rows = tuple[tuple[str, str], ...]
_DELTA = 1e-6  # at which Gaussian promises are put into an epsilon


def plain_words(guarantee: Guarantee | None) -> Rows:
    """Return a row that says a promise to people who have never heard of epsilon; none where nothing is promised."""
    return (("In plain words", bound_words(guarantee)),) if guarantee is not None and guarantee.private else ()


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
