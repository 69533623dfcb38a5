"""`verify` finds every kind of damage, and nothing where there is none."""

import itertools
import os
import shutil
import sqlite3
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import sottovoce as sv
from sottovoce._records import pack, unpack
from sottovoce.studies import verify, verify_stored
from sottovoce.studies.database.rows import pack_losses, unpack_losses
from sottovoce.studies.session.counters import Counters

OPTIONS = {
    "domain": sv.domains.Hypersimplex(6, 2),
    "horizon": 1000,
    "loss_range": (0.0, 1.0),
    "privacy": sv.PureDP(1.0),
    "seed": 1,
}
LOSS = 0.37109375  # exact in binary, and nowhere else on purpose


@pytest.fixture(scope="module")
def folders():
    """Folders in memory where there are any: these tests are not about durability, and disks are slow to promise it."""
    base = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=base if os.access(base, os.W_OK) else None) as top:
        yield (Path(tempfile.mkdtemp(dir=top)) for _ in itertools.count())


@pytest.fixture
def tmp_path(folders):
    return next(folders)


def play(study, events, size=50, leave_out=3):
    """Tell all losses but a few, which are forgotten."""
    local = isinstance(study._found.configuration.privacy, sv.LocalDP)
    for start in range(0, events, size):
        actions = study.ask(min(size, events - start))
        ids, values = actions.ids, np.linspace(0.1, 0.9, len(actions))
        if local:
            study.tell(ids, report=[sv.local.privatise(float(one), study.channel) for one in values])
        else:
            study.tell(ids[leave_out:], values[leave_out:])
            study.forget(ids[:leave_out])


def opened(folder, name="a", **options):
    return sv.Study.open(f"sqlite:///{folder}/study.db", name=name, **options)


GRAPH = nx.complete_graph(4)
CASES = {
    "frames": {},
    "unknown horizon": {"horizon": None},
    "designs": {"losses": "linear", "integral": True},
    "designs, unknown horizon": {"losses": "linear", "horizon": None},
    "rounded designs": {"losses": "linear", "integral": True, "domain": sv.domains.Birkhoff(3)},
    "iterated projection": {"domain": sv.domains.SpanningTrees(GRAPH)},
    "fresh": {"exploration": "sphere", "mechanism": "fresh", "batch_size": 60},
    "local": {"privacy": sv.LocalDP(1.0), "batch_size": 20},
    "no privacy": {"privacy": sv.NoPrivacy(), "batch_size": 20},
    "approximate": {"privacy": sv.ApproxDP(1.0, 1e-6)},
}


@pytest.mark.parametrize("case", CASES)
def test_a_sound_study_is_found_sound_at_every_stage(case, tmp_path):
    with opened(tmp_path, **{**OPTIONS, **CASES[case]}) as study:
        assert study.verify().ok, "empty"
        play(study, 450, size=150)
        late = study.ask(60)  # outstanding, over several rounds
        ahead = study.verify()
        assert ahead.ok, str(ahead)
        assert ahead.released > 0
        if not isinstance(study._found.configuration.privacy, sv.LocalDP):
            study.tell(late.ids[::-1], np.full(60, 0.5))
        assert study.verify().ok
    with opened(tmp_path, restored=True) as study:
        restored = study.verify()
        assert restored.ok, str(restored)
        play(study, 350, size=100)
        after = study.verify()
        assert after.ok, str(after)
        assert after.released >= restored.released
        assert after.point_distance <= after.point_tolerance
    assert verify_stored(f"sqlite:///{tmp_path}/study.db", "a").ok


def test_a_finished_study_is_found_sound(tmp_path):
    with opened(tmp_path, **OPTIONS) as study:
        play(study, 1000)
        found = study.verify()
    assert found.ok, str(found)
    assert found.rounds == found.released + 1  # the last round is never released
    assert (found.blocks, found.tells) == (0, 0)
    assert str(found).startswith("Study 'a': ok\n")


@pytest.fixture(scope="module")
def sound(folders):
    """A study with closed rounds, an open one with losses, and actions that were not asked yet."""
    folder = next(folders)
    with opened(folder, **OPTIONS) as study:
        play(study, 400)
        study.tell(study.ask(20).ids[:7], np.full(7, LOSS))
        found = study.verify()
        assert found.ok
        assert found.tells > 0
        assert found.blocks > 0
    return folder


