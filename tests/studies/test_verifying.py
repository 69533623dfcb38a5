"""`verify` finds nothing where nothing is wrong, changes nothing, names every fault, and never a loss.

What it finds of every single column and field that is changed, with fitting checksums, is in `test_mutations.py`.
"""

import sqlite3
import threading
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from small_studies import believing, curved

import sottovoce as sv
from sampling import every
from sottovoce.models import gaussian
from sottovoce.studies import verify_stored

OPTIONS = {
    "domain": sv.domains.Hypersimplex(6, 2),
    "horizon": 1000,
    "loss_range": (0.0, 1.0),
    "privacy": sv.PureDP(1.0),
    "plan": "worst-case",
    "seed": 1,
}
LOSS = 0.37109375  # exact in binary, and nowhere else on purpose


def play(study, events, size=50, leave_out=3):
    """Tell all losses but a few, which are forgotten."""
    for start in range(0, events, size):
        actions = study.ask(min(size, events - start))
        ids, values = actions.ids, np.linspace(0.1, 0.9, len(actions))
        study.tell(ids[leave_out:], values[leave_out:])
        study.forget(ids[:leave_out])


def open_in(folder, name="a", **options):
    return sv.Study.open(f"sqlite:///{folder}/study.db", name=name, **options)


def faults(tmp_path):
    found = verify_stored(f"sqlite:///{tmp_path}/study.db", "a")
    assert found.ok == (not found.faults)
    assert str(LOSS) not in str(found)
    return " | ".join(found.faults)


@pytest.fixture
def sound(shelf):
    """A folder with a study that has closed rounds, and an open one with losses."""
    with open_in(shelf, **OPTIONS) as study:
        play(study, 400)
        study.tell(study.ask(20).ids[:7], np.full(7, LOSS))
        found = study.verify()
        assert found.ok
        assert found.chunks > 0
    return shelf


