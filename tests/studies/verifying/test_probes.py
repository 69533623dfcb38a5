"""`verify` finds what was changed of posterior probes: their decisions, the sizes of rounds, what is believed."""

import sqlite3

import numpy as np
import pytest
from damaging import OPEN, RELEASED, add, faults, found_after, lose, open_in, play, put, rewrite, scale, shorten, turn
from small_studies import believing, curved

import sottovoce as sv
from sottovoce._records import unpack
from sottovoce.models import gaussian
from sottovoce.studies import verify_stored

KINDS = {"linear": believing(privacy=sv.PureDP(1.0)), "convex": curved(privacy=sv.PureDP(1.0))}


def repeat(name):
    def change(record):
        record[name] = np.repeat(record[name][:1], len(record[name]), axis=0)

    return change


LEARNED = "epoch0.learned."
HISTORY = f"{LEARNED}explorer.measurements."
BELIEFS = [
    *(scale(f"{HISTORY}{name}", 1.001) for name in ("means", "counts", "ends", "decisions")),
    *(turn(f"{HISTORY}{name}") for name in ("means", "decisions")),
    shorten(*(f"{HISTORY}{name}" for name in ("index", "means", "counts", "ends"))),
    *(add(f"{LEARNED}explorer.{name}", 1) for name in ("since", "resets")),
    add(f"{LEARNED}learner.observed", -1),
]


@pytest.fixture
def played(kind, tmp_path):
    """A folder with a study that has released rounds, and others that are open."""
    with open_in(tmp_path, **KINDS[kind], seed=1) as study:
        play(study, 90, size=30)
        study.ask(40)
        found = study.verify()
        assert found.ok, str(found)
        assert found.released > 2
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_belief_that_does_not_follow_from_what_was_released_is_found(kind, played):
    for change in BELIEFS:
        assert "does not follow" in found_after(played, "streams", "believed", change)
    assert not faults(played)


ROUNDS = [
    (RELEASED, turn("exploration.probes"), "explorer.measurements"),
    (RELEASED, repeat("exploration.probes"), "explorer.measurements"),
    (RELEASED, scale("exploration.probes", 3.0), "has probes that its plan does not draw"),
    (RELEASED, add("exploration.end", 1), "do not follow from where it began"),
    (RELEASED, lose("exploration.probes"), "its probes need"),
    (OPEN, scale("exploration.probes", 3.0), "has probes that its plan does not draw"),
    (OPEN, add("exploration.end", -1), "do not follow from where it began"),
    (OPEN, lose("exploration.probes"), "do not follow from where it began"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_round_with_other_decisions_or_another_end_is_found(kind, played):
    for where, change, words in ROUNDS:
        assert words in found_after(played, "rounds", "public", change, where)


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_begins_with_what_the_one_before_it_had_learned(kind, tmp_path):
    options = KINDS[kind] | {"horizon": None, "least_events": 20}
    with open_in(tmp_path, **options, seed=1) as study:
        play(study, 400, size=50)
        found = study.verify()
        assert found.ok, str(found)
        assert found.epochs == 2
    path = tmp_path / "study.db"
    sound = path.read_bytes()
    connection = sqlite3.connect(path)
    later = [number for (number,) in connection.execute("SELECT number FROM sottovoce_rounds WHERE position >= 256")]
    connection.close()
    for value, words in ((-1, "does not follow"), (99, "which cannot be")):
        connection = sqlite3.connect(path, isolation_level=None)
        for number in later:
            rewrite(connection, "sottovoce_rounds", "public", add("after", value), f"number = {number}")
        (data,) = connection.execute("SELECT believed FROM sottovoce_streams").fetchone()
        last = f"epoch{unpack(data)['epochs'] - 1}"
        rewrite(connection, "sottovoce_streams", "believed", add(f"{last}.after", value))
        connection.close()
        assert words in faults(tmp_path)
        path.write_bytes(sound)
    assert "which cannot be" in found_after(tmp_path, "rounds", "public", put(after=1), "number = 0")


def other_machine(seed):
    """Return a solver of linear equations that rounds in its own way."""
    solve, rounding = gaussian.cho_solve, np.random.default_rng(seed)

    def other(*arguments, **options):
        right = solve(*arguments, **options)
        return right * (1 + 1e-15 * rounding.standard_normal(right.shape))

    return other


def test_which_of_equal_decisions_leads_may_differ_between_machines(tmp_path, monkeypatch):
    """Decisions that nobody has played yet may have equal means; rounding says which is the best, here or elsewhere."""
    options, vertices, ties = believing(domain=sv.domains.Simplex(10), probes=2, least_events=4), np.eye(10), 0
    for seed in range(6):
        with open_in(tmp_path, str(seed), **options, seed=seed) as study:
            for _ in range(6):
                actions = study.ask_round()
                study.tell(actions.ids, np.full(len(actions), 0.9))
                study._catch_up()
                explorer = study._policy.current().explorer
                ties += sum(explorer.is_as_good(one) for one in vertices) > 1
            assert study.verify().ok
    assert ties > 0
    for seed in range(12):
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(gaussian, "cho_solve", other_machine(seed))
            found = verify_stored(f"sqlite:///{tmp_path}/study.db", str(seed % 6))
        assert found.ok, str(found)


@pytest.mark.parametrize("kind", KINDS)
def test_a_point_that_is_worse_than_the_best_is_found(kind, played):
    connection = sqlite3.connect(played / "study.db")
    (data,) = connection.execute("SELECT public FROM sottovoce_rounds WHERE number = 5").fetchone()
    connection.close()
    turned = put(point=np.roll(unpack(data)["point"], 1))
    assert "the point of round 5 does not follow" in found_after(played, "rounds", "public", turned, "number = 5")
