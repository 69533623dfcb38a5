"""`verify` finds rows that contradict each other, names every fault, and never a loss."""

import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from damaging import OPTIONS, add, faults, open_in, play, put, rechain, rewrite, scale

from sottovoce._records import unpack
from sottovoce.rounds.round import UNWANTED, Shape, Slots, seal_of_one, signed
from sottovoce.studies import verify_stored

STATEMENTS = [
    ("DELETE FROM sottovoce_rounds WHERE number = 3", "round 4 follows round 2"),
    ("DELETE FROM sottovoce_rounds", "events are asked, and 0 are reserved"),
    ("DELETE FROM sottovoce_streams", "of a stream that is not"),
    ("UPDATE sottovoce_streams SET stream = 7", "a stream is gone"),
    ("UPDATE sottovoce_streams SET begun = begun + 1", "have begun"),
    ("UPDATE sottovoce_streams SET closed = closed - 1", "are closed"),
    ("UPDATE sottovoce_streams SET learned = learned + 1", "how new a belief is"),
    ("UPDATE sottovoce_streams SET believed = NULL", "what is believed is not stored"),
    ("UPDATE sottovoce_streams SET name = 'phone'", "made without"),
    ("UPDATE sottovoce_rounds SET open = 1 WHERE number = 3", "out of order"),
    ("UPDATE sottovoce_rounds SET open = 2 WHERE number = 3", "unknown state"),
    ("UPDATE sottovoce_rounds SET open = 0 WHERE open = 1", "its release is gone"),
    ("UPDATE sottovoce_rounds SET open = 1 WHERE number = 3", "is open, and has a release"),
    ("UPDATE sottovoce_rounds SET first = first + 1 WHERE number = 3", "which is not its own"),
    ("UPDATE sottovoce_rounds SET first = 256 * 999 WHERE number = 3", "places are left out"),
    ("UPDATE sottovoce_rounds SET position = 7 WHERE number = 3", "begins with event 7"),
    ("UPDATE sottovoce_rounds SET size = size + 1 WHERE number = 3", "reserved, which cannot be"),
    ("UPDATE sottovoce_rounds SET reserved = reserved - 1 WHERE number = 3", "reserved, which cannot be"),
    ("UPDATE sottovoce_rounds SET full_at = NULL WHERE number = 3", "to its end"),
    ("UPDATE sottovoce_rounds SET full_at = 0 WHERE number = 3", "to its end"),
    ("UPDATE sottovoce_rounds SET full_time = 1.0, full_at = 1 WHERE reserved < size", "to its end"),
    ("DELETE FROM sottovoce_releases WHERE round = 3", "round 3 is closed, and its release is gone"),
    ("UPDATE sottovoce_releases SET round = 5000 WHERE round = 3", "round 5000 is gone, and has a release"),
    ("UPDATE sottovoce_releases SET state = 0 WHERE round = 3", "round 3 was not released"),
    ("UPDATE sottovoce_releases SET state = 2 WHERE round = 3", "was dropped, and has a release"),
    ("UPDATE sottovoce_releases SET state = 3 WHERE round = 3", "unknown state"),
    ("UPDATE sottovoce_releases SET released = x'00' WHERE round = 3", "the release of round 3 is damaged"),
    ("UPDATE sottovoce_releases SET told = told + 1 WHERE round = 3", "are told"),
    ("UPDATE sottovoce_releases SET missing = missing + 1 WHERE round = 3", "are missing"),
    ("UPDATE sottovoce_chunks SET round = 3", "and it is closed"),
    ("UPDATE sottovoce_chunks SET round = 5000", "and it is gone"),
    ("DELETE FROM sottovoce_chunks", "are gone, or too many"),
    ("UPDATE sottovoce_chunks SET chunk = chunk + 99", "are gone, or too many"),
    ("UPDATE sottovoce_chunks SET closed = closed - 1", "does not say what it was told"),
    ("UPDATE sottovoce_chunks SET missing = missing + 1", "does not say what it was told"),
    ("UPDATE sottovoce_chunks SET wanted = wanted - 1", "does not say what it was told"),
    ("UPDATE sottovoce_chunks SET seal = seal + 1", "fail their checksum"),
    ("UPDATE sottovoce_chunks SET slots = x''", "has another length"),
    ("UPDATE sottovoce_chunks SET slots = zeroblob(length(slots))", "were not asked"),
    ("UPDATE sottovoce_rounds SET reached = 0 WHERE number = 3", "reserved, which cannot be"),
]


