"""What the tests of `verify` share: a study to do damage to, and ways of doing it with fitting checksums."""

import contextlib
import sqlite3
from dataclasses import fields

import numpy as np

import sottovoce as sv
from sottovoce._records import pack, unpack
from sottovoce.rounds.stores.sql._book_rows import BookCounters, chain_of
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
RELEASED, OPEN = "open = 0", "open = 1"


def play(study, events, size=50, leave_out=3):
    """Tell all losses but a few, which are forgotten."""
    local = isinstance(study._configuration.privacy, sv.LocalDP)
    for start in range(0, events, size):
        actions = study.ask(min(size, events - start))
        ids, values = actions.ids, np.linspace(0.1, 0.9, len(actions))
        if local:
            study.tell(ids, report=[sv.local.privatise(float(one), study.channel) for one in values])
        else:
            study.tell(ids[leave_out:], values[leave_out:])
            study.forget(ids[:leave_out])


def open_in(folder, name="a", **options):
    return sv.Study.open(f"sqlite:///{folder}/study.db", name=name, **options)


def faults(tmp_path):
    found = verify_stored(f"sqlite:///{tmp_path}/study.db", "a")
    assert found.ok == (not found.faults)
    assert str(LOSS) not in str(found)
    return " | ".join(found.faults)


def seal_of(counters):
    """Return the checksum of counters, as somebody would compute it who knows how."""
    return BookCounters(**{one.name: getattr(counters, one.name) for one in fields(BookCounters)}).seal()


def reseal(database, **changes):
    """Change counters as somebody would who knows how: the checksum fits."""
    names = [one.name for one in fields(BookCounters)]
    values = database.execute(f"SELECT {', '.join(names)} FROM sottovoce_books").fetchone()
    counters = BookCounters(**dict(zip(names, values, strict=True)))
    for name, change in changes.items():
        setattr(counters, name, getattr(counters, name) + change)
    settings = "".join(f"{name} = ?, " for name in changes)
    new = [getattr(counters, name) for name in changes]
    database.execute(f"UPDATE sottovoce_books SET {settings}seal = ?", (*new, counters.seal()))


def rechain(database):
    """Let every release have the checksum that fits it and all before it, as somebody would who knows how."""
    chains = {}
    rows = database.execute(
        "SELECT e.stream, number, first, size, position, told, missing, state, public, released "
        "FROM sottovoce_releases e JOIN sottovoce_rounds r ON r.stream = e.stream AND r.number = e.round "
        "ORDER BY e.stream, number"
    ).fetchall()
    for *facts, public, released in rows:
        chains[facts[0]] = chain = chain_of(chains.get(facts[0], b""), tuple(facts), public, released)
        database.execute(
            "UPDATE sottovoce_releases SET chain = ? WHERE stream = ? AND round = ?", (chain, facts[0], facts[1])
        )
    for stream, chain in chains.items():
        database.execute("UPDATE sottovoce_streams SET chain = ? WHERE stream = ?", (chain, stream))


def rewrite(database, table, column, change, where="1"):
    """Change a record and give it fitting checksums."""
    number, data = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {where} LIMIT 1").fetchone()
    record = unpack(data)
    change(record)
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (pack(record), number))
    rechain(database)


def put(**values):
    return lambda record: record.update(values)


def add(name, value):
    def change(record):
        record[name] = record[name] + value

    return change


def scale(name, factor):
    def change(record):
        record[name] = record[name] * factor

    return change


def shorten(*names):
    def change(record):
        for name in names:
            record[name] = record[name][..., :-1] if record[name].ndim > 1 else record[name][:-1]

    return change


def lose(name):
    """Leave out the last row."""

    def change(record):
        record[name] = record[name][:-1]

    return change


def turn(name):
    """Let rows, or entries, change places."""

    def change(record):
        record[name] = np.roll(record[name], 1, axis=0)

    return change


def found_after(folder, table, column, change, where="1"):
    """Return the faults of a study with a record changed, and put it back as it was."""
    path = folder / "study.db"
    sound = path.read_bytes()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        rewrite(connection, f"sottovoce_{table}", column, change, where)
    found = faults(folder)
    path.write_bytes(sound)
    return found
