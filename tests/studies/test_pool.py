"""Studies of many segments: small ones share rounds, in every process and after every restart."""

import numpy as np
import pytest
from mutations import changed, faults_of, rows_of, with_record
from study_tools import believing

import sottovoce as sv
from sottovoce.learning import pooled_policy

MANY = [f"segment {number}" for number in range(14)]
SHARES = np.array([6.0, 4.0, *[0.5] * 12]) / 16


def crowded(**changes):
    return believing(segments=MANY, probes=None, least_events=None, horizon=20_000, seed=3) | changes


def came(coins, size):
    return coins.choice(MANY, size=size, p=SHARES).tolist()


def loss(name, x):
    return 0.9 - 0.4 * x[2 if name == MANY[0] else 0] - 0.05 * x[3]


def tell(optimizer, names, actions):
    optimizer.tell(actions.ids, [loss(name, x) for name, x in zip(names, actions.x, strict=True)])


@pytest.fixture
def soon(monkeypatch):
    """A few dozen events are enough to leave."""
    monkeypatch.setattr(pooled_policy, "_EVENTS", 60)
    monkeypatch.setattr(pooled_policy, "_WORTH_SCOUTING", 1.0)


def test_a_study_plays_what_memory_plays_and_goes_on_after_a_restart(opened, sqlite_url, soon):
    options = crowded(privacy=sv.PureDP(1.0))
    study = opened(sqlite_url, noise=sv.SimulatedNoise(2), **options)
    memory = sv.PrivateBandit(options.pop("domain"), noise=sv.SimulatedNoise(2), **options)
    coins, ways = np.random.default_rng(0), ("block", "list", "single")
    for turn in range(60):
        names, way = came(coins, 40), ways[turn % 3]
        if way == "single":
            pairs = [(memory.ask(segment=name), study.ask(segment=name)) for name in names]
            assert all(np.array_equal(a.x, b.x) for a, b in pairs)
            for name, (a, b) in zip(names, pairs, strict=True):
                memory.tell(a.id, loss(name, a.x))
                study.tell(b.id, loss(name, b.x))
            continue
        a, b = (one.ask(segment=names) if way == "block" else one.ask_round(segment=names) for one in (memory, study))
        assert np.array_equal(a.x, b.x)
        tell(memory, names[: len(a)], a)
        tell(study, names[: len(b)], b)
    assert study._policy.own == memory._policy.own != frozenset()
    assert study.sizes == memory.sizes
    assert study.round == memory.round
    study.close()
    again = opened(sqlite_url, noise=sv.SimulatedNoise(7))
    assert again._policy.own == memory._policy.own
    assert sum(again.sizes.values()) == memory.asked
    for name in MANY[:3]:
        assert np.array_equal(again.recommend(segment=name).x, memory.recommend(segment=name).x)
    found = again.verify()
    assert found.ok, str(found)


def test_processes_agree_on_who_shares_rounds(opened, sqlite_url, soon):
    one, coins = opened(sqlite_url, **crowded()), np.random.default_rng(1)
    other, asked = opened(sqlite_url), 0
    for _ in range(20):
        for study in (one, other):
            names = came(coins, 30)
            tell(study, names, study.ask(segment=names))
            asked += 30
    last = opened(sqlite_url)
    assert last._policy.own
    assert one._policy.own <= last._policy.own
    known = [study.posterior(segment=MANY[0]).slopes for study in (one, other, last)]
    assert np.array_equal(known[0], known[1])
    assert np.array_equal(known[0], known[2])
    for study in (one, other):
        study.close()  # and gives back what it has leased ahead
    again = opened(sqlite_url)
    assert sum(again.sizes.values()) == again.asked >= asked  # more, if the other one was quicker than what came back
    assert sum(count for _, count in again.status().segments) == again.asked
    assert again.verify().ok
    assert {one.get("segment") for one in again.export()["rounds"]} > {None}  # of the pool, and of those who left it


def test_damage_to_who_shares_rounds_is_found(opened, sqlite_url, soon):
    study, coins = opened(sqlite_url, **crowded()), np.random.default_rng(3)
    for _ in range(20):
        names = came(coins, 40)
        tell(study, names, study.ask(segment=names))
    assert study._policy.own
    rows = rows_of(sqlite_url)
    assert faults_of(rows) == ()
    for other, words in (
        (with_record(rows, "streams", 0, "believed", own=None), "is incomplete"),
        (changed(rows, "streams", 0, "name", '"nobody"'), "that segments share are not stored first"),
    ):
        assert any(words in fault for fault in faults_of(other))
