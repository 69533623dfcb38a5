"""Tables of what can be compared: whatever a module imports, by name."""

import inspect
from collections.abc import Mapping
from typing import Any


def by_name(members: Mapping[str, Any], base: type) -> dict[str, type[Any]]:
    """Return the classes among what a module holds, but for `base`, by the names that they have on the command line.

    Two of one name, and what is still abstract, are refused; the tests of contracts say what else each must have.
    """
    found: dict[str, type[Any]] = {}
    for kind in members.values():
        if isinstance(kind, type) and kind is not base:
            if inspect.isabstract(kind):
                lacking = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
                raise TypeError(f"{kind.__name__} is not complete yet: it lacks {lacking}")
            name: str = getattr(kind, "name")  # noqa: B009  # a type has none
            if found.setdefault(name, kind) is not kind:
                raise ValueError(f"two are named {name}: {found[name].__name__} and {kind.__name__}")
    return found