@pytest.fixture
def database(sound, tmp_path):
    """A copy of it to do damage to."""
    for file in Path(sound).iterdir():
        shutil.copy(file, tmp_path / file.name)
    connection = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    yield connection
    connection.close()


def faults(tmp_path):
    found = verify_stored(f"sqlite:///{tmp_path}/study.db", "a")
    assert found.ok == (not found.faults)
    assert str(LOSS) not in str(found)
    return " | ".join(found.faults)


BLOBS = [
    ("sottovoce_heads", "configuration", "the configuration"),
    ("sottovoce_heads", "coins", "public coins"),
    ("sottovoce_heads", "seal", "the counters"),
    ("sottovoce_heads", "key", "the key of ids"),
    ("sottovoce_epochs", "made", "epoch 0"),
    ("sottovoce_epochs", "learned", "what epoch 0 has learned"),
    ("sottovoce_rounds", "public", "round"),
    ("sottovoce_rounds", "released", "the release of round"),
    ("sottovoce_blocks", "draw", "the actions"),
    ("sottovoce_tells", "entry", "losses of round"),
]


@pytest.mark.parametrize(("table", "column", "words"), BLOBS, ids=lambda value: value)
def test_one_flipped_bit_anywhere_in_a_record_is_found(table, column, words, database, tmp_path):
    rows = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
    number, data = rows[len(rows) // 2]
    for place in (0, len(data) // 2, len(data) - 1):
        broken = bytearray(data)
        broken[place] ^= 4
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (bytes(broken), number))
        assert words in faults(tmp_path)
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (data, number))
    assert not faults(tmp_path)


COUNTERS = ["version", "structure", "generation", "asked", "told", "forgotten", "closed", "erased", "fence", "lease"]


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_changed_counter_breaks_the_seal(counter, database, tmp_path):
    database.execute(f"UPDATE sottovoce_heads SET {counter} = {counter} + 1")
    assert "the counters fail their checksum" in faults(tmp_path)


def reseal(database, **changes):
    """Change counters as somebody would who knows how: the checksum fits."""
    names = list(Counters.__slots__)
    values = database.execute(f"SELECT {', '.join(names)} FROM sottovoce_heads").fetchone()
    head = Counters(**dict(zip(names, values, strict=True)))
    for name, change in changes.items():
        setattr(head, name, getattr(head, name) + change)
    settings = "".join(f"{name} = ?, " for name in changes)
    new = [getattr(head, name) for name in changes]
    database.execute(f"UPDATE sottovoce_heads SET {settings}seal = ?", (*new, head.seal()))


@pytest.mark.parametrize(
    ("counter", "change", "words"),
    [
        ("told", 1, "losses are told"),
        ("told", -1, "losses are told"),
        ("forgotten", 1, "are forgotten"),
        ("forgotten", -1, "are forgotten"),
        ("closed", 1, "rounds are closed"),
        ("asked", 10_000, "events are asked"),
        ("asked", -400, "events are asked"),
        ("asked", -15, "were not asked"),
        ("erased", 1000, "are erased"),
    ],
)
def test_a_counter_that_is_wrong_is_found_though_its_checksum_fits(counter, change, words, database, tmp_path):
    reseal(database, **{counter: change})
    assert words in faults(tmp_path)


def rewrite(database, table, column, change, where="1"):
    """Change a record and give it a fitting checksum."""
    number, data = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {where} LIMIT 1").fetchone()
    record = unpack(data)
    change(record)
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (pack(record), number))


def put(**values):
    return lambda record: record.update(values)


def scale(name, factor):
    def change(record):
        record[name] = record[name] * factor

    return change


def shorten(*names):
    def change(record):
        for name in names:
            record[name] = record[name][:-1]

    return change


