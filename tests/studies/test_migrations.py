"""The schema has a version: older ones climb a ladder, newer ones are refused, a failing step leaves no trace."""

import pytest
from sqlalchemy import text
from study_tools import Look, execute, losses_of, sums

from sottovoce.errors import StorageError
from sottovoce.studies.database import migrations, tables
from sottovoce.studies.database.migrations import MIGRATIONS, VERSION, migrate, version_of
from sottovoce.studies.database.storage import Storage


def more(name):
    return lambda connection: connection.execute(
        text(f"ALTER TABLE sottovoce_heads ADD COLUMN {name} INTEGER DEFAULT 7")
    )


@pytest.fixture
def stored(opened, url):
    study = opened(url, **sums())
    ids = study.ask(17).ids
    study.tell(ids, losses_of(ids))
    study.close()
    storage = Storage(url)
    yield storage
    storage.close()


def version(storage):
    with storage.transaction() as connection:
        return version_of(connection)


def test_a_new_storage_has_the_newest_version(stored):
    assert version(stored) == VERSION == 1 + len(MIGRATIONS)


def test_an_older_version_is_led_up_in_one_transaction(stored, url, opened):
    ladder = [*MIGRATIONS, more("one"), more("two")]
    with stored.transaction() as connection:
        migrate(connection, ladder)
    assert version(stored) == 1 + len(ladder)
    with stored.transaction() as connection:
        row = connection.execute(text("SELECT one, two, told FROM sottovoce_heads")).one()
        assert tuple(row) == (7, 7, 12)
        migrate(connection, ladder)  # nothing is left to do
    with pytest.raises(
        StorageError, match=f"schema version {1 + len(ladder)}, and this sottovoce knows up to {VERSION}"
    ):
        opened(url)


def test_a_failing_step_changes_nothing(stored, url, opened):
    def broken(connection):
        connection.execute(text("UPDATE sottovoce_heads SET told = 0"))
        raise RuntimeError("half-way")

    before = Look(url).head
    with pytest.raises(RuntimeError, match="half-way"), stored.transaction() as connection:
        migrate(connection, [*MIGRATIONS, more("one"), broken])
    assert version(stored) == VERSION
    assert tuple(Look(url).head) == tuple(before)
    with stored.transaction() as connection:
        columns = connection.execute(text("SELECT * FROM sottovoce_heads")).keys()
    assert "one" not in columns
    assert opened(url).status().told == 17


def test_opening_climbs_the_ladder(stored, url, opened, monkeypatch):
    stored.close()
    steps = (*MIGRATIONS, more("one"))
    monkeypatch.setattr(migrations.migrate, "__defaults__", (steps,))
    assert opened(url).status().told == 17
    storage = Storage(url)
    assert version(storage) == VERSION + 1
    storage.close()


def test_a_newer_version_is_refused_and_left_alone(stored, url, opened):
    stored.close()
    execute(url, f"UPDATE {tables.schema.name} SET version = 99")
    before = Look(url).head
    with pytest.raises(StorageError, match=r"schema version 99, .*nothing was changed"):
        opened(url)
    with pytest.raises(StorageError, match="schema version 99"):
        opened(url, "another", **sums())
    assert tuple(Look(url).head) == tuple(before)
    execute(url, f"UPDATE {tables.schema.name} SET version = {VERSION}")
    assert opened(url).status().told == 17
