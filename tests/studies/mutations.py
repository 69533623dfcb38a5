"""Every column of every row of a study changed, one at a time, with fitting checksums: what `verify` must find."""

from dataclasses import fields

import numpy as np
from small_studies import SOAK

from sottovoce._records import pack, unpack
from sottovoce.rounds.round import MISSING, PENDING, UNUSED, UNWANTED, Shape, Slots
from sottovoce.rounds.round import seal_of as seal_of_slots
from sottovoce.rounds.stores.sql._book_rows import BookCounters, chain_of
from sottovoce.rounds.stores.sql.database import open_database
from sottovoce.rounds.stores.sql.verify import read_book
from sottovoce.studies.verifying.verification import verify_rows

EVERY = SOAK  # row, and several places of every array
TABLES = ("streams", "rounds", "chunks", "releases")
KEYS = {"streams": 1, "rounds": 2, "chunks": 1, "releases": 2}  # columns that rows are sorted by
SLOTS = Slots(Shape())


def rows_of(url, name="study"):
    """Return the rows of a study."""
    base = open_database(url, create=False)
    rows = read_book(base, name)
    base.close()
    return rows


def faults_of(rows, domain=None):
    """Return what `verify` finds in rows."""
    return verify_rows(rows, "study", domain).faults


def seal_of(counters):
    """Return the checksum of counters, as somebody would compute it who knows how."""
    return BookCounters(**{one.name: getattr(counters, one.name) for one in fields(BookCounters)}).seal()


def changed(rows, table, index, column, value, *, chained=True):
    """Return the rows with one value changed, as they would be read: in order, and with fitting checksums."""
    if table == "counters":
        counters = rows.counters._replace(**{column: value})
        if column == "book":  # rows are of another one now
            rows = rows._replace(**{other: [] for other in TABLES})
        return rows._replace(counters=counters if column == "seal" else counters._replace(seal=seal_of(counters)))
    mine = list(getattr(rows, table))
    mine[index] = mine[index]._replace(**{column: value})
    rows = rows._replace(**{table: sorted(mine, key=lambda row: row[: KEYS[table]])})
    return rechained(rows) if chained and column != "chain" else rows


def rechained(rows):
    """Give every release the checksum that fits it and all before it."""
    rounds, chains, releases = {row.key: row for row in rows.rounds}, {}, []
    for row in rows.releases:
        one = rounds.get((row.stream, row.round))
        if one is not None:
            facts = one.stream, one.number, one.first, one.size, one.position, row.told, row.missing, row.state
            row = row._replace(chain=chain_of(chains.get(row.stream, b""), facts, one.public, row.released))
        chains[row.stream] = row.chain
        releases.append(row)
    streams = [row._replace(chain=chains.get(row.stream, b"")) for row in rows.streams]
    return rows._replace(releases=releases, streams=streams)


def with_record(rows, table, index, column, *, chained=True, **values):
    """Return the rows with other values in one record; None takes one away."""
    record = unpack(bytes(getattr(getattr(rows, table)[index], column))) | values
    kept = {name: value for name, value in record.items() if name not in values or value is not None}
    return changed(rows, table, index, column, pack(kept), chained=chained)


def mutations(rows):
    """Yield (what was changed, rows with the change), for every field of every record of every row.

    Unless EVERY row is wanted, one of each kind has to do: rounds by their state, and whether they are the newest.
    """
    for table, index, column, value in _columns(rows):
        place = f"{table}.{column}"
        if column == "slots":
            for how, row in _slots(rows.chunks[index]):
                other = list(rows.chunks)
                other[index] = row
                yield f"{place} {how}", rows._replace(chunks=other)
        elif isinstance(value, bytes) and value[:4] == b"svr1":
            for how, record in _records(unpack(value)):
                yield f"{place}[{how}", changed(rows, table, index, column, pack(record))
        else:
            for how, other in _values(value):
                yield f"{place} {how}", changed(rows, table, index, column, other)
    for table in TABLES:
        mine = getattr(rows, table)
        for index in _chosen(table, mine):
            yield f"{table} lost", rechained(rows._replace(**{table: mine[:index] + mine[index + 1 :]}))


def _chosen(table, mine):
    if EVERY:
        return range(len(mine))
    kinds = {
        (
            getattr(row, "state", None),
            getattr(row, "open", None),
            getattr(row, "closed", 0) > 0,
            index == len(mine) - 1,
        ): index
        for index, row in enumerate(mine)
    }
    return sorted(kinds.values())


