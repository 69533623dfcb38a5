"""Notice a fork without asking the operating system on every call."""

import os

current = 0
"""A number that changes in every forked child; read it as `_fork.current`, never import it by name."""


def generation() -> int:
    """Return the current number."""
    return current


def _in_child() -> None:
    global current
    current += 1


if hasattr(os, "register_at_fork"):  # absent where there is no fork, and so nothing to notice
    os.register_at_fork(after_in_child=_in_child)
