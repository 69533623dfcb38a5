"""Studies with segments: one horizon, one clock and one charge, however many processes ask for whom."""

import numpy as np
import pytest
from study_tools import Look, ask_and_tell, believing

import sottovoce as sv
from children import at_once
from sampling import every
from sottovoce.errors import StudyNotFound, UnknownSegment
from sottovoce.studies import list_studies
from storages import outside

NAMES = ["phone", "desktop", "tablet"]


def segmented(**changes):
    return believing(segments=NAMES) | changes


# ---------------------------------------------------------------------- what is asked


@every("horizon", [48, 54, 66])
def test_what_was_given_back_for_another_segment_is_asked_again_and_once(horizon, opened, sqlite_url):
    """What a process has in hand for one does not use up the horizon of others."""
    study = opened(sqlite_url, f"of {horizon}", **segmented(horizon=horizon, patience=None))
    ids = [study.ask(segment="phone").id for _ in range(horizon - 14)]  # reserves some ahead
    ids += study.ask(study.remaining - 1, segment="desktop").ids.tolist()  # for which these are given back
    ids.append(study.ask(segment="phone").id)
    assert len(set(ids)) == horizon
    assert study.remaining == 0
    assert study.verify().ok


def test_a_deadline_holds_for_segments_that_nobody_asks_for(opened, sqlite_url):
    study = opened(sqlite_url, **segmented(deadline=1e9))
    asked = len(study.ask_round(segment="phone"))
    outside(sqlite_url, "UPDATE sottovoce_rounds SET full_time = full_time - 2e9")
    study = opened(sqlite_url)
    assert study.status().forgotten == asked
    study.change(deadline=None)
    assert study.status().deadline is None


@pytest.mark.timeout(900)
def test_two_that_open_the_last_segment_at_once_do_not_both_get_it(opened, url):
    studies = [opened(url, **(segmented(segments=sv.Segments(limit=4)) if not one else {})) for one in range(4)]
    met = []

    def rush(place):
        for turn in range(4):
            try:
                studies[place].ask(segment=f"{place}-{turn}")
            except UnknownSegment as refused:
                met.append(refused)

    at_once(rush)
    assert len(Look(url).streams) == 4
    assert len(met) == 12
    assert studies[0].status().asked == 4


# ---------------------------------------------------------------------- what they learn from each other


def worlds(segment, x):
    best = {"phone": 0, "desktop": 0, "tablet": 2}[segment]
    return 0.9 - 0.4 * x[best] - 0.05 * x[3]


def learned(study, names, events, turns=6):
    for _ in range(turns):
        wanted = [names[place % len(names)] for place in range(events)]
        block = study.ask(segment=wanted)
        study.tell(block.ids, [worlds(one, x) for one, x in zip(wanted, block.x, strict=True)])


@pytest.mark.parametrize("changes", [{}, {"horizon": None}, {"privacy": sv.PureDP(1.0)}])
def test_all_processes_know_the_same(changes, opened, sqlite_url):
    study = opened(sqlite_url, **segmented(**changes))
    learned(study, NAMES, 300, turns=3)
    study.close()
    one, other = opened(sqlite_url), opened(sqlite_url)
    learned(one, ["phone"], 100, turns=2)
    learned(other, NAMES[1:], 100, turns=2)
    last = opened(sqlite_url)
    for name in NAMES:
        known = [study.posterior(segment=name) for study in (one, other, last)]
        assert all(np.array_equal(known[0].slopes, each.slopes) for each in known[1:])
        found = [study.recommend(segment=name).to_dict() for study in (one, other, last)]
        assert found[0] == found[1] == found[2]
    everything = other.recommend()
    assert list(everything) == NAMES
    assert {name: each.events for name, each in everything.segments.items()} == one.sizes
    found = other.verify()
    assert found.ok, str(found)
    assert any("is not computed again" in note for note in found.notes)  # in what other segments had a say


def test_segments_lean_on_what_others_have_released_in_other_processes(opened, sqlite_url):
    one = opened(sqlite_url, **segmented())
    learned(one, ["phone", "desktop"], 400)
    other = opened(sqlite_url)
    fresh = other.recommend(segment="tablet")
    assert (fresh.x[0], fresh.rounds) == (1, 0)  # as far as others go
    block = other.ask_round(segment="tablet")
    assert block.x[:, 0].mean() > 0.7
    assert one.recommend(segment="phone").x[0] == 1
    assert one.recommend().verdict == "too early to say whether segments help: nothing was released yet of 1 of 3"


# ---------------------------------------------------------------------- looking


def test_segments_do_not_show_as_studies(opened, sqlite_url):
    study = opened(sqlite_url, **segmented())
    ask_and_tell(study, segment=NAMES * 5, told=9)
    (entry,) = list_studies(sqlite_url)
    assert (entry.name, entry.asked, entry.told, entry.waiting) == ("study", 15, 9, 6)
    assert entry.open_rounds == study.status().open_rounds > 3
    with pytest.raises(StudyNotFound, match="it has 'study'"):
        opened(sqlite_url, name="other")
    stated = study.statement()
    assert (stated.asked, stated.open_rounds) == (15, entry.open_rounds)
    assert any("which segment an event belongs to" in one for one in stated.privacy.also_not_covered)


def test_an_export_says_whose_rounds_are(opened, sqlite_url):
    factors = {"device": ["phone", "desktop"], "country": ["it"]}
    study = opened(sqlite_url, **segmented(segments=factors))
    ask_and_tell(study, segment=[("phone", "it"), ("desktop", "it")] * 30)
    found = study.export()
    assert found["configuration"]["segments"]["factors"] == factors
    assert {tuple(one["segment"]) for one in found["rounds"]} == {("phone", "it"), ("desktop", "it")}
