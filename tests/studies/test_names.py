"""A study keeps the names of its set: for every process that opens it, and against one that comes with others."""

import numpy as np
import pytest
from study_tools import sums

import sottovoce as sv
from children import Child
from sottovoce.errors import ConfigurationMismatch

DRINKS = ("tea", "coffee", "cocoa", "milk")
NAMED = sv.domains.Simplex(DRINKS)


def named(x):
    return [DRINKS[i] for i in np.flatnonzero(x)]


def test_what_is_asked_recommended_and_exported_is_named_in_every_process(opened, sqlite_url):
    study = opened(sqlite_url, **sums(domain=NAMED))
    action, actions = study.ask(), study.ask(30)
    assert action.chosen == named(action.x)
    assert actions.chosen == [named(x) for x in actions.x]
    study.tell(action.id, 0.5)
    study.tell(actions.ids[actions.wants_loss], actions.x[actions.wants_loss] @ [0.9, 0.1, 0.8, 0.7])
    study.close()

    def look(report):
        with sv.Study.open(sqlite_url, name="study") as again:
            one = again.ask()
            report("asked", [one.chosen, one.x.tolist()])
            report("labels", list(again.domain.labels))
            report("home", [again.recommend().chosen, again.recommend().x.tolist()])

    said = dict(Child(look).finish()[0])
    assert said["labels"] == list(DRINKS)
    for chosen, x in (said["asked"], said["home"]):
        assert chosen == named(x)
    again = opened(sqlite_url)
    exported = again.export()
    assert exported["labels"] == list(DRINKS)
    assert len(exported["rounds"][0]["point"]) == len(DRINKS)
    status = again.status()
    assert status.chosen == NAMED.chosen(status.point)
    assert all(drink in str(status) for drink in status.chosen)
    assert again.verify().ok


def test_other_names_of_the_same_set_are_refused(opened, sqlite_url):
    opened(sqlite_url, **sums(domain=NAMED)).close()
    opened(sqlite_url, **sums(domain=sv.domains.Simplex(list(DRINKS)))).close()
    for other, words in (
        (("tea", "coffee", "milk", "cocoa"), "coordinate 2 is 'cocoa', not 'milk'; they are the same names in another"),
        (("tea", "coffee", "cocoa", "juice"), "coordinate 3 is 'milk', not 'juice'. "),
    ):
        with pytest.raises(ConfigurationMismatch, match="domain is the same set under other names: ") as refused:
            opened(sqlite_url, **sums(domain=sv.domains.Simplex(other)))
        assert words in str(refused.value)


def test_a_set_without_names_takes_those_of_the_study(opened, sqlite_url):
    opened(sqlite_url, **sums(domain=NAMED)).close()
    assert opened(sqlite_url, **sums(domain=sv.domains.Simplex(4))).ask().chosen[0] in DRINKS


def cheapest(cost):
    return np.eye(4)[np.argmin(cost)]


def test_names_of_a_set_that_is_not_stored_are(opened, sqlite_url):
    opened(sqlite_url, **sums(domain=sv.domains.Custom(cheapest, DRINKS))).close()
    study = opened(
        sqlite_url, domain=sv.domains.Custom(cheapest, 4)
    )  # by itself it cannot be opened, and has no names here
    assert study.ask().chosen[0] in DRINKS
    study.close()
    with pytest.raises(ConfigurationMismatch, match="coordinate 3 is 'milk', not 'juice'"):
        opened(sqlite_url, domain=sv.domains.Custom(cheapest, [*DRINKS[:3], "juice"]))
    opened(sqlite_url, domain=sv.domains.Custom(cheapest, DRINKS)).close()
