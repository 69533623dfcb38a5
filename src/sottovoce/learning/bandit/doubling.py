"""An unknown horizon: epochs of doubled length.

Epochs hold disjoint events, so their guarantees do not add up: one loss is in one epoch, and the whole run keeps the
guarantee of a single one (parallel composition). The paper charges a logarithmic factor that is not needed. Starting an
epoch where the last one ended is post-processing of what was released.
"""

FIRST_EPOCH = 256


def next_length(horizon: int | None, planned: int) -> int:
    """Return the length of the epoch after `planned` events.

    Examples
    --------
    >>> next_length(1000, 0), next_length(None, 0), next_length(None, 256 + 512)
    (1000, 256, 1024)
    """
    return FIRST_EPOCH + planned if horizon is None else horizon
