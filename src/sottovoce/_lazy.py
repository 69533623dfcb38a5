"""Packages whose public names are imported when they are first used."""

import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sottovoce._extras import naming_the_extra

__all__ = ["lazily"]


def lazily(
    package: str, homes: Mapping[str, str], parts: Collection[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package.

    Parameters
    ----------
    package
        Its name.
    homes
        Where each of its names is from.
    parts
        Packages in it that are names as well.
    """

    def find(name: str) -> Any:
        if name not in homes and name not in parts:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with naming_the_extra(f"{package}.{name}"):
            if name in parts:
                found = importlib.import_module(f"{package}.{name}")
            else:
                home = importlib.import_module(homes[name])
                found = getattr(home, name) if hasattr(home, name) else importlib.import_module(f"{homes[name]}.{name}")
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *parts})

    return find, names
