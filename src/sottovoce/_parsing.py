"""What people wish for in writing, on a command line or in a request: a domain, its names, a promise."""

from typing import Any

from sottovoce._written import split
from sottovoce.domains import Domain, all_domains
from sottovoce.privacy import ZCDP, ApproxDP, Guarantee, LocalDP, NoPrivacy, PureDP


def written_domain(text: Any) -> Domain:
    """Read a domain such as ``ball:10``, ``box:5`` (coordinates in [0, 1]) or ``hypersimplex:20,5``.

    Every set that says how it is `written` can be read.

    Examples
    --------
    >>> written_domain("hypersimplex:20,5")
    Hypersimplex(20, 5)
    """
    families = {family.written.partition(":")[0]: family for family in all_domains() if family.written}
    name, pieces = split(str(text).lower())
    if name not in families:
        known = ", ".join(families[one].written for one in sorted(families))
        raise ValueError(f"domain must be written like one of {known}, got {str(text)!r}")
    family = families[name]
    try:
        arguments = [int(piece) for piece in pieces]
        if len(arguments) != family.written.count(",") + 1:
            raise ValueError
    except ValueError:
        raise ValueError(f"domain must be written like {family.written}, got {str(text)!r}") from None
    try:
        return family.from_numbers(*arguments)
    except MemoryError:
        raise ValueError(f"domain must fit into memory, got {str(text)!r}") from None


def labelled(domain: Domain, names: list[str]) -> Domain:
    """Return the domain with names; those of rows come before those of columns."""
    counts = domain.label_counts
    if len(names) != sum(counts):
        each = f"{counts[0]} for its rows and {counts[1]} for its columns" if len(counts) > 1 else str(sum(counts))
        raise ValueError(f"labels must be {each} of {domain!r}, got {len(names)}")
    try:
        return domain.labelled(names if len(counts) == 1 else (names[: counts[0]], names[counts[0] :]))
    except (TypeError, ValueError) as problem:
        raise ValueError(f"labels: {problem}") from None


def guarantee_of(
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    local: bool = False,
    no_privacy: bool = False,
    contributions: int | None = None,
    spelled: str = "--{}",
) -> Guarantee:
    """Return the promise that is asked for; what is given must not contradict itself. `spelled` is how names are said.

    Examples
    --------
    >>> print(guarantee_of())
    epsilon = 1, pure differential privacy
    """
    asked = {"delta": bool(delta), "rho": rho is not None, "local": local, "no-privacy": no_privacy}
    kinds = [spelled.format(name) for name, given in asked.items() if given]
    if len(kinds) > 1:
        raise ValueError(f"{' and '.join(kinds)} exclude each other")
    if epsilon is not None and (no_privacy or rho is not None):
        raise ValueError(f"{spelled.format('epsilon')} and {kinds[0]} exclude each other")
    if no_privacy:
        if contributions is not None:
            raise ValueError(f"{spelled.format('contributions')} and {kinds[0]} exclude each other")
        return NoPrivacy()
    most = 1 if contributions is None else contributions
    if rho is not None:
        return ZCDP(rho, contributions=most)
    budget = 1.0 if epsilon is None else epsilon
    if local:
        return LocalDP(budget, contributions=most)
    return ApproxDP(budget, delta, contributions=most) if delta else PureDP(budget, contributions=most)
