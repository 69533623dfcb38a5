"""Many coordinates: what is kept of decisions is as large as their entries, not as there are coordinates."""

import numpy as np

import sottovoce as sv
from optimizers import bandit
from sottovoce._records import pack, unpack
from sottovoce.models import LinearBelief, Measurements, ModelSettings, Numbers
from sottovoce.models.changes import MEMORIES
from sottovoce.models.gaussian import ByCoefficients, ByMeasurements

MANY = 5_000


def slates(count, seed=0):
    world = np.random.default_rng(seed)
    rows = np.zeros((count, MANY))
    for row in rows:
        row[world.choice(MANY, 5, replace=False)] = 1.0
    return rows


def test_a_history_finds_decisions_again_without_writing_them_out():
    rows = slates(4)
    measurements = Measurements.empty(MANY, many=True)
    for end in (10, 20):
        measurements = measurements.add(Numbers(rows, np.zeros(4), np.ones(4), end))
    assert measurements.decisions.shape == (4, MANY)
    assert measurements.index.tolist() == [0, 1, 2, 3] * 2
    assert max(map(len, measurements._places)) < 100  # bytes; a decision written out has 40,000
    again = Measurements.from_record(unpack(pack(measurements.record())))
    assert again.add(Numbers(rows[::-1], np.zeros(4), np.ones(4), 30)).index.tolist()[-4:] == [3, 2, 1, 0]


def test_rounds_are_stored_without_zeros_and_go_on_as_they_were():
    given = {"privacy": sv.NoPrivacy(), "integral": True, "exploration": "posterior"}
    optimizer = bandit(sv.domains.Hypersimplex(MANY, 5), 10_000, **given)
    explorer = optimizer._policy.current().explorer
    exploration = explorer.begin(explorer.belief.leader, 0, 96, np.random.default_rng(0))
    record = unpack(pack(exploration.record()))
    assert "probes" not in record
    assert sum(value.nbytes for value in record.values() if isinstance(value, np.ndarray)) < 2_000
    again = explorer.resume(explorer.belief.leader, record)
    first, second = (one.draw(np.random.default_rng(1), 0, 40).actions for one in (exploration, again))
    assert np.array_equal(first, second)


def test_the_cheaper_form_of_the_posterior_is_taken_and_both_say_the_same():
    """By measurements while these are fewer than coordinates, by coefficients later; covariances are always shown."""
    settings = ModelSettings(10**5, 1.0, 0.5, 1.0, (1 / 400, 1 / 8, 1 / 4), 40, 8, 0.1, 0.02, 1.0)
    size, coins = 320, np.random.default_rng(0)
    belief = LinearBelief(lambda cost: np.isin(np.arange(size), np.argsort(cost)[:9]).astype(float), size, settings)
    forms = []
    for end in range(1, 11):
        rows = np.array([belief.oracle(row) for row in coins.standard_normal((40, size))])
        belief.learn(Numbers(rows, coins.uniform(size=40), np.full(40, 50.0), 2_000 * end))
        fit = belief.best_fit
        forms.append(type(fit))
        other = belief._of_coefficients(MEMORIES[belief.memory_in_use], belief._variances())
        np.testing.assert_allclose(fit.mean, other.mean, rtol=1e-6, atol=1e-9)
        offsets = np.column_stack([rows - belief.center, np.ones(40)])
        for found, expected in zip(fit.predict(belief._rows(rows)), other.predict(offsets), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        assert belief._in_units()[1].shape == (size + 1, size + 1)
    assert forms == [ByMeasurements] * forms.count(ByMeasurements) + [ByCoefficients] * forms.count(ByCoefficients)
    assert 3 < forms.count(ByMeasurements) < 10
