"""Notice a fork without asking the operating system on every call."""

import os

_generation = 0


def generation() -> int:
    """Return a number that changes in every forked child."""
    return _generation


def _in_child() -> None:
    global _generation
    _generation += 1


if hasattr(os, "register_at_fork"):  # absent where there is no fork, and so nothing to notice
    os.register_at_fork(after_in_child=_in_child)
