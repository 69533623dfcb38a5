"""A guarantee as something that can be refuted: one number that the evidence must not exceed."""

from dataclasses import dataclass
from typing import Any

from sottovoce._checks import number
from sottovoce.auditing.attacks.bounds import epsilon_shown, mu_shown
from sottovoce.privacy import GDP, ZCDP, ApproxDP, Guarantee, LocalDP, PureDP, gaussian

__all__ = ["Claim", "claim_of"]

_USUAL_DELTA = 1e-6


@dataclass(frozen=True)
class Claim:
    """What is put to the test.

    Epsilon and delta are tested as they stand. Gaussian noise, however, promises more than one such pair: a whole
    curve, with a single parameter mu. There the test is of mu, since no number of runs that anybody can afford would
    show an event of probability delta; what is found is translated to epsilon at delta in the end.
    """

    guarantee: Guarantee
    epsilon: float
    delta: float
    mu: float | None

    def shown(self, likely: Any, rare: Any) -> Any:
        """What two probabilities show of the parameter that is tested: epsilon, or mu under Gaussian noise."""
        return epsilon_shown(likely, rare, self.delta) if self.mu is None else mu_shown(likely, rare)

    def as_epsilon(self, shown: float) -> float:
        """The same as an epsilon at `delta`."""
        if self.mu is None or shown <= 0:
            return shown
        return gaussian.epsilon_of(shown, self.delta)


def claim_of(guarantee: Guarantee, delta: float | None = None, *, gaussian_noise: bool = True) -> Claim:
    """Return what a guarantee claims.

    Parameters
    ----------
    guarantee
        What is promised.
    delta
        Where an epsilon is stated for a claim of zCDP or GDP; a millionth by default.
    gaussian_noise
        Whether an (epsilon, delta) is kept by Gaussian noise, so that the mu behind it can be tested.

    Examples
    --------
    >>> import sottovoce as sv
    >>> claim_of(sv.PureDP(epsilon=1.0)).epsilon
    1.0
    >>> round(claim_of(sv.ZCDP(rho=0.5), delta=1e-5).epsilon, 3)
    4.377
    """
    if isinstance(guarantee, PureDP | LocalDP):
        if delta:
            raise ValueError(f"delta must be 0 or left out for {guarantee!r}, got {delta!r}")
        return Claim(guarantee, guarantee.epsilon, 0.0, None)
    if isinstance(guarantee, ApproxDP):
        if delta is not None and delta != guarantee.delta:
            raise ValueError(f"delta must be that of {guarantee!r}, or left out, got {delta!r}")
        return Claim(guarantee, guarantee.epsilon, guarantee.delta, guarantee.mu if gaussian_noise else None)
    if isinstance(guarantee, ZCDP | GDP):
        at = number("delta", _USUAL_DELTA if delta is None else delta, above=0, at_most=1)
        return Claim(guarantee, gaussian.epsilon_of(guarantee.mu, at), at, guarantee.mu)
    raise ValueError(f"{guarantee!r} promises nothing that could be audited; claim PureDP, ApproxDP, ZCDP or LocalDP")
