"""How noisy losses are, from decisions that were played more than once: their means differ by noise alone.

Each function returns a weighed sum of squares, the weight, and weight times mean loss: where the variance was measured.
"""

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.models.measurements import Measurements, Numbers

__all__ = ["between_rounds", "groups_of", "within_a_round"]


def within_a_round(numbers: Numbers, noise: float, variance: float, of_numbers: Floats) -> Floats:
    """Compare numbers of one round that are of the same decision; `of_numbers` are the variances of all of them."""
    group, counts = groups_of(numbers.probes), numbers.counts
    size = np.bincount(group)
    means = np.bincount(group, numbers.means * counts) / np.bincount(group, counts)
    freedom = len(group) - len(size)
    squares = float((counts * (numbers.means - means[group]) ** 2).sum())
    privacy = float((counts * (noise / counts) ** 2).mean())
    # Rounds where the noise of privacy dominates say little about the losses.
    weight = float(np.mean(variance / counts / of_numbers)) ** 2
    place = float(numbers.means[size[group] > 1].mean()) if freedom else 0.0
    return np.array([weight * (squares - freedom * privacy), weight * freedom, weight * freedom * place])


def between_rounds(numbers: Numbers, measurements: Measurements, noise: float, variance: float) -> Floats:
    """Compare numbers with the latest that was released of the same decision before.

    If the world moves in between, it says too much; too large a variance costs a little exploring.
    """
    found, seen = np.zeros(3), set[int]()
    for row, mean, count in zip(numbers.probes, numbers.means, numbers.counts, strict=True):
        place = measurements.place_of(row)
        if place is None or place in seen:
            continue
        seen.add(place)
        last = int(np.flatnonzero(measurements.index == place)[-1])
        before, then = float(measurements.counts[last]), float(measurements.means[last])
        spread, private = 1 / count + 1 / before, noise**2 * (1 / count**2 + 1 / before**2)
        weight = (variance * spread / (variance * spread + private)) ** 2
        found += weight * np.array([((mean - then) ** 2 - private) / spread, 1.0, (mean + then) / 2])
    return found


def groups_of(rows: Floats) -> Integers:
    """Return the same number for rows that are the same: by their bytes, for sorting them takes long."""
    places: dict[bytes, int] = {}
    keys = ((row + 0.0).tobytes() for row in rows)  # 0 and -0 are the same
    return np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
