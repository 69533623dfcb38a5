"""What others may have put into a storage, and what callers may pass for a name: refused in words, nothing kept."""

import sqlite3

import pytest
from study_tools import losses_of, path_of, sums, watch

from sampling import every
from sottovoce.studies import verify_stored


def test_tables_of_others_are_their_business(opened, sqlite_url):
    with sqlite3.connect(path_of(sqlite_url)) as connection:
        connection.executescript(
            "CREATE TABLE notes (text); CREATE TABLE log (text);"
            "CREATE TRIGGER t AFTER INSERT ON notes BEGIN INSERT INTO log VALUES (NEW.text); END;"
        )
    connection.close()
    assert len(opened(sqlite_url, **sums()).ask(3)) == 3


@every("name", ["", "x" * 201, "\ud800", "a\x00b", "two\nlines", "a\x1b[31m", "\u2028", 7, None, b"x"])
def test_names_that_cannot_be_stored_or_shown_are_refused(name, opened, url):
    with pytest.raises(ValueError, match="name must be 1 to 200 letters without") as refused:
        opened(url, name, **sums())
    str(refused.value).encode("ascii")
    assert len(str(refused.value)) < 400
    with pytest.raises(ValueError, match="name must be 1 to 200 letters"):
        verify_stored(url, name)


@every("name", ["x" * 200, "été 🎉", "a'b\"c;--", "%s {} \\", "  "])
def test_names_that_are_unusual_work(name, opened, url):
    opened(url, name, **sums()).ask(2)
    assert opened(url, name).status().asked == 2


def longest_statement(opened, url, name, rounds):
    """Return how long the longest statement was while so many rounds were open, read elsewhere, and closed."""
    lengths = []
    with pytest.MonkeyPatch.context() as patch:
        watch(lambda statement: lengths.append(len(statement)), put=patch.setattr)
        study = opened(url, name, patience=None, **sums())
        ids = study.ask(12 * rounds).ids
        study.tell(ids[1:], losses_of(ids[1:]))  # the first round waits, and all after it
        assert opened(url, name).status().open_rounds == rounds
        study.tell(ids[0], losses_of(ids[:1])[0])
        assert study.status().round == rounds
    return max(lengths)


def test_no_statement_has_a_parameter_for_each_round(opened, url):
    """Databases take some tens of thousands in a statement, and there may be any number of open rounds."""
    assert longest_statement(opened, url, "few", 2) == longest_statement(opened, url, "many", 40)
