"""The tables of a storage: made once, by whoever comes first, in one version; those of any other are left alone."""

import contextlib

import pytest

from children import at_once
from sottovoce.errors import StorageError
from sottovoce.rounds.stores.sql.books import create_book, find_book, prepare
from sottovoce.rounds.stores.sql.database import open_database
from sottovoce.rounds.stores.sql.schema import PREFIX, TABLES, VERSION


@pytest.fixture
def base(url):
    opened = open_database(url)
    prepare(opened)
    yield opened
    opened.close()


def test_a_storage_says_which_version_its_tables_have(base):
    assert base.run("SELECT version FROM sottovoce_schema") == [(VERSION,)] == [(1,)]
    assert base.tables() >= {PREFIX + one for one in TABLES}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE sottovoce_schema SET version = 2", "schema 2, not 1"),
        ("DELETE FROM sottovoce_schema", "schema unknown, not 1"),
        ("INSERT INTO sottovoce_schema VALUES (7)", "another version"),
        ("DROP TABLE sottovoce_chunks", "another version"),
    ],
)
def test_tables_of_another_version_are_refused_and_left_alone(base, url, change, words):
    create_book(base, "spring", "study", {}, 100)
    base.transaction(lambda: base.run(change))
    tables, versions = base.tables(), base.run("SELECT version FROM sottovoce_schema")
    other = open_database(url)
    with pytest.raises(StorageError, match=words) as refused:
        prepare(other)
    assert "nothing was changed" in str(refused.value)
    other.close()
    assert (base.tables(), base.run("SELECT version FROM sottovoce_schema")) == (tables, versions)
    assert find_book(base, "spring").kind == "study"


def test_those_who_start_together_make_one_set_of_tables(url):
    def start(_):
        base = open_database(url)
        prepare(base)
        found = base.run("SELECT version FROM sottovoce_schema")
        base.close()
        return found

    assert at_once(start, 6) == [[(VERSION,)]] * 6


def test_a_text_is_never_taken_for_its_beginning(base):
    create_book(base, "spring", "study", {}, 100)
    with contextlib.suppress(ValueError):  # PostgreSQL stores no text with NUL in it
        assert find_book(base, "spring\0again") is None
