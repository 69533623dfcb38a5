"""An unknown horizon: epochs of doubled length.

Epochs hold disjoint events, so their guarantees do not add up: one loss is in one epoch, and the whole run keeps the
guarantee of a single one (parallel composition). The paper charges a logarithmic factor that is not needed. Starting an
epoch where the last one ended is post-processing of what was released.
"""

from collections.abc import Iterator

__all__ = ["FIRST_EPOCH", "epoch_lengths"]

FIRST_EPOCH = 256


def epoch_lengths(horizon: int | None) -> Iterator[int]:
    """Lengths of the epochs: the horizon once if it is known, doubling for ever if it is not.

    Examples
    --------
    >>> from itertools import islice
    >>> list(epoch_lengths(1000)), list(islice(epoch_lengths(None), 4))
    ([1000], [256, 512, 1024, 2048])
    """
    if horizon is not None:
        yield horizon
        return
    length = FIRST_EPOCH
    while True:
        yield length
        length *= 2
