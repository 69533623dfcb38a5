"""`verify` finds every record that was damaged, or changed by somebody who knows how to compute a checksum."""

import numpy as np
import pytest
from damaging import NEWEST, OPEN, RELEASED, faults, put, reseal, rewrite, scale, shorten

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
    ("sottovoce_cells", "losses", "losses of round"),
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


COUNTERS = ["version", "structure", "generation", "asked", "returned", "told", "forgotten", "closed", "erased"]


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_changed_counter_breaks_the_seal(counter, database, tmp_path):
    database.execute(f"UPDATE sottovoce_heads SET {counter} = {counter} + 1")
    assert "the counters fail their checksum" in faults(tmp_path)


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
        ("asked", -15, "do not fit together"),
        ("erased", 1000, "are erased"),
    ],
)
def test_a_counter_that_is_wrong_is_found_though_its_checksum_fits(counter, change, words, database, tmp_path):
    reseal(database, **{counter: change})
    assert words in faults(tmp_path)


NONE = np.array([], dtype=np.int64)
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
    ("sottovoce_blocks", "draw", shorten("actions"), "1", "are not those of round"),
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


def test_a_broken_page_is_found(database, tmp_path):
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with open(tmp_path / "study.db", "r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 4096)
    assert "is damaged" in faults(tmp_path)
