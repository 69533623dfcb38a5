"""Where everything stands: the tables, and which rows hold private data.

| table    | a row for each            | holds                                                           | private |
|----------|---------------------------|-----------------------------------------------------------------|---------|
| heads    | study                     | configuration, counters, public coins, patience                 | no      |
| epochs   | planned stretch of events | plan, coordinates, and what was learned from released rounds    | no      |
| rounds   | round                     | its point, its probes; once released, the numbers with noise    | no      |
| blocks   | stretch of an open round  | the actions, public; deleted once the round is released         | no      |
| cells    | stretch that was reserved | integer losses of an open round; erased with its release        | YES     |
| rights   | study with a ledger       | the token with which it goes on under its charge                | no      |
| lanes    | segment of a study        | which study it is of, and where its own head is                 | no      |

A segment has a head of its own, with epochs, rounds, blocks and cells of its own: a study within a study.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
)

__all__ = ["OPEN", "RELEASED", "blocks", "cells", "epochs", "heads", "lanes", "metadata", "rights", "rounds", "schema"]

OPEN, RELEASED, UNRELEASED, DROPPED = "open", "released", "unreleased", "dropped"  # states of a round

metadata = MetaData()
_Number = BigInteger().with_variant(Integer, "sqlite")

schema = Table("sottovoce_schema", metadata, Column("version", Integer, nullable=False))

heads = Table(
    "sottovoce_heads",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("configuration", LargeBinary, nullable=False),
    Column("key", LargeBinary, nullable=False),  # of the tags in ids
    Column("version", _Number, nullable=False),  # raised by every change
    Column("structure", _Number, nullable=False),  # raised when rounds, blocks or epochs change
    Column("generation", _Number, nullable=False),
    Column("asked", _Number, nullable=False),  # events that were reserved: handed out, or in a process's hand
    Column("returned", _Number, nullable=False),  # of these, events that were given back, and are to be had again
    Column("told", _Number, nullable=False),  # of closed rounds
    Column("forgotten", _Number, nullable=False),  # likewise
    Column("closed", _Number, nullable=False),  # rounds
    Column("erased", _Number, nullable=False),  # of these, rounds whose losses are gone from the log, too
    Column("coins", LargeBinary, nullable=False),
    Column("seal", LargeBinary, nullable=False),
    Column("patience", _Number),  # positions that a full round waits for its losses; NULL for ever, -1 by default
    Column("deadline", Float(53)),  # the same in seconds
    Column("writers", LargeBinary, nullable=False),  # the latest ones, and the version that each of them wrote last
)

epochs = Table(
    "sottovoce_epochs",
    metadata,
    Column("study", _Number, ForeignKey(heads.c.id), primary_key=True),
    Column("number", _Number, primary_key=True),
    Column("made", LargeBinary, nullable=False),  # plan and coordinates
    Column("learned", LargeBinary, nullable=False),  # a snapshot, with every release
    Column("passed", _Number, nullable=False),
    Column("opened", _Number, nullable=False),
)

rounds = Table(
    "sottovoce_rounds",
    metadata,
    Column("study", _Number, ForeignKey(heads.c.id), primary_key=True),
    Column("number", _Number, primary_key=True),
    Column("state", String(12), nullable=False),
    Column("full_at", Float(53)),  # when its last action was asked
    Column("public", LargeBinary, nullable=False),
    Column("released", LargeBinary),
    Column("full_after", _Number),  # events that were asked by then, with all of the call that asked its last action
    Column("whole", Integer, nullable=False),  # 1 if no action of it that wants a loss is still to be reserved
)

blocks = Table(
    "sottovoce_blocks",
    metadata,
    Column("study", _Number, ForeignKey(heads.c.id), primary_key=True),
    Column("first", _Number, primary_key=True),
    Column("round", _Number, nullable=False),
    Column("draw", LargeBinary, nullable=False),
)

cells = Table(
    "sottovoce_cells",
    metadata,
    Column("study", _Number, ForeignKey(heads.c.id), primary_key=True),
    Column("round", _Number, primary_key=True),
    Column("first", _Number, primary_key=True),  # its place in the round
    Column("generation", _Number, nullable=False),
    Column("size", _Number, nullable=False),
    Column("wanted", _Number, nullable=False),  # events that take a loss
    Column("told", _Number, nullable=False),
    Column("missing", _Number, nullable=False),
    Column("given_back", _Number, nullable=False),  # 1 if nobody has its actions
    Column("closed", LargeBinary, nullable=False),  # a bit for each event: whether it takes no loss, or none any more
    Column("losses", LargeBinary, nullable=False),  # PRIVATE
    postgresql_with={"fillfactor": 50},  # a call writes its row anew: beside the old one, if there is room
)

rights = Table(
    "sottovoce_rights",
    metadata,
    Column("study", _Number, ForeignKey(heads.c.id), primary_key=True),
    Column("entry", String, nullable=False),  # of the ledger
    Column("token", String),  # what the next process that opens the study presents
    Column("successor", String),  # of the token, written down before the ledger hears of it
)

lanes = Table(
    "sottovoce_lanes",
    metadata,
    Column("parent", _Number, ForeignKey(heads.c.id), primary_key=True),
    Column("number", _Number, primary_key=True),  # from 0, in the order in which segments were first asked for
    Column("study", _Number, ForeignKey(heads.c.id), nullable=False, unique=True),
)
