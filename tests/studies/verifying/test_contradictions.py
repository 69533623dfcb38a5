"""`verify` finds rows that contradict each other, names every fault, and never a loss."""

import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from damaging import OPTIONS, faults, open_in, play, rewrite, scale

from sottovoce.studies import verify_stored
from sottovoce.studies.database.cells import entries, pack_losses

ONE = "WHERE rowid = (SELECT min(rowid) FROM sottovoce_cells)"
STATEMENTS = [
    ("DELETE FROM sottovoce_rounds WHERE number = 3", "round 4 follows round 2"),
    ("DELETE FROM sottovoce_rounds", "and no round is stored"),
    ("UPDATE sottovoce_rounds SET state = 'open' WHERE number = 3", "out of order"),
    ("UPDATE sottovoce_rounds SET state = 'unreleased' WHERE number = 3", "round 3 is unreleased"),
    ("UPDATE sottovoce_rounds SET state = 'dropped' WHERE number = 3", "was dropped, and has a release"),
    ("UPDATE sottovoce_rounds SET state = 'lost' WHERE number = 3", "unknown state"),
    ("UPDATE sottovoce_rounds SET released = NULL WHERE number = 3", "nothing is stored"),
    ("UPDATE sottovoce_rounds SET released = x'00' WHERE state = 'open'", "is open, and has a release"),
    (
        "UPDATE sottovoce_rounds SET full_at = 1.0 WHERE number = (SELECT max(number) FROM sottovoce_rounds)",
        "to its end",
    ),
    ("UPDATE sottovoce_epochs SET passed = passed + 1", "counts"),
    ("UPDATE sottovoce_epochs SET opened = opened + 1", "counts"),
    ("UPDATE sottovoce_epochs SET passed = 5000", "has opened 5000"),
    ("DELETE FROM sottovoce_epochs", "which is not stored"),
    ("DELETE FROM sottovoce_blocks", "not all of its actions are stored"),
    ("UPDATE sottovoce_blocks SET round = 3", "actions that were asked are still stored"),
    ("UPDATE sottovoce_blocks SET round = 5000", "of round 5000, not stored"),
    (f"UPDATE sottovoce_cells SET round = 3 {ONE}", "it is released"),
    (f"UPDATE sottovoce_cells SET round = 5000 {ONE}", "it is gone"),
    ("DELETE FROM sottovoce_cells", "not all that was reserved"),
    ("UPDATE sottovoce_cells SET first = first + 1", "do not fit together"),
    ("UPDATE sottovoce_cells SET generation = 7", "is of another life"),
    ("UPDATE sottovoce_cells SET given_back = 1", "actions that were given back"),
    ("UPDATE sottovoce_cells SET told = told - 1, missing = missing + 1", "does not say what it was told"),
    ("UPDATE sottovoce_cells SET losses = x''", "does not say what it was told"),
    ("UPDATE sottovoce_cells SET losses = CAST(losses || losses AS BLOB)", "two losses"),
    ("UPDATE sottovoce_rounds SET whole = 1 - whole WHERE state = 'open'", "as far as it wants losses"),
]


@pytest.mark.parametrize(("statement", "words"), STATEMENTS, ids=[one[0] for one in STATEMENTS])
def test_rows_that_contradict_each_other_are_found(statement, words, database, tmp_path):
    assert database.execute(statement).rowcount > 0
    assert words in faults(tmp_path)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE sottovoce_epochs SET number = 5 WHERE number = 1", "epoch 5 follows epoch 0"),
        ("UPDATE sottovoce_epochs SET passed = 100 WHERE number = 0", "epoch 0 is over, with 100 of 256"),
        (None, "epoch 1 begins at a point that nothing stored leads to"),
    ],
)
def test_epochs_follow_each_other_and_begin_where_the_last_one_ended(statement, words, tmp_path):
    with open_in(tmp_path, **{**OPTIONS, "horizon": None}) as study:
        play(study, 500, size=125)
        assert study.verify().epochs == 2
    connection = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    if statement is None:
        rewrite(connection, "sottovoce_epochs", "learned", scale("center", 1.02), "number = 1")
    else:
        connection.execute(statement)
    connection.close()
    assert words in faults(tmp_path)


def test_two_rounds_that_changed_places_are_found(database, tmp_path):
    for one, other in ((3, -1), (4, 3), (-1, 4)):
        database.execute("UPDATE sottovoce_rounds SET number = ? WHERE number = ?", (other, one))
    assert "round 3 holds round 4" in faults(tmp_path)


def test_losses_for_actions_that_were_not_asked_are_found(database, tmp_path):
    (number,) = database.execute("SELECT max(number) FROM sottovoce_rounds").fetchone()
    entry = pack_losses(number, np.array([47]), np.array([1]))
    database.execute("UPDATE sottovoce_cells SET losses = ? WHERE round = ?", (entry, number))
    assert "not asked, or not wanted" in faults(tmp_path)


def test_losses_that_nobody_wanted_are_found(tmp_path):
    with open_in(tmp_path, **OPTIONS, losses="linear") as study:
        actions = study.ask(10)
        slot = int(np.flatnonzero(~actions.wants_loss)[0])
    entry = pack_losses(0, np.array([slot]), np.array([1]))
    connection = sqlite3.connect(tmp_path / "study.db")
    with connection:
        connection.execute("UPDATE sottovoce_cells SET losses = ?", (entry,))
    connection.close()
    assert "not asked, or not wanted" in faults(tmp_path)


def test_actions_of_a_closed_round_that_were_not_asked_must_not_be_lost(tmp_path):
    """Designs close a round once its last probe is told, with events left to play."""
    with open_in(tmp_path, **OPTIONS, losses="linear") as study:
        while study.round == 0:
            action = study.ask()
            if action.wants_loss:
                study.tell(action.id, 0.5)
        assert study.verify().ok
        assert study.verify().blocks > 0
    connection = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    connection.execute("DELETE FROM sottovoce_blocks")
    connection.close()
    assert "actions that were not asked are not stored" in faults(tmp_path)


def test_every_fault_is_named_and_a_file_that_others_can_read_is_noted(database, tmp_path):
    database.execute("UPDATE sottovoce_rounds SET public = x'00'")
    (tmp_path / "study.db").chmod(0o644)
    found = verify_stored(f"sqlite:///{tmp_path}/study.db", "a")
    (rounds,) = database.execute("SELECT count(*) FROM sottovoce_rounds").fetchone()
    assert sum("too short" in fault for fault in found.faults) == rounds
    assert all(fault in str(found) for fault in found.faults[:20])
    assert "... and 10 more" in str(replace(found, faults=found.faults[:1] * 30))
    assert any("chmod 600" in note for note in found.notes)
    assert found.to_dict()["ok"] is False


def test_faults_never_hold_a_loss(database, tmp_path):
    """The integers of stored losses are told apart from everything else by their value."""
    data, number = database.execute("SELECT losses, round FROM sottovoce_cells WHERE told > 0").fetchone()
    integers = np.concatenate([told for _, told in entries(number, data) if told is not None])
    secrets = {str(one) for one in integers.tolist() if one > 10**4}
    assert secrets
    for statement, _ in STATEMENTS:
        database.execute("BEGIN")
        database.execute(statement)
        database.execute("COMMIT")
    found = str(verify_stored(f"sqlite:///{tmp_path}/study.db", "a"))
    assert not any(one in found for one in secrets)
