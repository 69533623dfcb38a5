"""What the bits of a result depend on besides its cell: the versions of what computes it."""

import platform
from collections.abc import Mapping

import numpy as np
import scipy

import sottovoce


class OtherVersions(ValueError):
    """A cell would be computed with other versions than here."""


def versions() -> dict[str, str]:
    """Return what this process computes with, by name."""
    return {
        "sottovoce": sottovoce.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": platform.machine(),
    }


def check(expected: Mapping[str, str]) -> None:
    """Refuse to compute with other versions than whoever asks.

    Parameters
    ----------
    expected
        As `versions` returned them there.
    """
    here = versions()
    words = [f"{name} {here[name]} there, {one} here" for name, one in expected.items() if here[name] != one]
    if words:
        raise OtherVersions(
            f"other versions would compute other results: {', '.join(words)} (on {platform.node()}). Install the same "
            "versions on both sides (`pip freeze` on one, `pip install -r` on the other), or run the sweep here"
        )
