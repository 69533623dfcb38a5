"""`verify` of studies with segments: each is learned again by itself; what others had a say in is not, as it says."""

import sqlite3

import pytest
from damaging import add, faults, found_after, open_in, put, scale
from small_studies import believing, curved

import sottovoce as sv
from sottovoce.studies import verify_stored

KINDS = {"linear": believing(privacy=sv.PureDP(1.0)), "convex": curved(privacy=sv.PureDP(1.0))}
NAMES = ["phone", "desktop", "tablet"]
LEARNED = "epoch0.learned."


@pytest.fixture
def played(kind, tmp_path):
    """A folder with a study of three segments, each with released rounds and open ones."""
    with open_in(tmp_path, **KINDS[kind], segments=NAMES, seed=1) as study:
        for _ in range(12):
            actions = study.ask(segment=NAMES * 10)
            study.tell(actions.ids, [0.25, 0.5, 0.75] * 10)
        study.ask(segment=NAMES * 10)
        found = study.verify()
        assert found.ok, str(found)
        assert found.released > 9
        assert found.epochs == 3
        assert any("is not computed again" in note for note in found.notes)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_segment_rests_on_follows_from_its_releases(kind, played):
    for name in ("means", "counts", "ends", "decisions"):
        change = scale(f"{LEARNED}explorer.measurements.{name}", 1.001)
        found = found_after(played, "streams", "believed", change, "stream = 1")
        assert f"measurements.{name} does not follow" in found
    for change, words in (
        (add(f"{LEARNED}learner.observed", 1), "learner.observed does not follow"),
        (add(f"{LEARNED}passed", 1), "and has others"),
        (lambda record: record.pop(f"{LEARNED}explorer.resets"), "is incomplete"),
        (lambda record: record.pop("variance_shares"), "is incomplete"),
    ):
        assert words in found_after(played, "streams", "believed", change, "stream = 2")


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_of_a_segment_are_those_of_its_plan(kind, played):
    mine = "stream = 1 AND number = 1"
    for change, words in (
        (scale("exploration.probes", 3.0), "has probes that its plan does not draw"),
        (add("exploration.end", 1), "and its plan says"),
        (add("point", 3.0), "is not of the set"),
        (put(learned=5), "which cannot be"),
        (put(last=True), "the last of its epoch"),
    ):
        assert words in found_after(played, "rounds", "public", change, mine)


@pytest.mark.parametrize("kind", ["linear"])
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE sottovoce_streams SET name = '\"watch\"' WHERE stream = 1", "is none of those"),
        ("UPDATE sottovoce_streams SET name = 'phone' WHERE stream = 1", "is none of those"),
        ("DELETE FROM sottovoce_streams WHERE stream = 1", "a stream is gone"),
        ("UPDATE sottovoce_rounds SET stream = 9 WHERE stream = 1", "of a stream that is not"),
        ("UPDATE sottovoce_streams SET believed = NULL WHERE stream = 1", "what is believed is not stored"),
    ],
)
def test_segments_are_those_that_the_study_was_made_with(statement, words, kind, played):
    connection = sqlite3.connect(played / "study.db", isolation_level=None)
    assert connection.execute(statement).rowcount > 0
    connection.close()
    assert words in faults(played)


def test_a_process_releases_rounds_of_a_segment_that_another_has_opened(url):
    with sv.Study.open(url, name="a", **KINDS["linear"], segments=NAMES) as one, sv.Study.open(url, name="a") as other:
        for name in NAMES:
            actions = one.ask_round(segment=name)
            other.tell(actions.ids, [0.5] * len(actions))
        assert other.round == 3
        assert verify_stored(url, "a").ok