def _columns(rows):
    for column, value in rows.counters._asdict().items():
        yield "counters", 0, column, value
    for table in TABLES:
        mine = getattr(rows, table)
        for index in _chosen(table, mine):
            for column, value in mine[index]._asdict().items():
                yield table, index, column, value


def _records(record):
    for name, value in record.items():
        yield f"{name}] lost", {key: one for key, one in record.items() if key != name}
        for how, other in _values(value):
            yield f"{name}] {how}", record | {name: other}


def _values(value):
    """Yield other values of the same kind."""
    if isinstance(value, bool):
        yield "flipped", not value
    elif isinstance(value, int | float):
        yield "raised", value + 1
        yield "lowered", value - 1
    elif value is None:
        yield "set", 7
    elif isinstance(value, str):
        yield "changed", value + "x"
    elif isinstance(value, bytes):
        yield "changed", value[:-1] + bytes([value[-1] ^ 1]) if value else b"x"
    elif isinstance(value, dict):
        for key, one in value.items():
            for how, other in _values(one):
                yield f"{key} {how}", value | {key: other}
    elif isinstance(value, list | tuple):
        if value:
            yield "shortened", value[:-1]
            for how, other in _values(value[-1]) if isinstance(value[-1], list | dict) else ():
                yield how, [*value[:-1], other]
    elif value.size:
        for place in {0, value.size - 1} if EVERY else {value.size // 2}:
            other = value.copy()
            if value.dtype.kind == "b":
                other.flat[place] ^= True
            else:
                less = 1 if value.dtype.kind in "iu" else 0.01  # one step of a sum can be less than beliefs can tell
                other.flat[place] += less + type(less)(abs(value.flat[place]) * 0.01)
            yield "changed", other
        yield "shortened", value.ravel()[:-1] if value.ndim == 1 else value[:-1]


def _slots(row):
    """Yield chunks that hold something else, with a seal that fits; and with counts that fit what they hold, or not."""
    slots = SLOTS.unpacked(row.slots)
    for state, mark in (
        ("missing", MISSING),
        ("waiting", PENDING),
        ("unused", UNUSED),
        ("unwanted", UNWANTED),
        ("told", 5),
    ):
        for was, places in _places(slots).items():
            if was != state and len(places):
                other = slots.copy()
                other[places[0]] = mark
                yield f"{was} now {state}", _sealed(row, other)
                yield f"{was} now {state}, counted", _counted(_sealed(row, other), other)
    told = _places(slots)["told"]
    if len(told):
        for how, value in (("raised", slots[told] + 1), ("out of range", 2**18 + 1), ("negative", slots[told] - 2**20)):
            other = slots.copy()
            other[told] = value
            yield f"of a loss {how}", _sealed(row, other)
    yield "damaged", row._replace(slots=row.slots[:-1] + bytes([row.slots[-1] ^ 1]))
    yield "shortened", row._replace(slots=row.slots[: -SLOTS.bytes])


def _places(slots):
    marks = {"missing": MISSING, "waiting": PENDING, "unused": UNUSED, "unwanted": UNWANTED}
    found = {name: np.flatnonzero(slots == mark) for name, mark in marks.items()}
    return found | {"told": np.flatnonzero(~np.isin(slots, list(marks.values())))}


def _sealed(row, slots):
    filled = np.sort(np.concatenate([_places(slots)["told"], _places(slots)["missing"]]))
    seal = seal_of_slots((row.chunk << SLOTS.bits) + filled, slots[filled])
    return row._replace(slots=SLOTS.packed(slots), seal=seal)


def _counted(row, slots):
    missing, told = len(_places(slots)["missing"]), len(_places(slots)["told"])
    return row._replace(wanted=int((slots != UNWANTED).sum()), closed=missing + told, missing=missing)


def found_and_not(rows):
    """Return two dictionaries, of changes that are found and of those that are not: how many of each.

    What is said of a change never holds a loss: their integers are told apart from all else by their value.
    """
    found, missed = {}, {}
    secrets = [str(one) for row in rows.chunks for one in SLOTS.unpacked(row.slots).tolist() if one > 10**4]
    for what, other in mutations(rows):
        faults = faults_of(other)
        assert not any(one in fault for fault in faults for one in secrets), what
        which = found if faults else missed
        which[what] = which.get(what, 0) + 1
    return found, missed