@pytest.fixture
def database(sound):
    """A connection to do damage to it."""
    with closing(sqlite3.connect(sound / "study.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        yield connection


# ---------------------------------------------------------------------- what is wrong

BLOBS = [
    ("sottovoce_books", "made", "the configuration"),
    ("sottovoce_books", "seal", "the counters"),
    ("sottovoce_books", "writers", "the counters"),
    ("sottovoce_books", "secret", "the key of ids"),
    ("sottovoce_streams", "believed", "what is believed"),
    ("sottovoce_streams", "chain", "stream 0 says chain"),
    ("sottovoce_rounds", "public", "round"),
    ("sottovoce_releases", "released", "the release of round"),
    ("sottovoce_releases", "chain", "the chain is broken"),
    ("sottovoce_chunks", "slots", "losses of round"),
]


@every(("table", "column", "words"), BLOBS)
def test_one_flipped_bit_anywhere_in_a_record_is_found(table, column, words, database, sound):
    rows = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
    number, data = rows[len(rows) // 2]
    for place in (0, len(data) // 2, len(data) - 1):
        broken = bytearray(data)
        broken[place] ^= 4
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (bytes(broken), number))
        assert words in faults(sound)
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (data, number))
    assert not faults(sound)


def test_a_broken_page_is_found(database, sound):
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with open(sound / "study.db", "r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 4096)
    assert "is damaged" in faults(sound)


def test_every_fault_is_named_and_a_file_that_others_can_read_is_noted(database, sound):
    database.execute("UPDATE sottovoce_rounds SET public = x'00'")
    (sound / "study.db").chmod(0o644)
    found = verify_stored(f"sqlite:///{sound}/study.db", "a")
    (rounds,) = database.execute("SELECT count(*) FROM sottovoce_rounds").fetchone()
    assert sum("too short" in fault for fault in found.faults) == rounds
    assert all(fault in str(found) for fault in found.faults[:20])
    assert "... and 10 more" in str(replace(found, faults=found.faults[:1] * 30))
    assert any("chmod 600" in note for note in found.notes)
    assert found.to_dict()["ok"] is False


# ---------------------------------------------------------------------- what is not


def test_the_wrong_domain_is_found_and_a_custom_one_must_be_passed(shelf):
    def corner(cost):
        return (np.asarray(cost) < 0).astype(float)

    domain = sv.domains.Custom(corner, 3)
    with open_in(shelf, **{**OPTIONS, "domain": domain}) as study:
        play(study, 200)
        assert study.verify().ok
    assert "must be passed again" in faults(shelf)
    url = f"sqlite:///{shelf}/study.db"
    assert verify_stored(url, "a", domain=domain).ok
    assert "answers otherwise" in str(verify_stored(url, "a", domain=sv.domains.Simplex(3)))


def test_verifying_changes_nothing_and_unknown_names_and_missing_files_are_errors(sound):
    def files():
        return {file.name: file.read_bytes() for file in sound.iterdir() if not file.name.endswith("-shm")}

    before = files()
    assert verify_stored(f"sqlite:///{sound}/study.db", "a").ok
    with pytest.raises(sv.errors.StudyNotFound, match="'b'"):
        verify_stored(f"sqlite:///{sound}/study.db", "b")
    with pytest.raises(sv.errors.StorageError, match="there is no file"):
        verify_stored(f"sqlite:///{sound}/none.db", "a")
    assert files() == before


def test_verifying_between_the_calls_of_other_processes_sees_a_whole_study(url):
    """Rows are read at one moment: while another thread's study changes them, no fault is found."""
    with sv.Study.open(url, name="a", **{**OPTIONS, "horizon": 10**6, "patience": 150, "batch_size": 40}) as study:
        stop = threading.Event()

        def go_on():
            study._store.ahead = lambda size: 7
            while not stop.is_set():
                play(study, 100)
                study.ask(30)  # and nobody will tell them
                study._store.close()  # gives back what was leased ahead

        other = threading.Thread(target=go_on)
        other.start()
        try:
            found = [verify_stored(url, "a") for _ in range(10)]
        finally:
            stop.set()
            other.join()
    assert not [str(one) for one in found if not one.ok]


WITHIN_A_PASS = curved(plan="auto", privacy=sv.PureDP(1.0))


@every(("horizon", "options"), [(1000, {}), (22, WITHIN_A_PASS)])
def test_a_finished_study_is_found_sound(horizon, options, shelf):
    """Also if its last round, of ten events and three decisions, ends within a pass: the rest is on no record."""
    with open_in(shelf, f"of {horizon}", **{**OPTIONS, **options, "horizon": horizon}) as study:
        play(study, horizon)
        found = study.verify()
    assert found.ok, str(found)
    assert found.rounds == found.released + 1 > 1  # the last round is never released
    assert found.chunks == 0
    assert found.point_distance <= found.point_tolerance
    assert str(found).startswith(f"Study 'of {horizon}': ok\n")


def other_machine(seed):
    """Return a solver of linear equations that rounds in its own way."""
    solve, rounding = gaussian.dpotrs, np.random.default_rng(seed)

    def other(*arguments, **options):
        right, wrong = solve(*arguments, **options)
        return right * (1 + 1e-15 * rounding.standard_normal(right.shape)), wrong

    return other


def test_which_of_equal_decisions_leads_may_differ_between_machines(shelf, monkeypatch):
    """Decisions that nobody has played yet may have equal means; rounding says which is the best, here or elsewhere."""
    options, vertices, ties = believing(domain=sv.domains.Simplex(10), probes=2, least_events=4), np.eye(10), 0
    for seed in range(6):
        with open_in(shelf, str(seed), **options, seed=seed) as study:
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
            elsewhere.setattr(gaussian, "dpotrs", other_machine(seed))
            found = verify_stored(f"sqlite:///{shelf}/study.db", str(seed % 6))
        assert found.ok, str(found)
