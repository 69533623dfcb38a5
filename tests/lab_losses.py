"""Losses of a stretch of events of a simulated environment."""

import numpy as np


def losses_of(environment, start, size):
    """The losses of `size` events from `start`, as a function of one action for all, or of a row for each."""

    def losses(actions):
        return environment.losses(start, np.broadcast_to(actions, (size, environment.domain.dimension)))

    return losses
