"""What the tests of studies share: small studies, losses that can be told apart, and a look into the storage."""

import contextlib
import os
import sqlite3

import numpy as np
from sqlalchemy import create_engine, select, text
from sqlalchemy.pool import NullPool

import sottovoce as sv
from sottovoce._records import unpack
from sottovoce.studies.database import storage, tables
from sottovoce.studies.database.cells import entries
from sottovoce.studies.session import engine

SOAK = os.environ.get("SOTTOVOCE_SOAK", "") not in ("", "0")


def ball(**changes):
    """A study on a ball: frames, rounds of eight events."""
    return {
        "domain": sv.domains.Ball(3),
        "horizon": 100_000,
        "loss_range": (0.0, 1.0),
        "privacy": sv.NoPrivacy(),
        "plan": "worst-case",
        "batch_size": 8,
    } | changes


def sums(**changes):
    """A study whose rounds of twelve release plain sums of all their losses: every event counts once, with weight 1."""
    return {
        "domain": sv.domains.Simplex(4),
        "horizon": 100_000,
        "loss_range": (0.0, 1.0),
        "privacy": sv.NoPrivacy(),
        "losses": "linear",
        "integral": True,
        "exploration": "designs",  # as it would be anyway; the search for a plan need not weigh the others
        "reuse": True,
        "rate": 0.25,
        "probe_events": 3,
        "decay": 0.0,
        "growth": 0.0,
    } | changes


def probing(**changes):
    """A study that wants few of its losses: rounds of twelve events, three of which probe."""
    return sums(reuse=False) | changes


def believing(**changes):
    """A study as anybody gets it who asks for nothing else: posterior probes, rounds of twelve events that then grow.

    Its rounds, too, release plain sums of all their losses.
    """
    return {
        "domain": sv.domains.Hypersimplex(4, 2),
        "horizon": 100_000,
        "loss_range": (0.0, 1.0),
        "privacy": sv.NoPrivacy(),
        "losses": "linear",
        "integral": True,
        "probes": 3,
        "least_events": 4,
    } | changes


def curved(**changes):
    """The same, of convex losses on a ball."""
    return believing(domain=sv.domains.Ball(3), losses="convex", integral=False, probes=4, least_events=3) | changes


class Opener:
    """Opens studies, and closes them in the end."""

    def __init__(self):
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def __call__(self, url, name="study", **arguments):
        study = sv.Study.open(url, name=name, **arguments)
        self._stack.callback(study.close)
        return study


def place(one):
    """Return (generation, round, slot) of an id."""
    return tuple(int(part, 16) for part in str(one).split(".")[:3])


def integer_of(round_number, slot):
    """Return the integer of an event's loss: no two of a study's events have the same, as far as tests go."""
    return (round_number * 7919 + slot * 104729 + 12345) % 262144


def loss_of(one, bits=18):
    """Return the loss of an action by its id: whoever tells it, and however often, it is the same."""
    _, number, slot = place(one)
    return integer_of(number, slot) / 2**bits


def losses_of(ids):
    """Return the losses of a block of actions."""
    return np.array([loss_of(one) for one in ids])


class Look:
    """What a storage holds, read past the library's own connection."""

    def __init__(self, url, name="study"):
        engine = create_engine(url, poolclass=NullPool)
        with engine.connect() as connection:
            where = tables.heads.c.name == name
            self.head = connection.execute(select(tables.heads).where(where)).one()
            self.rounds = connection.execute(_of(tables.rounds, self.head.id, tables.rounds.c.number)).all()
            self.blocks = connection.execute(_of(tables.blocks, self.head.id, tables.blocks.c.first)).all()
            cells = connection.execute(_of(tables.cells, self.head.id, tables.cells.c.first)).all()
            self.cells = sorted(cells, key=lambda row: (row.round, row.first))
            self.epochs = connection.execute(_of(tables.epochs, self.head.id, tables.epochs.c.number)).all()
        engine.dispose()

    @property
    def public(self):
        """Return the public record of each round."""
        return {row.number: unpack(row.public) for row in self.rounds}

    @property
    def closed(self):
        """Return the released record of each closed round, as it is stored."""
        return {row.number: bytes(row.released) for row in self.rounds if row.state != tables.OPEN}

    @property
    def tells(self):
        """Return the stretches that were told anything."""
        return [row for row in self.cells if row.losses]

    def counts(self):
        """Return how many losses were told, and given up, of all rounds."""
        told, missing = (sum(getattr(row, name) for row in self.cells) for name in ("told", "missing"))
        return {"told": self.head.told + told, "forgotten": self.head.forgotten + missing}

    def told(self):
        """Return the integer of every (round, slot) that waits for its round; None if it was forgotten."""
        found = {}
        for row in self.tells:
            for slots, integers in entries(row.round, bytes(row.losses)):
                values = [None] * len(slots) if integers is None else integers.tolist()
                for slot, value in zip(slots.tolist(), values, strict=True):
                    assert (row.round, slot) not in found, "an event is stored twice"
                    found[row.round, slot] = value
        return found


def _of(table, study, order):
    return select(table).where(table.c.study == study).order_by(order)


def execute(url, statement, **parameters):
    """Change the storage behind the library's back."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text(statement), parameters)
    engine.dispose()


def path_of(url):
    """Return the file of an SQLite URL."""
    return url.removeprefix("sqlite:///")


def raw(url):
    """Return a plain SQLite connection to the file of a URL."""
    return sqlite3.connect(path_of(url), isolation_level=None)


class Watched:
    """A driver's connection that says what it is about to execute, and what it has executed."""

    def __init__(self, raw, before, after):
        self._raw, self._before, self._after = raw, before, after

    def execute(self, statement, *values):
        self._before(statement)
        found = self._raw.execute(statement, *values)
        self._after(statement)
        return found

    def executemany(self, statement, values):
        self._before(statement)
        if hasattr(self._raw, "executemany"):
            self._raw.executemany(statement, values)
        else:  # a server's connection has it in its cursor
            with self._raw.cursor() as cursor:
                cursor.executemany(statement, values)
        self._after(statement)

    def cursor(self):
        return contextlib.nullcontext(self)

    def __getattr__(self, name):
        return getattr(self._raw, name)


def nothing(statement):
    """Do nothing about a statement."""


def watch(before=nothing, after=nothing, put=setattr):
    """Have functions told of every statement that goes to a driver without SQLAlchemy."""
    driver_of = storage.driver_of

    def watched(connection):
        return Watched(driver_of(connection), before, after)

    for module in (storage, engine):
        put(module, "driver_of", watched)


class Backup:
    """A copy of a storage, which can be put back in place while processes have it open."""

    def __init__(self, url):
        self.url = url
        if url.startswith("sqlite"):
            self.copy = sqlite3.connect(":memory:")
            with contextlib.closing(sqlite3.connect(path_of(url))) as source:
                source.backup(self.copy)
            return
        with self._server() as connection:
            self.rows = {table: connection.execute(select(table)).all() for table in tables.metadata.sorted_tables}

    def put_back(self):
        if self.url.startswith("sqlite"):
            with contextlib.closing(sqlite3.connect(path_of(self.url))) as target:
                self.copy.backup(target)
            return
        with self._server() as connection:
            for table in reversed(tables.metadata.sorted_tables):
                connection.execute(table.delete())
            for table, rows in self.rows.items():
                for row in rows:
                    connection.execute(table.insert().values(**row._mapping))

    @contextlib.contextmanager
    def _server(self):
        engine = create_engine(self.url, poolclass=NullPool)
        with engine.begin() as connection:
            yield connection
        engine.dispose()
