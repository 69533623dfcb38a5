"""Tables of what can be compared: whatever a module imports, by name."""

import re
from collections.abc import Callable, Mapping
from typing import Any


def by_name(members: Mapping[str, Any], base: type, what: str, check: Callable[[Any], None]) -> dict[str, type[Any]]:
    """Return the classes among what a module holds, by the names that they have on the command line.

    Parameters
    ----------
    members
        What the module holds.
    base
        A class that is none of them.
    what
        They are, for messages.
    check
        Raises if one of them would not work everywhere, and says why.
    """
    found: dict[str, type[Any]] = {}
    kinds: list[Any] = [one for one in members.values() if isinstance(one, type) and one is not base]
    for kind in kinds:
        check(kind)
        if not re.fullmatch("[a-z][a-z0-9-]*", kind.name):
            raise ValueError(f"{kind.__name__}.name must be of small letters, digits and hyphens, got {kind.name!r}")
        if kind.name in found:
            raise ValueError(f"two {what} are named {kind.name}: {found[kind.name].__name__} and {kind.__name__}")
        found[kind.name] = kind
    return found
