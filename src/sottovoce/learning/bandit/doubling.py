"""An unknown horizon: epochs of doubled length.

Epochs hold disjoint events, so their guarantees do not add up: one loss is in one epoch, and the whole run keeps the
guarantee of a single one (parallel composition). The paper charges a logarithmic factor that is not needed. Starting an
epoch where the last one ended is post-processing of what was released.
"""

from collections.abc import Iterator

__all__ = ["FIRST_EPOCH", "epoch_lengths", "next_length"]

FIRST_EPOCH = 256


def epoch_lengths(horizon: int | None) -> Iterator[int]:
    """Lengths of the epochs: the horizon once if it is known, doubling for ever if it is not.

    Examples
    --------
    >>> from itertools import islice
    >>> list(epoch_lengths(1000)), list(islice(epoch_lengths(None), 4))
    ([1000], [256, 512, 1024, 2048])
    """
    planned = 0
    while horizon is None or planned < horizon:
        yield next_length(horizon, planned)
        planned += next_length(horizon, planned)


def next_length(horizon: int | None, planned: int) -> int:
    """Return the length of the epoch after `planned` events.

    Examples
    --------
    >>> next_length(1000, 0), next_length(None, 0), next_length(None, 256 + 512)
    (1000, 256, 1024)
    """
    return FIRST_EPOCH + planned if horizon is None else horizon
