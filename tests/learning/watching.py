"""What tests of learning see of releases, as they are drawn; and how much memory something takes."""

import tracemalloc

import numpy as np


def peak_of(*works):
    """Return how many bytes were taken at once, at most, while something was done."""
    tracemalloc.start()
    for work in works:
        work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def watch_releases(optimizer, see):
    """Have `see` called with every round that is released and its sums, noise and all, before anything uses them."""
    compute = optimizer._policy.compute

    def watched(one, slots):
        found = compute(one, slots)
        if found is not None:
            see(one, np.array(found[0], dtype=np.float64))
        return found

    optimizer._policy.compute = watched


class Chosen:
    """A source of noise that hands out chosen numbers in its place, or none, and remembers what is asked of it."""

    simulated = True

    def __init__(self, numbers=None):
        self.noise, self.sizes, self._numbers = None, [], numbers

    def sampler(self, noise):
        self.noise = noise
        return self

    def draw(self, size):
        start = sum(self.sizes)
        self.sizes.append(size)
        if self._numbers is None:
            return np.zeros(size, dtype=np.int64)
        return self._numbers[start : start + size].copy()
