"""Packages whose public names are imported when they are first used."""

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sottovoce._extras import naming_the_extra


def lazily(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, the `__dir__` and the `__all__` of a package.

    Its public names, and where each is from, are the imports of the stub beside it (`__init__.pyi`), which type
    checkers read as well. Packages in it are found by their names.

    Parameters
    ----------
    package, file
        Its name, and that of its module's file.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = (node for node in stub.body if isinstance(node, ast.ImportFrom))
    homes = {alias.name: str(node.module) for node in imports for alias in node.names}

    def find(name: str) -> Any:
        home = homes.get(name, package)
        with naming_the_extra(f"{package}.{name}"):
            found = getattr(importlib.import_module(home), name, None) if home != package else None
            if found is None:
                if name not in homes and not _is_package(f"{package}.{name}"):
                    raise AttributeError(f"module {package!r} has no attribute {name!r}")
                found = importlib.import_module(f"{home}.{name}")
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names, [*homes, *(["__version__"] if package == "sottovoce" else [])]


def _is_package(name: str) -> bool:
    found = None if name.rpartition(".")[2].startswith("_") else importlib.util.find_spec(name)
    return found is not None and found.submodule_search_locations is not None
