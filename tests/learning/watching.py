"""What tests of learning see of releases, as they are drawn."""

import numpy as np


def watch_releases(optimizer, see):
    """Have `see` called with every round that is released and its numbers, noise and all, before anything uses them."""
    compute = optimizer._policy.compute

    def watched(one, slots):
        found = compute(one, slots)
        if found is not None:
            see(one, np.array(found[0], dtype=np.float64))
        return found

    optimizer._policy.compute = watched


def cut_after(work):
    """Return the same, interrupted once it is done."""

    def interrupted(*arguments):
        work(*arguments)
        raise KeyboardInterrupt

    return interrupted
