"""Every column of every row of a study changed, one at a time, with fitting checksums: what `verify` must find."""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
from study_tools import SOAK

from sottovoce._records import pack, unpack
from sottovoce.errors import StudyNotFound
from sottovoce.studies.database.cells import entries, pack_losses
from sottovoce.studies.database.snapshot import Snapshot, take_snapshot
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.session.counters import Counters
from sottovoce.studies.verifying.verification import verify_rows

EVERY = SOAK  # row, and several places of every array
ORDER = {"epochs": ("number",), "rounds": ("number",), "blocks": ("first",), "cells": ("round", "first")}


def rows_of(url, name="study"):
    """Return the rows of a study as plain objects."""
    storage = Storage(url, create=False)
    with storage.transaction() as connection:
        found = take_snapshot(connection, name)
    storage.close()
    lists = {table: [SimpleNamespace(**row._mapping) for row in getattr(found, table)] for table in ORDER}
    return Snapshot(SimpleNamespace(**found.study._mapping), **lists)


def faults_of(rows, domain=None):
    """Return what `verify` finds in rows."""
    return verify_rows(rows, "study", domain).faults


def changed(rows, table, index, column, value):
    """Return the rows with one value changed; as they would be read: of this study alone, and in order."""
    if table == "head":
        head = SimpleNamespace(**vars(rows.study) | {column: value})
        if column != "seal":
            head.seal = seal_of(head)
        if column == "id":  # rows point to another study now
            return Snapshot(head, [], [], [], [])
        return replace(rows, study=head)
    mine = list(getattr(rows, table))
    mine[index] = SimpleNamespace(**vars(mine[index]) | {column: value})
    mine = [row for row in mine if row.study == rows.study.id]
    return replace(rows, **{table: sorted(mine, key=lambda row: [getattr(row, one) for one in ORDER[table]])})


def seal_of(head):
    """Return the checksum of counters, as somebody would compute it who knows how."""
    return Counters(**{one.name: getattr(head, one.name) for one in fields(Counters)}).seal()


def mutations(rows):
    """Yield (what was changed, rows with the change), for every field of every record of every row.

    Unless EVERY row is wanted, one of each kind has to do: rounds by their state, and whether they are the newest.
    """
    for table, index, column, value in _cells(rows):
        place = f"{table}.{column}"
        if table == "cells" and column == "losses":
            for how, other in _entries(rows.cells[index].round, value):
                yield f"{place} {how}", changed(rows, table, index, column, other)
        elif isinstance(value, bytes) and value[:4] == b"svr1":
            for how, record in _records(unpack(value)):
                yield f"{place}[{how}", changed(rows, table, index, column, pack(record))
        else:
            for how, other in _values(value):
                yield f"{place} {how}", changed(rows, table, index, column, other)
    for table in ORDER:
        mine = getattr(rows, table)
        for index in _chosen(mine):
            yield f"{table} lost", replace(rows, **{table: mine[:index] + mine[index + 1 :]})


def _chosen(mine):
    if EVERY:
        return range(len(mine))
    kinds = {
        (getattr(row, "state", None), bool(getattr(row, "losses", b"")), index == len(mine) - 1): index
        for index, row in enumerate(mine)
    }
    return sorted(kinds.values())


def _cells(rows):
    for column, value in vars(rows.study).items():
        yield "head", 0, column, value
    for table in ORDER:
        mine = getattr(rows, table)
        for index in _chosen(mine):
            for column, value in vars(mine[index]).items():
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
        yield "changed", value[:-1] + bytes([value[-1] ^ 1])
    elif isinstance(value, dict):
        for key, one in value.items():
            for how, other in _values(one):
                yield f"{key} {how}", value | {key: other}
    elif isinstance(value, list | tuple):
        if value:
            yield "shortened", value[:-1]
    elif value.size:
        for place in {0, value.size - 1} if EVERY else {value.size // 2}:
            other = value.copy()
            if value.dtype.kind == "b":
                other.flat[place] ^= True
            else:
                other.flat[place] += 1 if value.dtype.kind in "iu" else 0.01 + abs(float(value.flat[place])) * 0.01
            yield "changed", other
        yield "shortened", value.ravel()[:-1] if value.ndim == 1 else value[:-1]


def _entries(number, data):
    if not data:
        return
    (slots, integers), *_ = entries(number, data)
    if len(slots) > 1:
        yield "of a slot less", pack_losses(number, slots[:-1], None if integers is None else integers[:-1])
    other = slots.copy()
    other[0] = 10_000
    yield "of a slot that is not there", pack_losses(number, other, integers)
    twice = None if integers is None else np.append(integers, integers[-1])
    yield "of a slot twice", pack_losses(number, np.append(slots, slots[-1]), twice)
    yield "turned", pack_losses(number, slots, None if integers is not None else np.full(len(slots), 5))
    yield "damaged", data[:-1] + bytes([data[-1] ^ 1])
    if integers is not None:
        for how, change in (("raised", 1), ("out of range", 2**40), ("negative", -(2**40))):
            yield f"of a loss {how}", pack_losses(number, slots, integers + change)


def found_and_not(rows):
    """Return two dictionaries, of changes that are found and of those that are not: how many of each."""
    found, missed = {}, {}
    for what, other in mutations(rows):
        try:
            seen = bool(faults_of(other))
        except StudyNotFound:
            seen = True
        which = found if seen else missed
        which[what] = which.get(what, 0) + 1
    return found, missed
