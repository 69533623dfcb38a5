"""`verify` finds every record that was damaged, or changed by somebody who knows how to compute a checksum."""

import numpy as np
import pytest
from damaging import OPEN, RELEASED, add, faults, put, reseal, rewrite, scale, shorten

from sampling import every

BLOBS = [
    ("sottovoce_books", "made", "the configuration"),
    ("sottovoce_books", "seal", "the counters"),
    ("sottovoce_books", "writers", "the counters"),
    ("sottovoce_books", "secret", "the key of ids"),
    ("sottovoce_streams", "believed", "what is believed"),
    ("sottovoce_streams", "chain", "not those that their checksum was made of"),
    ("sottovoce_rounds", "public", "round"),
    ("sottovoce_releases", "released", "the release of round"),
    ("sottovoce_releases", "chain", "the chain is broken"),
    ("sottovoce_chunks", "slots", "losses of round"),
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


COUNTERS = ["incarnation", "horizon", "clock", "next_place", "version", "erased", "patience", "deadline"]


@every("counter", COUNTERS)
def test_a_changed_counter_breaks_the_seal(counter, database, tmp_path):
    database.execute(f"UPDATE sottovoce_books SET {counter} = coalesce({counter}, 0) + 1")
    assert "the counters fail their checksum" in faults(tmp_path)


@pytest.mark.parametrize(
    ("counter", "change", "words"),
    [
        ("clock", 1, "events are asked"),
        ("clock", 10_000, "horizon=1000"),
        ("clock", -400, "events are asked"),
        ("horizon", 1, "was made with horizon=1000"),
        ("next_place", 256, "places are left out"),
        ("next_place", -256, "the next round would begin"),
        ("next_place", 1, "the next round would begin"),
        ("erased", 1000, "are erased"),
        ("incarnation", -1, "its incarnation is none"),
    ],
)
def test_a_counter_that_is_wrong_is_found_though_its_checksum_fits(counter, change, words, database, tmp_path):
    reseal(database, **{counter: change})
    assert words in faults(tmp_path)


NONE = np.array([], dtype=np.int64)
ROUNDS, RELEASES, STREAMS = (
    ("sottovoce_rounds", "public"),
    ("sottovoce_releases", "released"),
    ("sottovoce_streams", "believed"),
)
MADE, LEARNED, ONE = ("sottovoce_books", "made"), "epoch0.learned.", "round = 3"
RECORDS = [
    (ROUNDS, put(before=3), RELEASED, "is of an epoch that is not stored"),
    (ROUNDS, put(number=77), RELEASED, "round 0 says number=77, which cannot be"),
    (ROUNDS, put(after=7), RELEASED, "which cannot be"),
    (ROUNDS, put(last=True), RELEASED, "the last of its epoch"),
    (ROUNDS, lambda record: record.pop("last"), RELEASED, "cannot be learned from again"),
    (ROUNDS, put(learned=5), RELEASED, "which cannot be"),
    (ROUNDS, scale("point", np.nan), RELEASED, "is not finite"),
    (ROUNDS, scale("point", 1.01), RELEASED, "the point of round 0 does not follow"),
    (ROUNDS, scale("point", 1.01), OPEN, "does not follow from the released rounds"),
    (ROUNDS, scale("exploration.frame", 1.01), RELEASED, "has probes that its plan does not draw"),
    (RELEASES, scale("numbers", 2), ONE, "does not follow from the released rounds"),
    (RELEASES, add("numbers", [[0], [1]]), ONE, "has weights that its actions do not have"),
    (RELEASES, shorten("numbers"), ONE, "its probes need"),
    (RELEASES, put(missing=np.array([5000])), ONE, "nobody wanted"),
    (RELEASES, put(missing=NONE), ONE, "losses of round 3 are missing"),
    (RELEASES, put(unwanted=np.array([0])), ONE, "losses of round 3 are told"),
    (RELEASES, lambda record: record.pop("numbers"), ONE, "says otherwise"),
    (RELEASES, lambda record: record.pop("missing"), ONE, "the releases cannot be read"),
    (STREAMS, scale(f"{LEARNED}learner.sum", 1.001), "1", "learner.sum does not follow"),
    (STREAMS, scale(f"{LEARNED}learner.energy", 1.001), "1", "learner.energy does not follow"),
    (STREAMS, scale(f"{LEARNED}learner.duals", 1.001), "1", "learner.duals does not follow"),
    (STREAMS, scale(f"{LEARNED}learner.point", 1.01), "1", "learner.point does not follow"),
    (STREAMS, put(**{f"{LEARNED}learner.observed": 1}), "1", "learner.observed does not follow"),
    (STREAMS, scale(f"{LEARNED}center", 1.1), "1", "begins at a point that nothing stored leads to"),
    (STREAMS, add(f"{LEARNED}opened", 1), "1", "counts"),
    (STREAMS, add(f"{LEARNED}passed", 1), "1", "counts"),
    (STREAMS, put(**{"epoch0.earlier": 7}), "1", "in another's place"),
    (STREAMS, put(**{"epoch0.before": 7}), "1", "of epochs that there are not"),
    (STREAMS, put(learned=1), "1", "how new a belief is"),
    (STREAMS, add("begun", 1), "1", "rounds had begun"),
    (STREAMS, add("passed", 1), "1", "passed of what is believed does not follow"),
    (STREAMS, put(planned=[]), "1", "cannot be read"),
    (STREAMS, lambda record: record.pop("played"), "1", "is incomplete"),
    (MADE, scale("configuration.fingerprint", 2.0), "1", "answers otherwise"),
    (MADE, put(**{"configuration.horizon": 100}), "1", "was made with horizon=100"),
    (MADE, put(seed=2), "1", "do not follow from the seed"),
    (MADE, put(identity="x"), "1", "is not a study"),
]


@pytest.mark.parametrize(
    ("place", "change", "where", "words"), RECORDS, ids=[f"{one[0][0]} {one[3]}" for one in RECORDS]
)
def test_a_record_that_is_wrong_is_found_though_its_checksum_fits(place, change, where, words, database, tmp_path):
    rewrite(database, *place, change, where)
    assert words in faults(tmp_path)


def test_a_broken_page_is_found(database, tmp_path):
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with open(tmp_path / "study.db", "r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 4096)
    assert "is damaged" in faults(tmp_path)
