"""A study keeps the names of its set: for every process that opens it, and against one that comes with others."""

import numpy as np
import pytest
from study_tools import sums

import sottovoce as sv
from sottovoce.errors import ConfigurationMismatch

DRINKS = ("tea", "coffee", "cocoa", "milk")
NAMED = sv.domains.Simplex(DRINKS)


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
