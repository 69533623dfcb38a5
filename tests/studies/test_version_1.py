"""A storage of schema version 1, as the code of that version wrote it, is led up with nothing lost."""

import json
from pathlib import Path

import numpy as np
import pytest
from killing import Child, arm, outstanding
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.pool import NullPool
from study_tools import Look, execute, losses_of, sums

import sottovoce as sv
from sottovoce._records import unpack
from sottovoce.errors import StudyDamaged
from sottovoce.studies import verify_stored
from sottovoce.studies.database import migrations
from sottovoce.studies.database.storage import Storage

CONTENTS = json.loads((Path(__file__).parent / "version_1.json").read_text())
NAMES = ("spring", "autumn")


@pytest.fixture
def old(url):
    """Return the URL of a storage that holds the two studies of version 1."""
    return put_back(url)


def put_back(url):
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in CONTENTS["tables"][engine.dialect.name]:
            connection.execute(text(statement))
        for table, rows in CONTENTS["rows"].items():
            for row in rows:
                values = {
                    name: bytes.fromhex(one["hex"]) if isinstance(one, dict) else one for name, one in row.items()
                }
                names = [f'"{name}"' for name in row]
                places = [f":{name}" for name in row]
                connection.execute(
                    text(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(places)})"), values
                )
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT setval('sottovoce_heads_id_seq', 2)"))
            connection.execute(text("SELECT setval('sottovoce_tells_number_seq', max(number)) FROM sottovoce_tells"))
    engine.dispose()
    return url


@pytest.fixture
def fresh_url(url, tmp_path):
    """Return the URL of another storage of the same kind."""
    if url.startswith("sqlite"):
        return f"sqlite:///{tmp_path / 'new.db'}"
    execute(url, "CREATE SCHEMA fresh_one")
    return url.partition("%3D")[0] + "%3Dfresh_one"


def version_and_columns(url):
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        version = connection.execute(text("SELECT version FROM sottovoce_schema")).scalar_one()
        tables = {
            table: {one["name"]: (repr(one["type"]), one["nullable"]) for one in inspect(connection).get_columns(table)}
            for table in inspect(connection).get_table_names()
        }
    engine.dispose()
    return version, tables


def told(url, name):
    return [[*where, value] for where, value in sorted(Look(url, name).told().items())]


def test_every_loss_is_still_there_and_verify_finds_nothing(old, opened):
    opened(old, "spring").close()
    assert version_and_columns(old)[0] == migrations.VERSION
    for name in NAMES:
        assert told(old, name) == CONTENTS["told"][name]
        status = opened(old, name).status().to_dict()
        assert {key: status[key] for key in CONTENTS["then"][name]["status"]} == CONTENTS["then"][name]["status"]
        found = verify_stored(old, name)
        assert found.ok, str(found)


def test_its_trajectory_goes_on_as_before(old, opened):
    study, expected = opened(old, "spring"), CONTENTS["then"]["spring"]
    for turn in range(4):  # as in make_version_1.py
        block = study.ask(15)
        assert block.x.tolist() == expected["x"][turn]
        if turn == 1:
            waiting = outstanding(study)[::-1]
            study.tell(waiting, losses_of(waiting))
        elif turn > 1:
            study.tell(block.ids, losses_of(block.ids))
        assert np.allclose(study.point, expected["points"][turn], rtol=0, atol=1e-12)
    assert study.round == expected["rounds"]
    assert study.verify().ok
    other, expected = opened(old, "autumn"), CONTENTS["then"]["autumn"]
    assert other.ask(15).x.tolist() == expected["x"][0]
    assert other.round == expected["rounds"]


def test_epochs_to_come_are_planned_as_the_first_one_was(old, opened):
    """It was made with plan="auto" and a size of rounds; what "auto" takes today has none."""
    study = opened(old, "autumn")
    while study.status().asked < 600:
        ids = study.ask(100).ids
        study.tell(ids, losses_of(ids))
    assert [unpack(row.made)["plan"]["exploration"] for row in Look(old, "autumn").epochs] == ["frames", "frames"]
    assert study.verify().ok


