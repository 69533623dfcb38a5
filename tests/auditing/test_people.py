"""People who are counted under audit: one person has more events than were promised, and all of them differ."""

from dataclasses import replace

import pytest

import sottovoce as sv
from planted import by_item, misaligned
from sottovoce.auditing import Configuration, EvaluationConfiguration
from sottovoce.rounds.people import Askers
from sottovoce.rounds.round import Draw
from sottovoce.rounds.stores.memory import MemoryStore
from sottovoce.rounds.stores.sql.store import SqlStore

TWICE = sv.PureDP(1.0, contributions=2)


def optimizer(**more):
    choices = {"exploration": "posterior", "probes": 2, "least_events": 4}
    return Configuration(sv.domains.Hypersimplex(4, 2), TWICE, 24, choices, losses="linear", integral=True, **more)


SUBJECTS = {
    "optimizer": optimizer(),
    "segments": optimizer(segments=["phone", "desktop"]),
    "items": by_item(sv.domains.Hypersimplex(5, 4), 130, privacy=TWICE),
    "study": optimizer(stored=True),
    "evaluations": EvaluationConfiguration(TWICE, 8),
    "stored evaluations": EvaluationConfiguration(TWICE, 8, 1, 2, stored=True),
}
KEPT = ["optimizer", "study", "stored evaluations"]  # people, in memory and in SQL


def audited(name):
    """What is found wrong, in words."""
    # One at a time, a round whose last loss is not wanted is released by the next ask of its segment; or earlier, if
    # somebody looks, and so in another order than without.
    schedules = ["block"] if name == "segments" else ["block", "single"]
    return misaligned(replace(SUBJECTS[name], people=2), 3, label=name, schedules=schedules)


@pytest.mark.parametrize("name", SUBJECTS)
def test_intact_programs_align(name):
    assert not audited(name)


@pytest.mark.parametrize("name", KEPT)
def test_a_count_that_is_not_enforced(name, monkeypatch):
    for store in (MemoryStore, SqlStore):
        monkeypatch.setattr(store, "count", lambda self, people: [True] * len(people))
    assert "costs" in audited(name)


@pytest.mark.parametrize("name", KEPT)
def test_one_loss_more_than_was_promised(name, monkeypatch):
    for store in (MemoryStore, SqlStore):
        right = store.people_key
        monkeypatch.setattr(store, "people_key", lambda self, most, right=right: right(self, most + 1))
    assert audited(name)


@pytest.mark.parametrize("name", KEPT)
def test_a_loss_that_is_said_to_be_unwanted_and_read(name, monkeypatch):
    right = Askers.draw

    def draw(self, round, start, count):
        drawn = right(self, round, start, count)
        return Draw(drawn.actions, None, drawn.people)

    monkeypatch.setattr(Askers, "draw", draw)
    assert audited(name)
