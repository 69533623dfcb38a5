"""Lists for people that say when they stop."""

from collections.abc import Sequence

Lines = list[tuple[str, str]]
MOST = 12  # lines that are read


def listed(lines: Sequence[tuple[str, str]], rest: str, *, most: int = MOST) -> Lines:
    """Return the first lines of a list and, if that is not all, how many more there are and what they are like.

    Examples
    --------
    >>> listed([("tea", "1"), ("coffee", "2"), ("milk", "3"), ("water", "4")], "cheaper", most=2)
    [('tea', '1'), ('coffee', '2'), ('and 2 more', 'cheaper')]
    >>> listed([("tea", "1"), ("coffee", "2"), ("milk", "3")], "cheaper", most=2)
    [('tea', '1'), ('coffee', '2'), ('milk', '3')]
    """
    if len(lines) <= most + 1:  # a line that says "and 1 more" could as well be that one
        return list(lines)
    return [*lines[:most], (f"and {len(lines) - most:,} more", rest)]
