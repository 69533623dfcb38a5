"""What the tests of `verify` share: a study to do damage to, and ways of doing it with fitting checksums."""

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


def seal_of(counters):
    """Return the checksum of counters, as somebody would compute it who knows how."""
    return BookCounters(**{one.name: getattr(counters, one.name) for one in fields(BookCounters)}).seal()


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
