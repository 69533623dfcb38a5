"""Spanning tree: costs by hand."""

import numpy as np
import pytest

from sottovoce.lab.problems import Backbone
from sottovoce.lab.problems._networks import load_network

LENGTHS = np.array(load_network("nobel-germany").lengths)


def test_losses_are_scaled_sums_of_capped_disturbances():
    environment = Backbone(seed=3).environment
    library, scales = environment.library, environment.scales
    minutes = library.costs * (3.0 * scales / library.costs.max(axis=0))  # of 1024 draws, 5% reach the cap
    assert np.ptp(minutes / library.costs) == pytest.approx(0.0, abs=1e-9 * (minutes / library.costs).max())
    # The mean of an exponential capped at 3 is 1 - exp(-3); the standard error here is 0.84/sqrt(1024 x 26) = 0.005.
    assert (minutes / scales).mean() == pytest.approx(1 - np.exp(-3), abs=0.03)
    assert np.log(scales / LENGTHS).std() == pytest.approx(0.6, abs=0.35)
    assert Backbone(spread=0.0).environment.scales == pytest.approx(LENGTHS / LENGTHS.mean())
