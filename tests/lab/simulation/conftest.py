"""Stand-in optimizers: what `simulate` needs, and no learning."""

from types import SimpleNamespace

import numpy as np
import pytest


class Steadfast:
    """Plays one point for ever, in rounds of a given size."""

    plan = "no plan"
    privacy = SimpleNamespace(headline="no privacy: NOT PRIVATE", simulated=False)

    def __init__(self, domain, point, horizon, batch):
        self.domain, self.point, self.batch = domain, np.asarray(point), batch
        self.horizon, self.asked, self.round = horizon, 0, 0
        self.told = 0

    @property
    def remaining(self):
        return None if self.horizon is None else self.horizon - self.asked

    def ask_round(self, most=None):
        size = self.batch if self.horizon is None else min(self.batch, self.remaining)
        size = size if most is None else min(size, most)
        ids = np.arange(self.asked, self.asked + size)
        self.asked += size
        return SimpleNamespace(ids=ids, x=np.tile(self.point, (size, 1)), wants_loss=np.ones(size, dtype=bool))

    def tell(self, ids, losses):
        assert len(ids) == len(losses)
        self.told += len(ids)
        self.round += 1


@pytest.fixture
def steadfast():
    return Steadfast
