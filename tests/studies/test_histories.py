"""`verify` invents nothing: no honest history, however its losses came and its processes died, shows a fault."""

import pytest
from histories import CASES, wander
from killing import tally
from study_tools import SOAK, execute, raw

import sottovoce as sv
from sottovoce._records import pack, unpack
from sottovoce.studies.verifying.verification import verify_stored

SEEDS = range(120 if SOAK else 2)
LOOKS = (15, 45) if SOAK else (8, 20)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("case", CASES)
def test_an_honest_history_has_no_fault_at_any_moment(case, shelf):
    released = 0
    for seed in SEEDS:
        _, found = wander(shelf, case, seed, LOOKS)
        assert not [str(one) for one in found if not one.ok], f"seed {seed}"
        released += found[-1].released
        tally("a random history", "sqlite", "no fault invented")
    assert released > len(SEEDS)


def late_losses(url, rounds, late):
    """Play rounds whose losses come `late` rounds late, in a box: points are its corners, and come again and again."""
    domain = sv.domains.Box([0.0, 0.0], [1.0, 1.0])
    arguments = {"domain": domain, "horizon": 10_000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "seed": 1}
    arguments |= {"exploration": "frames", "batch_size": 2, "step": 9.0, "noise": sv.SimulatedNoise(3)}
    waiting = []
    with sv.Study.open(url, name="study", **arguments) as study:
        for _ in range(rounds):
            waiting.append(study.ask_round().ids)
            if len(waiting) > late:
                study.tell(waiting.pop(0), [0.5, 0.5])
        return study.verify()


@pytest.mark.parametrize("late", [0, 3, 12])
def test_points_that_come_again_are_no_fault(late, sqlite_url):
    found = late_losses(sqlite_url, 60, late)
    assert found.ok, str(found)
    assert found.released == 60 - late


def as_of_old(url):
    """Take out of a study what studies of old do not say: after how many released rounds each round began."""
    database = raw(url)
    newer = ("rounds", "public", "learned"), ("epochs", "made", "after"), ("epochs", "learned", "chain")
    for table, column, name in (*newer, ("epochs", "learned", "chain_since")):
        for row, data in database.execute(f"SELECT rowid, {column} FROM sottovoce_{table}").fetchall():
            record = unpack(data)
            record.pop(name)
            database.execute(f"UPDATE sottovoce_{table} SET {column} = ? WHERE rowid = ?", (pack(record), row))
    database.close()


@pytest.mark.parametrize("late", [0, 3, 12])
def test_nor_are_they_in_a_study_of_old(late, sqlite_url):
    late_losses(sqlite_url, 60, late)
    as_of_old(sqlite_url)
    found = verify_stored(sqlite_url, "study")
    assert found.ok, str(found)
    assert found.released == 60 - late
    with sv.Study.open(sqlite_url, name="study", noise=sv.SimulatedNoise(4)) as study:
        for _ in range(5):
            study.ask_round()
        assert study.verify().ok
    execute(sqlite_url, "DELETE FROM sottovoce_epochs")
    assert not verify_stored(sqlite_url, "study").ok


@pytest.mark.parametrize("case", ["corners", "designs, unknown horizon", "an oracle", "unknown horizon"])
def test_histories_of_old_have_no_fault(case, shelf):
    for seed in SEEDS:
        history, _ = wander(shelf, case, f"old {seed}", LOOKS[-1:])
        as_of_old(history.url)
        found = verify_stored(history.url, "study")
        assert found.ok, f"seed {seed}: {found}"


def test_a_round_cannot_have_learned_from_what_was_not_released(sqlite_url):
    late_losses(sqlite_url, 20, 3)
    database = raw(sqlite_url)
    (data,) = database.execute("SELECT public FROM sottovoce_rounds WHERE number = 10").fetchone()
    record = unpack(data)
    for learned in (record["learned"] - 1, record["learned"] + 2, 11, -1):
        changed = (pack(record | {"learned": learned}),)
        database.execute("UPDATE sottovoce_rounds SET public = ? WHERE number = 10", changed)
        found = verify_stored(sqlite_url, "study")
        assert any("which cannot be" in fault or "does not follow" in fault for fault in found.faults), learned
    database.close()
