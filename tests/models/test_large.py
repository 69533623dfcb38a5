"""Many coordinates: what is kept of decisions is as large as their entries, not as there are coordinates."""

import numpy as np

import sottovoce as sv
from sottovoce._records import pack, unpack
from sottovoce.models import Measurements, Numbers

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
    domain = sv.domains.Hypersimplex(MANY, 5)
    optimizer = sv.PrivateBandit(
        domain,
        horizon=10_000,
        loss_range=(0.0, 1.0),
        privacy=sv.NoPrivacy(),
        integral=True,
        exploration="posterior",
        seed=1,
    )
    explorer = optimizer._policy.current().explorer
    exploration = explorer.begin(explorer.belief.leader, 0, 96, np.random.default_rng(0))
    record = unpack(pack(exploration.record()))
    assert "probes" not in record
    assert sum(value.nbytes for value in record.values() if isinstance(value, np.ndarray)) < 2_000
    again = explorer.resume(explorer.belief.leader, record)
    first, second = (one.draw(np.random.default_rng(1), 0, 40).actions for one in (exploration, again))
    assert np.array_equal(first, second)


def test_a_study_of_many_coordinates_is_small_and_can_be_verified(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    options = {"horizon": 10_000, "loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "integral": True, "seed": 1}
    domain = sv.domains.Hypersimplex(MANY, 5)
    with sv.Study.open(url, name="one", domain=domain, exploration="posterior", **options) as study:
        for _ in range(2):
            actions = study.ask_round()
            study.tell(actions.ids, actions.x[:, :2500].sum(axis=1) / 5)
        found = study.recommend().to_dict()
        assert study.verify().ok
    with sv.Study.open(url, name="one") as again:
        assert again.recommend().to_dict() == found
