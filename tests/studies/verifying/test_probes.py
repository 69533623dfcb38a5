"""`verify` finds what was changed of posterior probes: their decisions, the sizes of rounds, what is believed."""

import sqlite3

import numpy as np
import pytest
from damaging import NEWEST, OPEN, RELEASED, faults, open_in, play, put, rewrite, scale, shorten
from study_tools import believing, curved

import sottovoce as sv
from sottovoce._records import unpack
from sottovoce.exploration.posterior import gaussian
from sottovoce.studies import verify_stored

KINDS = {"linear": believing(privacy=sv.PureDP(1.0)), "convex": curved(privacy=sv.PureDP(1.0))}


def add(name, value):
    def change(record):
        record[name] = record[name] + value

    return change


def turn(name):
    """Let rows, or entries, change places."""

    def change(record):
        record[name] = np.roll(record[name], 1, axis=0)

    return change


def repeat(name):
    def change(record):
        record[name] = np.repeat(record[name][:1], len(record[name]), axis=0)

    return change


def found_after(folder, table, column, change, where="1"):
    connection = sqlite3.connect(folder / "study.db", isolation_level=None)
    rewrite(connection, f"sottovoce_{table}", column, change, where)
    connection.close()
    return faults(folder)


BELIEFS = [
    *(scale(f"explorer.history.{name}", 1.001) for name in ("means", "counts", "ends", "decisions")),
    *(turn(f"explorer.history.{name}") for name in ("means", "decisions")),
    shorten("explorer.history.index", "explorer.history.means", "explorer.history.counts", "explorer.history.ends"),
    *(add(f"explorer.{name}", 1) for name in ("since", "resets")),
    add("learner.observed", -1),
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
    path = played / "study.db"
    sound = path.read_bytes()
    for change in BELIEFS:
        assert "does not follow from the released rounds" in found_after(played, "epochs", "learned", change)
        path.write_bytes(sound)
    assert not faults(played)


ROUNDS = [
    (RELEASED, turn("exploration.probes"), "explorer.history"),
    (RELEASED, repeat("exploration.probes"), "explorer.history"),
    (RELEASED, scale("exploration.probes", 3.0), "has probes that its plan does not draw"),
    (RELEASED, add("exploration.end", 1), "do not follow from where it began"),
    (RELEASED, shorten("exploration.probes"), "its probes need"),
    (OPEN, turn("exploration.probes"), "are not those of round"),
    (OPEN, repeat("exploration.probes"), "are not those of round"),
    (OPEN, scale("exploration.probes", 3.0), "has probes that its plan does not draw"),
    (OPEN, add("exploration.end", -1), "do not follow from where it began"),
    (OPEN, shorten("exploration.probes"), "do not follow from where it began"),
    (NEWEST, put(**{"exploration.waiting": np.array([0])}), "do not follow from where it began"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_round_with_other_decisions_or_another_end_is_found(kind, played):
    path = played / "study.db"
    sound = path.read_bytes()
    for where, change, words in ROUNDS:
        assert words in found_after(played, "rounds", "public", change, where)
        path.write_bytes(sound)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_long_round_goes_on_with_is_the_rest_of_a_pass(kind, tmp_path):
    """Its actions are drawn in blocks, and who plays what next is kept in between."""
    options = KINDS[kind] | {"probes": 5, "least_events": 2001}
    with open_in(tmp_path, **options, seed=1) as study:
        study.ask(10)
        assert study.verify().ok
    path = tmp_path / "study.db"
    sound = path.read_bytes()
    waiting = "exploration.waiting"
    for change in (shorten(waiting), repeat(waiting), add(waiting, 5), add(waiting, -5)):
        assert "do not follow from where it began" in found_after(tmp_path, "rounds", "public", change)
        path.write_bytes(sound)
    assert not found_after(tmp_path, "rounds", "public", turn(waiting))  # dice


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
    for change, words in (
        (add("after", -1), "does not follow from the released rounds"),
        (add("after", 1), "begins at a point that nothing stored leads to"),
        (put(after=None), "begins at a point that nothing stored leads to"),
        (lambda record: record.pop("after"), "does not say where it began"),
    ):
        assert words in found_after(tmp_path, "epochs", "made", change, "number = 1")
        path.write_bytes(sound)
    assert "begins at a point" in found_after(tmp_path, "epochs", "made", put(after=0), "number = 0")


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
                explorer = study._session.state.epochs[0].explorer
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
