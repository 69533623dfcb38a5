"""The promise in plain words, from the guarantee of a run."""

import math
from dataclasses import dataclass

from sottovoce.lab.simulation import RunDetails
from sottovoce.privacy import ApproxDP, Guarantee, LocalDP, PureDP
from sottovoce.report._numbers import significant

__all__ = [
    "Promise",
    "bound_words",
    "budget_words",
    "epsilon_words",
    "plan_rows",
    "promise_of",
    "promise_of_run",
    "statement_rows",
]

Rows = tuple[tuple[str, str], ...]
_UNKNOWN = "What was promised is in the statement below; this run was written down before promises were kept apart."


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
        Whether anybody is protected: not without noise, and not with simulated noise; None if it is not known.
    simulated
        Whether the noise came from a seed.
    """

    headline: str
    words: tuple[str, ...]
    private: bool | None
    simulated: bool


def promise_of(guarantee: Guarantee | None, *, headline: str, simulated: bool) -> Promise:
    """Return a promise in words; `guarantee` is None where it is not known.

    Examples
    --------
    >>> "at most 2.72 times as likely" in promise_of(PureDP(1.0), headline="...", simulated=False).words[1]
    True
    >>> promise_of(PureDP(1.0), headline="...", simulated=True).private
    False
    """
    if guarantee is None:
        return Promise(headline, (_UNKNOWN,), False if simulated else None, simulated)
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
    if not isinstance(guarantee, PureDP | ApproxDP | LocalDP):
        return "How much one person's loss can change what is seen is bounded, as the statement below says."
    words = epsilon_words(guarantee.epsilon, guarantee.contributions)
    if isinstance(guarantee, ApproxDP):
        return f"{words}; except with a probability of about {guarantee.delta:g}."
    return f"{words}."


def epsilon_words(epsilon: float, contributions: int = 1) -> str:
    """Return what an epsilon means, for people who are in so many events at most.

    Examples
    --------
    >>> epsilon_words(0.1)[-56:]
    '1.11 times as likely, and at least 0.905 times as likely'
    """
    most, least = significant(math.exp(min(epsilon, 700.0))), significant(math.exp(-epsilon))
    had = "loss been any other value" if contributions == 1 else f"losses, in up to {contributions} events, been others"
    return (
        f"Had one person's {had}, every outcome would have been at most "
        f"{most} times as likely, and at least {least} times as likely"
    )


def budget_words(guarantee: Guarantee | None) -> str:
    """Return the budget of a guarantee, such as "epsilon = 1".

    Examples
    --------
    >>> budget_words(ApproxDP(1.0, 1e-6))
    'epsilon = 1'
    """
    for name in ("epsilon", "rho", "mu"):
        if hasattr(guarantee, name):
            return f"{name} = {getattr(guarantee, name):g}"
    return "this budget"


def statement_rows(details: RunDetails) -> Rows:
    """Return a run's privacy statement as names and texts; what was only printed stays one text."""
    return details.privacy_rows or (("As printed", details.privacy),)


def plan_rows(details: RunDetails) -> Rows:
    """Return a run's plan as names and texts; what was only printed stays one text."""
    return details.plan_rows or (("As printed", details.plan),)