RELEASED, OPEN = "state = 'released'", "state = 'open'"
NONE = np.array([], dtype=np.int64)
NEWEST = "number = (SELECT max(number) FROM sottovoce_rounds)"
RECORDS = [
    ("sottovoce_rounds", "public", put(first=3), RELEASED, "begins with event 3"),
    ("sottovoce_rounds", "public", put(number=77), RELEASED, "holds round 77"),
    ("sottovoce_rounds", "public", put(size=1, opened=1), RELEASED, "begins with event"),
    ("sottovoce_rounds", "public", put(opened=1), RELEASED, "others follow it"),
    ("sottovoce_rounds", "public", lambda record: record.pop("last"), RELEASED, "is incomplete"),
    ("sottovoce_rounds", "public", put(opened=5000), NEWEST, "has 5000 of"),
    ("sottovoce_rounds", "public", put(epoch=4), RELEASED, "belongs to epoch 4"),
    ("sottovoce_rounds", "public", put(last=True), RELEASED, "the last of its epoch"),
    ("sottovoce_rounds", "public", scale("point", np.nan), RELEASED, "is not finite"),
    ("sottovoce_rounds", "public", scale("point", 1.01), RELEASED, "the point of round 0 does not follow"),
    ("sottovoce_rounds", "public", scale("point", 1.01), OPEN, "does not follow from the released rounds"),
    ("sottovoce_rounds", "released", scale("numbers", 2), RELEASED, "does not follow from the released rounds"),
    ("sottovoce_rounds", "released", scale("weights", 2), RELEASED, None),
    ("sottovoce_rounds", "released", shorten("numbers"), RELEASED, "numbers of the wrong kind"),
    ("sottovoce_rounds", "released", shorten("numbers", "weights"), RELEASED, "its probes need"),
    ("sottovoce_rounds", "released", put(number=5000), RELEASED, "is another round's"),
    ("sottovoce_rounds", "released", put(missing=np.array([5000])), RELEASED, "nobody wanted"),
    ("sottovoce_rounds", "released", put(missing=NONE), RELEASED, "losses are told"),
    ("sottovoce_rounds", "released", put(wanted=np.array([5000]), missing=NONE), RELEASED, "wants too much"),
    ("sottovoce_rounds", "released", lambda record: record.pop("numbers"), RELEASED, "says otherwise"),
    ("sottovoce_epochs", "learned", scale("learner.sum", 1.001), "1", "learner.sum does not follow"),
    ("sottovoce_epochs", "learned", scale("learner.energy", 1.001), "1", "learner.energy does not follow"),
    ("sottovoce_epochs", "learned", scale("learner.duals", 1.001), "1", "learner.duals does not follow"),
    ("sottovoce_epochs", "learned", put(**{"learner.observed": 1}), "1", "learner.observed does not follow"),
    ("sottovoce_epochs", "learned", scale("center", 1.1), "1", "begins at a point that nothing stored leads to"),
    ("sottovoce_epochs", "learned", put(first=7), "1", "is another epoch's"),
    ("sottovoce_epochs", "made", put(first=7), "1", "begins with event 7"),
    ("sottovoce_blocks", "draw", put(first=7), "1", "are not in order"),
    ("sottovoce_blocks", "draw", shorten("actions"), "1", "not all of its actions are stored"),
    ("sottovoce_heads", "configuration", scale("configuration.fingerprint", 2.0), "1", "answers otherwise"),
    ("sottovoce_heads", "configuration", put(**{"configuration.horizon": 100}), "1", "horizon=100"),
    ("sottovoce_heads", "coins", put(coins_half=["MT19937", 0, 0]), "1", "not the state of a generator"),
]


@pytest.mark.parametrize(("table", "column", "change", "where", "words"), RECORDS, ids=[str(one[4]) for one in RECORDS])
def test_a_record_that_is_wrong_is_found_though_its_checksum_fits(
    table, column, change, where, words, database, tmp_path
):
    rewrite(database, table, column, change, where)
    if column == "coins":
        reseal(database)
    found = faults(tmp_path)
    if words is None:  # frames try every direction forwards as often as backwards: their weights are 0
        assert not found
    else:
        assert words in found


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
    ("UPDATE sottovoce_tells SET round = 3", "it is released"),
    ("UPDATE sottovoce_tells SET round = 5000", "it is gone"),
    ("DELETE FROM sottovoce_tells", "losses are told"),
    ("INSERT INTO sottovoce_tells (study, round, entry) SELECT study, round, entry FROM sottovoce_tells", "two losses"),
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
    with opened(tmp_path, **{**OPTIONS, "horizon": None}) as study:
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
    database.execute("INSERT INTO sottovoce_tells (study, round, entry) VALUES (1, ?, ?)", (number, entry))
    assert "not asked, or not wanted" in faults(tmp_path)


