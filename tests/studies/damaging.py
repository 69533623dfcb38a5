"""What the tests of `verify` share: a study to do damage to, and ways of doing it with fitting checksums."""

import numpy as np

import sottovoce as sv
from sottovoce._records import pack, unpack
from sottovoce.studies import verify_stored
from sottovoce.studies.session.counters import Counters

OPTIONS = {
    "domain": sv.domains.Hypersimplex(6, 2),
    "horizon": 1000,
    "loss_range": (0.0, 1.0),
    "privacy": sv.PureDP(1.0),
    "plan": "worst-case",
    "seed": 1,
}
LOSS = 0.37109375  # exact in binary, and nowhere else on purpose
RELEASED, OPEN = "state = 'released'", "state = 'open'"
NEWEST = "number = (SELECT max(number) FROM sottovoce_rounds)"


def play(study, events, size=50, leave_out=3):
    """Tell all losses but a few, which are forgotten."""
    local = isinstance(study._found.configuration.privacy, sv.LocalDP)
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


def reseal(database, **changes):
    """Change counters as somebody would who knows how: the checksum fits."""
    names = list(Counters.__slots__)
    values = database.execute(f"SELECT {', '.join(names)} FROM sottovoce_heads").fetchone()
    head = Counters(**dict(zip(names, values, strict=True)))
    for name, change in changes.items():
        setattr(head, name, getattr(head, name) + change)
    settings = "".join(f"{name} = ?, " for name in changes)
    new = [getattr(head, name) for name in changes]
    database.execute(f"UPDATE sottovoce_heads SET {settings}seal = ?", (*new, head.seal()))


def rewrite(database, table, column, change, where="1"):
    """Change a record and give it a fitting checksum."""
    number, data = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {where} LIMIT 1").fetchone()
    record = unpack(data)
    change(record)
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (pack(record), number))


def put(**values):
    return lambda record: record.update(values)


def scale(name, factor):
    def change(record):
        record[name] = record[name] * factor

    return change


def shorten(*names):
    def change(record):
        for name in names:
            record[name] = record[name][:-1]

    return change
