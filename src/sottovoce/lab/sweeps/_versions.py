"""What the bits of a result depend on besides its cell: the versions of what computes it."""

import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import sottovoce

_INSTALLED = ("numpy", "scipy", "numba", "highspy", "opendp")


class OtherVersions(ValueError):
    """A cell would be computed with other versions than here."""


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
    """Return what this process computes with, by name."""
    return {
        "sottovoce": f"{sottovoce.__version__} (source {_source()})",
        "python": platform.python_version(),
        **{name: _version(name) for name in _INSTALLED},
        "machine": platform.machine(),
    }


def check(expected: Mapping[str, str]) -> None:
    """Refuse to compute with other versions than whoever asks.

    Examples
    --------
    >>> check({**versions(), "numpy": "1.0"})
    Traceback (most recent call last):
    sottovoce.lab.sweeps._versions.OtherVersions: other versions would compute other results: numpy ...
    """
    here = versions()
    words = [
        f"{name} {here.get(name)} there, {theirs} here" for name, theirs in expected.items() if here[name] != theirs
    ]
    if words:
        raise OtherVersions(
            f"other versions would compute other results: {', '.join(words)} (on {platform.node()}). Install the same "
            "versions on both sides (`pip freeze` on one, `pip install -r` on the other), or run the sweep here"
        )