def test_it_waits_as_it_was_promised_to(old, opened):
    """No patience, and the deadline that it was made with; full rounds count from now on, should that change."""
    for name, deadline in (("spring", None), ("autumn", 1e10)):
        study = opened(old, name, deadline=deadline, patience=None)
        made = study.export()["configuration"]
        assert (made["patience"], made["deadline"]) == (None, deadline)
        full = [row for row in Look(old, name).rounds if row.state == "open" and row.full_at is not None]
        assert full
        assert all(row.full_after == study.status().asked for row in full)


def test_it_can_be_given_patience_which_counts_from_then_on(old, opened):
    study = opened(old, "spring")
    before = study.status()
    study.change(patience=3)
    for _ in range(3):
        study.ask()
        assert study.round == before.round
    study.ask()
    assert study.round == before.round + 2  # both that were full
    assert study.verify().ok


def test_a_storage_led_up_has_the_tables_of_a_new_one(old, opened, fresh_url):
    opened(old, "spring")
    opened(fresh_url, **sums())
    assert version_and_columns(old) == version_and_columns(fresh_url)


def test_looking_at_an_old_storage_leaves_it_as_it_is(old):
    before = version_and_columns(old)
    assert before[0] == 1
    for name in NAMES:
        found = verify_stored(old, name)
        assert found.ok, str(found)
        assert found.cells > 0
    assert version_and_columns(old) == before


@pytest.mark.parametrize("damage", ["told = told + 1", "configuration = seal", "seal = coins"])
def test_what_was_damaged_before_stays_damaged_and_others_do_not_suffer(damage, old, opened):
    execute(old, f"UPDATE sottovoce_heads SET {damage} WHERE name = 'spring'")
    with pytest.raises(StudyDamaged):
        opened(old, "spring")
    assert not verify_stored(old, "spring").ok
    assert opened(old, "autumn").status().told == 20
    assert verify_stored(old, "autumn").ok


@pytest.mark.timeout(900)
@pytest.mark.parametrize("late", [False, True])
def test_a_process_killed_in_the_midst_leaves_one_version_or_the_other(late, shelf):
    sv.Study.open(put_back(f"sqlite:///{shelf / 'warm.db'}"), name="spring").close()
    versions = []
    for after in range(0, 1000, 9):
        url = put_back(f"sqlite:///{shelf / f'{after}.db'}")
        _killed_after(url, after, late)
        versions.append(_whole(url))
        if versions[-1] > 1:
            break
    assert len(versions) > 5
    assert set(versions) == {1, migrations.VERSION}
    assert versions == sorted(versions)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("after", [5, 8, 11])
def test_nor_does_it_on_a_server(after, postgres_url):
    put_back(postgres_url)
    _killed_after(postgres_url, after, late=True)
    _whole(postgres_url)


def _killed_after(url, after, late):
    def doomed(report):
        arm("statement", after, late)
        sv.Study.open(url, name="spring").close()

    Child(doomed).finish()


def _whole(url):
    """Return the version that a storage is left with; its tables must be of that version, and it must be in order."""
    version, tables = version_and_columns(url)
    assert ("patience" in tables["sottovoce_heads"]) == ("full_after" in tables["sottovoce_rounds"]) == (version > 1)
    for name in NAMES:
        with sv.Study.open(url, name=name) as study:
            assert study.verify().ok
        assert told(url, name) == CONTENTS["told"][name]
    return version


def test_processes_that_lead_it_up_at_the_same_time_agree(old):
    def work(report):
        with sv.Study.open(old, name="spring") as study:
            report("told", study.status().told)

    children = [Child(work) for _ in range(4)]
    assert [child.finish()[0] for child in children] == [[["told", 66]]] * 4
    assert version_and_columns(old)[0] == migrations.VERSION


def test_a_process_of_the_old_version_does_not_go_on(old, opened):
    """It does not find what it needs, rather than overlook a patience, or losses in their cells."""
    storage = Storage(old)
    opened(old, "spring").ask()
    with storage.transaction() as connection:
        row = connection.execute(text("SELECT * FROM sottovoce_heads WHERE name = 'spring'")).one()
    storage.close()
    assert not hasattr(row, "fence")  # which it would ask for
