"""A set that learns a formula for its projection still stands behind the points that its oracle found before."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.domains.set_functions import ConcaveOfCardinality

ITEMS = 20
COSTS = np.random.default_rng(0).permutation(ITEMS) / ITEMS
LEVELS = np.concatenate(([0.0], np.cumsum(np.arange(ITEMS, 0.0, -1.0))))


@pytest.mark.parametrize(
    "domain", [sv.domains.Permutahedron(ITEMS), sv.domains.BasePolytope(ConcaveOfCardinality(LEVELS))], ids=repr
)
def test_a_study_from_before_the_formula_is_found_sound(domain, tmp_path, monkeypatch):
    low, high = domain.extreme_point(COSTS) @ COSTS, -domain.extreme_point(-COSTS) @ -COSTS
    where = {"url": f"sqlite:///{tmp_path}/study.db", "name": "a"}
    options = {"horizon": 2000, "loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "seed": 1}
    # To the boundary, where projections are needed.
    options |= {"exploration": "frames", "step_multiplier": 30.0, "batch_size": 100}
    with monkeypatch.context() as before:
        before.setattr(type(domain), "nearest", sv.domains.Domain.nearest)
        with sv.Study.open(**where, domain=domain, **options) as study:
            for _ in range(15):
                actions = study.ask(100)
                study.tell(actions.ids, (actions.x @ COSTS - low) / (high - low))
    with sv.Study.open(**where) as study:
        found = study.verify()
        assert found.ok, found
        actions = study.ask(100)
        study.tell(actions.ids, (actions.x @ COSTS - low) / (high - low))
        assert study.verify().ok
