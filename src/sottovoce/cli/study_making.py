"""From the options of `sottovoce study create` to what a study is made with."""

import json
from pathlib import Path

from sottovoce.cli import parsing
from sottovoce.domains import Domain
from sottovoce.domains.specification import build
from sottovoce.privacy import ZCDP, ApproxDP, Guarantee, LocalDP, NoPrivacy, PureDP

__all__ = ["domain_of", "guarantee_of"]


def domain_of(text: str | None, file: Path | None) -> Domain:
    """Return the domain that is written on the command line, or in a file."""
    if (text is None) == (file is None):
        raise ValueError("pass either --domain or --domain-json")
    if file is None:
        return parsing.domain(text)
    try:
        return build(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(f"there is no file {file}") from None
    except RecursionError:
        raise ValueError(f"{file} does not hold a domain: it is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, TypeError, ValueError) as problem:
        raise ValueError(
            f"{file} does not hold a domain as sottovoce.domains.specification.specify writes it: {problem}"
        ) from None


def guarantee_of(
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    local: bool,
    no_privacy: bool,
    contributions: int,
) -> Guarantee:
    """Return the promise that options ask for; they must not contradict each other.

    Examples
    --------
    >>> print(guarantee_of(None, None, None, False, False, 1))
    epsilon = 1, pure differential privacy
    """
    asked = [
        name for name, given in (("--rho", rho is not None), ("--local", local), ("--no-privacy", no_privacy)) if given
    ]
    if delta is not None:
        asked.append("--delta")
    if len(asked) > 1:
        raise ValueError(f"{' and '.join(asked)} exclude each other")
    if epsilon is not None and (no_privacy or rho is not None):
        raise ValueError(f"--epsilon and {asked[0]} exclude each other")
    if no_privacy:
        return NoPrivacy()
    if rho is not None:
        return ZCDP(rho, contributions=contributions)
    budget = 1.0 if epsilon is None else epsilon
    if local:
        return LocalDP(budget, contributions=contributions)
    if delta is not None:
        return ApproxDP(budget, delta, contributions=contributions)
    return PureDP(budget, contributions=contributions)
