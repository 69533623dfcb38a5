"""What others may have put into a storage, and what callers may pass for a name: refused in words, nothing kept."""

import sqlite3

import pytest
from study_tools import SOAK, Look, execute, losses_of, path_of, sums, watch

from sottovoce.errors import StorageError, UnknownAction
from sottovoce.rounds.stores.sql.schema import PREFIX
from sottovoce.rounds.stores.sql.schema import TABLES as NAMES
from sottovoce.studies import verify_stored

KEEPING = {
    "trigger": (
        "CREATE TABLE kept (entry)",
        "CREATE TRIGGER keeper AFTER INSERT ON {table} BEGIN INSERT INTO kept VALUES (NEW.rowid); END",
    ),
    "loud trigger": (
        "CREATE TABLE kept (entry)",
        "CREATE TRIGGER keeper AFTER INSERT ON {upper} BEGIN INSERT INTO kept VALUES (NEW.rowid); END",
    ),
}
KEEPING_ON_A_SERVER = {
    "trigger": (
        "CREATE TABLE kept (entry bytea)",
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
        "CREATE TRIGGER keeper AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION keep()",
    ),
    "rule": (
        "CREATE TABLE kept (one int)",
        "CREATE RULE keeper AS ON INSERT TO {table} DO ALSO INSERT INTO kept VALUES (1)",
    ),
}
TABLES = [PREFIX + name for name in NAMES]


def put(url, statements, table):
    for statement in statements:
        execute(url, statement.format(table=table, upper=table.upper()))


@pytest.mark.parametrize("kind", KEEPING)
@pytest.mark.parametrize("table", ["sottovoce_chunks", "sottovoce_books", "sottovoce_rounds"])
def test_a_trigger_that_could_keep_losses_is_refused(kind, table, opened, sqlite_url):
    opened(sqlite_url, **sums()).close()
    put(sqlite_url, KEEPING[kind], table)
    for call in (lambda: opened(sqlite_url), lambda: verify_stored(sqlite_url, "study")):
        with pytest.raises(
            StorageError, match=r"holds a trigger of somebody else's at 'keeper', which could keep losses"
        ):
            call()
    execute(sqlite_url, "DROP TRIGGER keeper")
    assert opened(sqlite_url).status().asked == 0


def test_a_trigger_that_comes_later_keeps_no_loss(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    ids = study.ask(5).ids
    put(sqlite_url, KEEPING["trigger"], "sottovoce_chunks")
    with pytest.raises(StorageError, match="which could keep losses: nothing was changed"):
        study.tell(ids, losses_of(ids))
    with sqlite3.connect(path_of(sqlite_url)) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    connection.close()
    execute(sqlite_url, "DROP TRIGGER keeper")
    study.tell(ids, losses_of(ids))
    assert Look(sqlite_url).counts()["told"] == 5


@pytest.mark.parametrize("kind", KEEPING_ON_A_SERVER)
@pytest.mark.parametrize("table", ["sottovoce_chunks", "sottovoce_books"])
def test_a_servers_trigger_or_rule_is_refused(kind, table, opened, postgres_url):
    opened(postgres_url, **sums()).close()
    put(postgres_url, KEEPING_ON_A_SERVER[kind], table)
    with pytest.raises(StorageError, match=rf"holds a {kind} of somebody else's at '{table}', which could keep losses"):
        opened(postgres_url)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("what", ["VIEW {} AS SELECT 1 AS version", "VIRTUAL TABLE {} USING fts5(version)"])
def test_something_else_in_place_of_a_table_is_refused(what, table, opened, sqlite_url):
    with sqlite3.connect(path_of(sqlite_url)) as connection:
        connection.execute(f"CREATE {what.format(table)}")
    connection.close()
    with pytest.raises(StorageError, match=f"of somebody else's at '{table}'"):
        opened(sqlite_url, **sums())


def test_a_servers_view_in_place_of_a_table_is_refused(opened, postgres_url):
    execute(postgres_url, "CREATE VIEW sottovoce_chunks AS SELECT 1 AS number")
    with pytest.raises(StorageError, match="a view or foreign table of somebody else's at 'sottovoce_chunks'"):
        opened(postgres_url, **sums())


def test_tables_of_others_are_their_business(opened, sqlite_url):
    with sqlite3.connect(path_of(sqlite_url)) as connection:
        connection.executescript(
            "CREATE TABLE notes (text); CREATE TABLE log (text);"
            "CREATE TRIGGER t AFTER INSERT ON notes BEGIN INSERT INTO log VALUES (NEW.text); END;"
        )
    connection.close()
    assert len(opened(sqlite_url, **sums()).ask(3)) == 3


@pytest.mark.parametrize(
    "name", ["", "x" * 201, "\ud800", "a\x00b", "two\nlines", "a\x1b[31m", "\u2028", 7, None, b"x"]
)
def test_names_that_cannot_be_stored_or_shown_are_refused(name, opened, url):
    with pytest.raises(ValueError, match="name must be 1 to 200 letters without") as refused:
        opened(url, name, **sums())
    str(refused.value).encode("ascii")
    assert len(str(refused.value)) < 400
    with pytest.raises(ValueError, match="name must be 1 to 200 letters"):
        verify_stored(url, name)


@pytest.mark.parametrize("name", ["x" * 200, "été 🎉", "a'b\"c;--", "%s {} \\", "  "])
def test_names_that_are_unusual_work(name, opened, url):
    opened(url, name, **sums()).ask(2)
    assert opened(url, name).status().asked == 2


@pytest.mark.parametrize("one", ["\udcff", "1.0.0.\ud800", "1.0.\ud800.0123456789ab", "\x00", "1.0.0." + "a" * 10**6])
def test_ids_of_any_text_are_refused_as_unknown(one, opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    for call in (lambda: study.tell(one, 0.5), lambda: study.forget([one])):
        with pytest.raises(UnknownAction) as refused:
            call()
        assert len(str(refused.value)) < 300


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


@pytest.mark.skipif(not SOAK, reason="minutes: make soak")
@pytest.mark.timeout(1800)
def test_more_rounds_may_be_open_than_a_statement_has_parameters(opened, sqlite_url):
    """SQLite takes 32,766 of them."""
    url, many = sqlite_url, 33_000
    arguments = sums(horizon=10**6, probe_events=1, rate=0.5)
    study = opened(url, patience=None, **arguments)
    study.ask()  # whose loss never comes
    while study.status().open_rounds < many:
        ids = study.ask(10_000).ids
        study.tell(ids, losses_of(ids))
    study.close()
    assert opened(url).status().open_rounds >= many
