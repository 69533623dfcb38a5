"""What the bits of a result depend on besides its cell: the versions of what computes it."""

import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import scipy

import sottovoce

_INSTALLED = ("numba", "highspy", "opendp")


@cache
def _source() -> str:
    """Return a fingerprint of this library's own code: between two releases it changes, and its version does not."""
    top = Path(sottovoce.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(top.rglob("*.py")):
        digest.update(f"{path.relative_to(top).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _version(package: str) -> str:
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return "not installed"


def versions() -> dict[str, str]:
    """Return what this process computes with, by name.

    Examples
    --------
    >>> versions()["numpy"] == np.__version__, differences(versions(), versions())
    (True, [])
    """
    return {
        "sottovoce": f"{sottovoce.__version__} (source {_source()})",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        **{name: _version(name) for name in _INSTALLED},
        "machine": platform.machine(),
    }


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Return in words what differs.

    Examples
    --------
    >>> differences({"numpy": "2.4.6", "python": "3.11.7"}, {"numpy": "2.3.0", "python": "3.11.7"})
    ['numpy 2.3.0 there, 2.4.6 here']
    """
    return [
        f"{name} {there.get(name, 'not')} there, {mine} here" for name, mine in here.items() if there.get(name) != mine
    ]
