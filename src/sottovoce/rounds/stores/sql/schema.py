"""The tables. What a database can guarantee is a constraint here, whatever program writes to it.

- A chunk is of an open round, and a release of a closed one: both foreign keys go by `open`. So a round cannot be
  closed while a loss of it is stored, none can be added later, and none outlives its release.
- A round has one release: its primary key. Each carries a checksum over itself and all before it, so that none can be
  changed later without all others.
- Chunks do not overlap: they are places on a fixed grid, and their number is their primary key.
- A person gives no more losses than was promised.
- The horizon holds, whoever asks for whichever stream.
"""

import re

VERSION = 1
PREFIX = "sottovoce_"

SCHEMA = """
CREATE TABLE sottovoce_schema (
  version INTEGER PRIMARY KEY
);

CREATE TABLE sottovoce_books (
  book {serial},
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  elsewhere TEXT NOT NULL DEFAULT '',
  move TEXT NOT NULL DEFAULT '',
  made {bytes} NOT NULL,
  secret {bytes} NOT NULL,
  incarnation BIGINT NOT NULL DEFAULT 1,
  horizon BIGINT,
  slot_bytes SMALLINT NOT NULL,
  clock BIGINT NOT NULL DEFAULT 0 CHECK (clock >= 0),
  next_place BIGINT NOT NULL DEFAULT 0,
  version BIGINT NOT NULL DEFAULT 0,
  erased BIGINT NOT NULL DEFAULT 0,
  patience BIGINT,
  deadline DOUBLE PRECISION,
  changes {bytes} NOT NULL DEFAULT '',
  common {bytes},
  writers {bytes} NOT NULL DEFAULT '',
  seal {bytes} NOT NULL DEFAULT '',
  CHECK (horizon IS NULL OR clock <= horizon)
);

CREATE TABLE sottovoce_ledger_tokens (
  book BIGINT PRIMARY KEY REFERENCES sottovoce_books,
  entry TEXT NOT NULL,
  token TEXT,
  successor TEXT
);

CREATE TABLE sottovoce_streams (
  book BIGINT NOT NULL REFERENCES sottovoce_books,
  stream BIGINT NOT NULL,
  name TEXT NOT NULL,
  begun BIGINT NOT NULL DEFAULT 0,
  closed BIGINT NOT NULL DEFAULT 0,
  learned BIGINT NOT NULL DEFAULT 0,
  believed {bytes},
  chain {bytes} NOT NULL,
  PRIMARY KEY (book, stream),
  UNIQUE (book, name)
);

CREATE TABLE sottovoce_rounds (
  book BIGINT NOT NULL,
  stream BIGINT NOT NULL,
  number BIGINT NOT NULL,
  open SMALLINT NOT NULL,
  first BIGINT NOT NULL,
  size BIGINT NOT NULL,
  position BIGINT NOT NULL,
  reserved BIGINT NOT NULL,
  reached BIGINT NOT NULL,
  full_at BIGINT,
  full_time DOUBLE PRECISION,
  public {bytes} NOT NULL,
  PRIMARY KEY (book, stream, number),
  UNIQUE (book, stream, number, open),
  UNIQUE (book, first),
  FOREIGN KEY (book, stream) REFERENCES sottovoce_streams,
  CHECK (reserved <= size AND reserved <= reached)
);

CREATE INDEX sottovoce_rounds_open ON sottovoce_rounds (book, stream, number) WHERE open = 1;

CREATE INDEX sottovoce_rounds_full ON sottovoce_rounds (book, full_at) WHERE open = 1;

CREATE TABLE sottovoce_chunks (
  book BIGINT NOT NULL,
  chunk BIGINT NOT NULL,
  stream BIGINT NOT NULL,
  round BIGINT NOT NULL,
  open SMALLINT NOT NULL CHECK (open = 1),
  wanted INTEGER NOT NULL,
  closed INTEGER NOT NULL CHECK (closed <= wanted),
  missing INTEGER NOT NULL CHECK (missing <= closed),
  seal BIGINT NOT NULL,
  slots {bytes} NOT NULL,
  PRIMARY KEY (book, chunk),
  FOREIGN KEY (book, stream, round, open) REFERENCES sottovoce_rounds (book, stream, number, open)
) {small_pages};

CREATE INDEX sottovoce_chunks_of ON sottovoce_chunks (book, stream, round);

CREATE TABLE sottovoce_releases (
  book BIGINT NOT NULL,
  stream BIGINT NOT NULL,
  round BIGINT NOT NULL,
  open SMALLINT NOT NULL CHECK (open = 0),
  told BIGINT NOT NULL,
  missing BIGINT NOT NULL,
  state SMALLINT NOT NULL,
  released {bytes} NOT NULL,
  chain {bytes} NOT NULL,
  PRIMARY KEY (book, stream, round),
  FOREIGN KEY (book, stream, round, open) REFERENCES sottovoce_rounds (book, stream, number, open)
);

CREATE TABLE sottovoce_counting (
  book BIGINT PRIMARY KEY REFERENCES sottovoce_books,
  most BIGINT NOT NULL,
  person_key {bytes},
  key_check {bytes}
);

CREATE TABLE sottovoce_people (
  book BIGINT NOT NULL REFERENCES sottovoce_counting,
  person {bytes} NOT NULL,
  losses BIGINT NOT NULL,
  most BIGINT NOT NULL,
  PRIMARY KEY (book, person),
  CHECK (losses BETWEEN 1 AND most)
);
"""
"""`sottovoce_chunks.slots` is PRIVATE; `sottovoce_people` and `person_key` say who took part to whoever has both and
guesses names. Everything else is public, or released.

Of a book, `elsewhere` says where it went, or comes from, and `move` which copy of it is meant, while it moves. Of a
round, `reserved` counts the slots that are leased, or were, and `reached` those that ever were: a lease that is
given back makes `reserved` fall. Of a chunk, `wanted` counts the slots that take a loss, those that nobody has yet
among them; `closed` those that have it, or were closed without it, and `missing` the latter. `seal` is a checksum of
what they hold. A stream's `chain` is that of its newest release. `state` says of a closed round whether it was
released, had nothing to release, or was dropped by a restoration."""

UNRELEASED, RELEASED, DROPPED = range(3)

COLUMNS = {
    table: tuple(re.findall(r"^  ([a-z_]+) ", body, re.MULTILINE))
    for table, body in re.findall(rf"CREATE TABLE {PREFIX}(\w+) \((.*?)\n\)", SCHEMA, re.DOTALL)
}
"""Of each table, in its order."""

TABLES = tuple(COLUMNS)