def test_losses_that_nobody_wanted_are_found(tmp_path):
    with opened(tmp_path, **OPTIONS, losses="linear") as study:
        actions = study.ask(10)
        slot = int(np.flatnonzero(~actions.wants_loss)[0])
    entry = pack_losses(0, np.array([slot]), np.array([1]))
    connection = sqlite3.connect(tmp_path / "study.db")
    with connection:
        connection.execute("INSERT INTO sottovoce_tells (study, round, entry) VALUES (1, 0, ?)", (entry,))
    connection.close()
    assert "not asked, or not wanted" in faults(tmp_path)


def test_actions_of_a_closed_round_that_were_not_asked_must_not_be_lost(tmp_path):
    """Designs close a round once its last probe is told, with events left to play."""
    with opened(tmp_path, **OPTIONS, losses="linear") as study:
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


def test_a_broken_page_is_found(database, tmp_path):
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with open(tmp_path / "study.db", "r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 4096)
    assert "is damaged" in faults(tmp_path)


def test_the_wrong_domain_is_found_and_a_custom_one_must_be_passed(tmp_path):
    def corner(cost):
        return (np.asarray(cost) < 0).astype(float)

    domain = sv.domains.Custom(corner, 3)
    with opened(tmp_path, **{**OPTIONS, "domain": domain}) as study:
        play(study, 200)
        assert study.verify().ok
    assert "must be passed again" in faults(tmp_path)
    url = f"sqlite:///{tmp_path}/study.db"
    assert verify_stored(url, "a", domain=domain).ok
    assert "answers otherwise" in str(verify_stored(url, "a", domain=sv.domains.Simplex(3)))


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


def test_unknown_names_and_missing_files_are_errors(sound, tmp_path):
    with pytest.raises(sv.errors.StudyNotFound, match="'b'"):
        verify_stored(f"sqlite:///{sound}/study.db", "b")
    with pytest.raises(sv.errors.StorageError, match="there is no file"):
        verify_stored(f"sqlite:///{tmp_path}/none.db", "a")
    assert not (tmp_path / "none.db").exists()


def test_verifying_changes_nothing(sound):
    before = {file.name: file.read_bytes() for file in Path(sound).iterdir() if not file.name.endswith("-shm")}
    assert verify_stored(f"sqlite:///{sound}/study.db", "a").ok
    after = {file.name: file.read_bytes() for file in Path(sound).iterdir() if not file.name.endswith("-shm")}
    assert before == after


def test_a_closed_study_cannot_be_verified(tmp_path):
    study = opened(tmp_path, **OPTIONS)
    study.close()
    with pytest.raises(sv.errors.StorageError, match="closed"):
        verify(study)


def test_faults_never_hold_a_loss(database, tmp_path):
    """The integers of stored losses are told apart from everything else by their value."""
    (entry,) = database.execute("SELECT entry FROM sottovoce_tells").fetchone()
    (number,) = database.execute("SELECT round FROM sottovoce_tells").fetchone()
    _, integers = unpack_losses(number, entry)
    secrets = {str(one) for one in integers.tolist() if one > 10**4}
    assert secrets
    for statement, _ in STATEMENTS:
        database.execute("BEGIN")
        database.execute(statement)
        database.execute("COMMIT")
    found = str(verify_stored(f"sqlite:///{tmp_path}/study.db", "a"))
    assert not any(one in found for one in secrets)


def test_on_postgresql(postgres_url):
    with sv.Study.open(postgres_url, name="a", **OPTIONS) as study:
        play(study, 300, size=100)
        study.tell(study.ask(20).ids[:7], np.full(7, LOSS))
        found = study.verify()
        assert found.ok, str(found)
        assert len(study.export()["rounds"]) == found.released > 0
        with study._session.storage.transaction() as connection:
            connection.exec_driver_sql("UPDATE sottovoce_tells SET round = 3")
    found = verify_stored(postgres_url, "a")
    assert "it is released" in str(found)
    assert str(LOSS) not in str(found)


def test_verifying_between_the_calls_of_other_processes_sees_a_whole_study(tmp_path):
    """Rows are read at one moment: while another thread's study changes them, no fault is found."""
    url = f"sqlite:///{tmp_path}/study.db"
    with opened(tmp_path, **{**OPTIONS, "horizon": 10**6}) as study:
        stop = threading.Event()

        def go_on():
            while not stop.is_set():
                play(study, 100)

        other = threading.Thread(target=go_on)
        other.start()
        try:
            found = [verify_stored(url, "a") for _ in range(10)]
        finally:
            stop.set()
            other.join()
    assert not [str(one) for one in found if not one.ok]
