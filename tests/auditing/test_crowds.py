"""People who share a run: each moves numbers of its own, and each way of telling has a crowd."""

import pytest

import sottovoce as sv
from sottovoce.auditing import Configuration, shipped
from sottovoce.auditing.playing.survey import crowds, neighbours, survey

ONE_OF_EACH = [
    one for one in shipped(1.0) if one.label in ("frames, probe-sums", "posterior, probe-sums, 2 events a person")
]


@pytest.mark.parametrize("configuration", ONE_OF_EACH, ids=lambda one: one.label)
def test_nobody_hides_another_and_nobody_has_more_events_than_promised(configuration):
    found = survey(configuration, 0, local=False)
    count = configuration.privacy.contributions
    made = crowds(found, neighbours(found, count, 40), 40)
    assert {crowd.schedule for crowd in made} == set(found.schedules)
    for crowd in made:
        assert len(crowd) > 1
        assert all(len(person.events) == count for person in crowd.people)
        moved = [{*zip(*found.moves[event].nonzero(), strict=True)} for event in crowd.events]
        people = [set().union(*moved[count * i : count * (i + 1)]) for i in range(len(crowd))]
        assert len(set().union(*people)) == sum(map(len, people))


def test_of_running_sums_one_person_is_watched():
    choices = {"exploration": "sphere", "mechanism": "tree", "batch_size": 1}
    found = survey(Configuration(sv.domains.Box(0.0, 1.0, 1), sv.PureDP(1.0), 4, choices), 0, local=False)
    assert all(len(crowd) == 1 for crowd in crowds(found, neighbours(found, 1, 20), 20))


def test_worlds_of_people_are_independent():
    found = survey(ONE_OF_EACH[0], 0, local=False)
    crowd = crowds(found, neighbours(found, 1, 20), 20)[0]
    neither, first = crowd.world([False] * len(crowd)), crowd.world([True] + [False] * (len(crowd) - 1))
    changed = [
        event for event in range(12) if crowd.loss(neither, event, (0.0, 1.0)) != crowd.loss(first, event, (0.0, 1.0))
    ]
    assert changed == list(crowd.people[0].events)
