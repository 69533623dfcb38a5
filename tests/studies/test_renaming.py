"""Studies that are renamed and deleted."""

import numpy as np
import pytest
from study_tools import ball, sums

import sottovoce as sv
from sottovoce.errors import StudyNotFound
from sottovoce.studies import delete_study, rename_study, verify_stored


@pytest.fixture
def begun(opened, url):
    """A study with a released round, one that has a part of its losses, and its ids."""
    study = opened(url, name="spring", **sums(privacy=sv.PureDP(1.0)))
    first = study.ask_round()
    study.tell(first.ids, np.full(len(first), 0.5))
    rest = study.ask(5)
    study.tell(rest.ids[:3], np.full(3, 0.25))
    return study, rest.ids


def test_a_renamed_study_goes_on_in_all_processes(url, opened, begun):
    study, ids = begun
    opened(url, name="autumn", **ball())
    with pytest.raises(ValueError, match="to='autumn' is taken"):
        rename_study(url, "spring", "autumn")
    rename_study(url, "spring", "summer")
    study.tell(ids[3:], np.full(2, 0.25))
    rest = study.ask_round()
    study.tell(rest.ids, np.full(len(rest), 0.25))
    assert opened(url, name="summer").status().round == 2
    for call in (lambda: sv.Study.open(url, name="spring"), lambda: rename_study(url, "spring", "winter")):
        with pytest.raises(StudyNotFound, match="no such study"):
            call()
    assert verify_stored(url, "summer").ok


def test_a_deleted_study_is_gone_with_its_losses_and_its_number_is_not_used_again(url, opened, begun):
    study, ids = begun
    delete_study(url, "spring")
    new = opened(url, name="spring", **sums(privacy=sv.PureDP(1.0)))
    actions = new.ask(4)
    new.tell(actions.ids, np.full(4, 0.5))
    for call in (lambda: study.tell(ids[3], 0.5), lambda: study.ask(600)):
        with pytest.raises(StudyNotFound, match="deleted"):
            call()
    study.close()
    assert (new.status().told, new.status().incarnation) == (4, 1)
