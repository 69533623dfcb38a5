"""The promise in plain words, from the statement that a run prints."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sottovoce.report.scales import significant

__all__ = ["Promise", "epsilon_words", "plan_rows", "promise_of", "statement_rows"]

SIMULATED = "SIMULATED NOISE"
_EPSILON, _DELTA = (re.compile(rf"\b{name} = ([0-9.eE+-]+)") for name in ("epsilon", "delta"))


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
        Whether anybody is protected: not without noise, and not with simulated noise.
    simulated
        Whether the noise came from a seed.

    Examples
    --------
    >>> "at most 2.72 times as likely" in promise_of("epsilon = 1, pure differential privacy").words[1]
    True
    >>> promise_of("epsilon = 1, pure differential privacy (SIMULATED NOISE: NOT PRIVATE)").private
    False
    """

    headline: str
    words: tuple[str, ...]
    private: bool
    simulated: bool


def promise_of(headline: str) -> Promise:
    """Return the promise behind the headline of a privacy statement."""
    simulated = SIMULATED in headline
    private = "NOT PRIVATE" not in headline
    if headline.startswith("no privacy"):
        return Promise(headline, ("Nothing is promised: no noise is added anywhere.",), False, False)
    where = (
        "Each loss is blurred before it leaves its owner; even whoever runs the system sees only blurred reports."
        if "local" in headline
        else "Each loss belongs to one event, and counts as one person's secret. It is read once, added to sums, and "
        "only sums with noise are used."
    )
    words = [where, _bound(headline)]
    words.append("This holds against someone who sees every decision and knows every other loss, for the whole run.")
    return Promise(headline, tuple(words), private, simulated)


def _bound(headline: str) -> str:
    epsilon, delta = _EPSILON.search(headline), _DELTA.search(headline)
    if epsilon is None:
        return "How much one person's loss can change what is seen is bounded, as the statement below says."
    words = epsilon_words(float(epsilon[1]))
    if delta is None:
        return f"{words}."
    return f"{words}; except with a probability of about {delta[1]}."


def epsilon_words(epsilon: float) -> str:
    """Return what an epsilon means.

    Examples
    --------
    >>> epsilon_words(0.1)[-56:]
    '1.11 times as likely, and at least 0.905 times as likely'
    """
    most, least = significant(math.exp(min(epsilon, 700.0))), significant(math.exp(-epsilon))
    return (
        "Had one person's loss been any other value, every outcome would have been at most "
        f"{most} times as likely, and at least {least} times as likely"
    )


def statement_rows(statement: str) -> list[tuple[str, str]]:
    """Return a printed privacy statement as (name, text) pairs.

    Examples
    --------
    >>> import sottovoce as sv
    >>> bandit = sv.PrivateBandit(sv.domains.Ball(2), horizon=100, loss_range=(0, 1), privacy=sv.PureDP(1.0))
    >>> [name for name, _ in statement_rows(str(bandit.privacy))]
    ['Private', 'Neighbours', 'Adversary', 'Promise', 'Mechanism', 'Why it holds', 'Not covered']
    """
    return _unfolded(statement.splitlines()[1:], 16)


def plan_rows(plan: str) -> list[tuple[str, str]]:
    """Return a printed plan as (name, text) pairs, without the alternatives."""
    lines = plan.splitlines()
    stop = next((i for i, line in enumerate(lines) if line.strip().startswith("considered")), len(lines))
    return _unfolded(lines[1:stop], 11)


def _unfolded(lines: Sequence[str], column: int) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for line in lines:
        name, text = line[:column].strip(), line[column:].strip()
        if name or not rows:
            rows.append((name, text))
        else:
            rows[-1] = rows[-1][0], f"{rows[-1][1]} {text}"
    return rows