@pytest.mark.parametrize(("statement", "words"), STATEMENTS, ids=[one[0] for one in STATEMENTS])
def test_rows_that_contradict_each_other_are_found(statement, words, database, tmp_path):
    assert database.execute(statement).rowcount > 0
    assert words in faults(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(after=99), "had not begun, which cannot be"),
        (add("before", 1), "is of an epoch that is not stored"),
    ],
)
def test_epochs_follow_each_other(change, words, tmp_path):
    with open_in(tmp_path, **{**OPTIONS, "horizon": None}) as study:
        play(study, 500, size=125)
        assert study.verify().epochs == 2
    connection = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    (first,) = connection.execute("SELECT min(number) FROM sottovoce_rounds WHERE position >= 256").fetchone()
    rewrite(connection, "sottovoce_rounds", "public", change, f"number = {first}")
    connection.close()
    assert words in faults(tmp_path)


def test_an_epoch_begins_where_the_last_one_ended(tmp_path):
    with open_in(tmp_path, **{**OPTIONS, "horizon": None}) as study:
        play(study, 500, size=125)
    connection = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    (data,) = connection.execute("SELECT believed FROM sottovoce_streams").fetchone()
    last = f"epoch{unpack(data)['epochs'] - 1}"
    for change, words in (
        (scale(f"{last}.learned.center", 1.02), "epoch of event 256 begins at a point that nothing stored leads to"),
        (lambda record: record["planned"].pop(), "is of an epoch that is not stored"),
        (lambda record: record["planned"].pop(0), "is of an epoch that is not stored"),
    ):
        connection.execute("UPDATE sottovoce_streams SET believed = ?", (data,))
        rewrite(connection, "sottovoce_streams", "believed", change)
        assert words in faults(tmp_path)
    connection.close()


def test_two_rounds_that_changed_places_are_found(database, tmp_path):
    for one, other in ((3, -1), (4, 3), (-1, 4)):
        database.execute("UPDATE sottovoce_rounds SET number = ? WHERE number = ?", (other, one))
    rechain(database)
    assert "round 3 begins with event" in faults(tmp_path)


def put_loss(folder, slot, value=1):
    """Put a loss into a slot of the newest chunk, with a fitting checksum and counts."""
    slots = Slots(Shape())
    connection = sqlite3.connect(folder / "study.db", isolation_level=None)
    chunk, seal, data = connection.execute("SELECT max(chunk), seal, slots FROM sottovoce_chunks").fetchone()
    held = slots.unpacked(data)
    was, held[slot] = int(held[slot]), value
    wanted = 0 if was != UNWANTED else 1
    seal = signed(seal ^ seal_of_one((chunk << slots.bits) + slot, value))
    row = wanted, seal, slots.packed(held), chunk
    connection.execute(
        "UPDATE sottovoce_chunks SET closed = closed + 1, wanted = wanted + ?, seal = ?, slots = ? WHERE chunk = ?", row
    )
    connection.close()


def test_losses_for_actions_that_were_not_asked_are_found(database, tmp_path):
    (reserved,) = database.execute("SELECT reserved FROM sottovoce_rounds WHERE reserved < size").fetchone()
    put_loss(tmp_path, reserved + 1)
    assert "losses for actions that were not asked" in faults(tmp_path)


def test_losses_outside_their_range_are_found(database, tmp_path):
    (reserved,) = database.execute("SELECT reserved FROM sottovoce_rounds WHERE reserved < size").fetchone()
    put_loss(tmp_path, reserved - 1, 2**18)
    assert not faults(tmp_path)
    put_loss(tmp_path, reserved - 2, 2**18 + 1)
    assert "losses outside their range" in faults(tmp_path)


def test_losses_that_nobody_wanted_are_found(tmp_path):
    with open_in(tmp_path, **OPTIONS, losses="linear") as study:
        actions = study.ask(10)
        slot = int(np.flatnonzero(~actions.wants_loss)[0])
    put_loss(tmp_path, slot)
    assert "does not want the losses that its actions need" in faults(tmp_path)


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
    (data,) = database.execute("SELECT slots FROM sottovoce_chunks WHERE closed > missing").fetchone()
    secrets = {str(one) for one in Slots(Shape()).unpacked(data).tolist() if one > 10**4}
    assert secrets
    for statement, _ in STATEMENTS:
        database.execute(statement)
        found = str(verify_stored(f"sqlite:///{tmp_path}/study.db", "a"))
        assert not any(one in found for one in secrets)
