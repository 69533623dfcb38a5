"""Version 5: losses move from a table of calls into cells, so that processes need not meet. A step that is frozen.

Of every open round, what was asked is cut into cells, and each gets what it was told. The lease of whoever closed
rounds is gone: the lock of the study has its place. `told` and `forgotten` count closed rounds alone from now on. What
was damaged before is damaged after: it is carried over as it is, and fails its checksum as before.
"""

import struct
from typing import Any

import numpy as np
from sqlalchemy import Connection, text

from sottovoce._records import DamagedRecord, checksum, unpack

__all__ = ["put_losses_into_cells"]

_CELL = 256
_SEAL = 16
_OLD = ("id", "version", "structure", "generation", "asked", "told", "forgotten", "closed", "erased", "fence")
_NEW = ("id", "version", "structure", "generation", "asked", "returned", "told", "forgotten", "closed", "erased")
_ENTRY = struct.Struct("<cBBII")


def put_losses_into_cells(connection: Connection) -> None:
    """Lead a storage from version 4 to version 5."""
    _make_tables(connection)
    for study in connection.execute(text("SELECT * FROM sottovoce_heads")).all():
        told, forgotten = 0, 0
        rows = text(
            "SELECT number, public FROM sottovoce_rounds WHERE study = :study AND state = 'open' ORDER BY number"
        )
        for row in connection.execute(rows, {"study": study.id}).all():
            counts = _move(connection, study, row)
            told, forgotten = told + counts[0], forgotten + counts[1]
        _seal(connection, study, told, forgotten)
    connection.execute(text("DROP TABLE sottovoce_tells"))
    for column in ("closer", "lease", "fence"):
        connection.execute(text(f"ALTER TABLE sottovoce_heads DROP COLUMN {column}"))


def _make_tables(connection: Connection) -> None:
    sqlite = connection.dialect.name == "sqlite"
    number, blob, end = ("INTEGER", "BLOB", "") if sqlite else ("BIGINT", "BYTEA", " WITH (fillfactor = 50)")
    counts = ", ".join(f"{name} {number} NOT NULL" for name in ("generation", "size", "wanted", "told", "missing"))
    for statement in (
        f"CREATE TABLE sottovoce_cells (study {number} NOT NULL REFERENCES sottovoce_heads (id), round {number} NOT "
        f"NULL, first {number} NOT NULL, {counts}, given_back {number} NOT NULL, closed {blob} NOT NULL, "
        f"losses {blob} NOT NULL, PRIMARY KEY (study, round, first)){end}",
        f"ALTER TABLE sottovoce_heads ADD COLUMN returned {number} NOT NULL DEFAULT 0",
        "ALTER TABLE sottovoce_rounds ADD COLUMN whole INTEGER NOT NULL DEFAULT 0",
        "UPDATE sottovoce_rounds SET whole = 1 WHERE state <> 'open'",
    ):
        connection.execute(text(statement))


def _move(connection: Connection, study: Any, row: Any) -> tuple[int, int]:
    """Make the cells of an open round; return how many of its losses were told, and forgotten."""
    place = {"study": study.id, "round": row.number}
    mine = " WHERE study = :study AND round = :round ORDER BY "
    drawn = connection.execute(text(f"SELECT first, draw FROM sottovoce_blocks{mine}first"), place).all()
    told = connection.execute(text(f"SELECT entry FROM sottovoce_tells{mine}number"), place).all()
    try:
        public = unpack(bytes(row.public))
        wants = np.concatenate([_wants(unpack(bytes(one.draw))) for one in drawn])
        first, size, opened = (int(public[name]) for name in ("first", "size", "opened"))
    except (DamagedRecord, KeyError, TypeError, ValueError):
        _carry_over(connection, study, row.number, b"".join(bytes(one.entry) for one in told) + b"?")
        return 0, 0
    asked = min(opened, int(study.asked) - first)
    losses: dict[int, int | None] = {}
    broken = b""
    for one in told:
        try:
            losses |= _read(row.number, bytes(one.entry))
        except ValueError:
            broken += bytes(one.entry) + b"?"
    for start in range(0, asked, _CELL):
        _insert(connection, study, row.number, wants[start : min(start + _CELL, asked)], start, losses, broken)
        broken = b""
    whole = opened == size and not wants[asked:].any()
    done = text("UPDATE sottovoce_rounds SET whole = :whole WHERE study = :study AND number = :round")
    connection.execute(done, {**place, "whole": int(whole)})
    missing = sum(value is None for value in losses.values())
    return len(losses) - missing, missing


def _wants(draw: dict[str, Any]) -> Any:
    return draw["wants"] if "wants" in draw else np.ones(len(draw["actions"]), dtype=bool)


def _read(number: int, entry: bytes) -> dict[int, int | None]:
    """Return the losses of a call by slot, as version 4 wrote them; None for losses that will never come."""
    body, seal = entry[:-_SEAL], entry[-_SEAL:]
    if checksum(str(number).encode(), body) != seal:
        raise ValueError("damaged")
    count = int.from_bytes(body[1:5], "little")
    slots = np.frombuffer(body, dtype="<u4", count=count, offset=5).tolist()
    if body[:1] == b"f":
        return dict.fromkeys(slots)
    return dict(zip(slots, np.frombuffer(body, dtype="<i8", count=count, offset=5 + 4 * count).tolist(), strict=True))


def _insert(
    connection: Connection,
    study: Any,
    number: int,
    wants: Any,
    start: int,
    losses: dict[int, int | None],
    broken: bytes,
) -> None:
    mine = {slot: losses[slot] for slot in range(start, start + len(wants)) if slot in losses}
    closed, entries = ~wants, broken
    for kind in (b"t", b"f"):
        slots = [slot for slot, value in mine.items() if (value is None) == (kind == b"f")]
        if slots:
            entries += _entry(number, kind, slots, mine)
            closed[np.array(slots) - start] = True
    told = sum(value is not None for value in mine.values())
    values = {"wanted": int(wants.sum()), "told": told, "missing": len(mine) - told, "size": len(wants)}
    _write(connection, study, number, start, np.packbits(closed, bitorder="little").tobytes(), entries, values)


def _entry(number: int, kind: bytes, slots: list[int], losses: dict[int, int | None]) -> bytes:
    """Return losses as version 5 writes them: scattered, in eight bytes each."""
    width = 0 if kind == b"f" else 8
    body = _ENTRY.pack(kind, 1, width, len(slots), slots[0]) + np.array(slots, dtype="<u4").tobytes()
    if width:
        body += np.array([losses[slot] for slot in slots], dtype="<i8").tobytes()
    return body + checksum(str(number).encode(), body)


def _carry_over(connection: Connection, study: Any, number: int, damaged: bytes) -> None:
    """Keep what cannot be read, where reading it fails as before."""
    counts = {"wanted": 1, "told": 0, "missing": 0, "size": 1}
    _write(connection, study, number, 0, b"\0", damaged, counts)


def _write(
    connection: Connection, study: Any, number: int, first: int, closed: bytes, losses: bytes, counts: dict[str, int]
) -> None:
    connection.execute(
        text(
            "INSERT INTO sottovoce_cells (study, round, first, generation, size, wanted, told, missing, given_back, "
            "closed, losses) VALUES (:study, :round, :first, :generation, :size, :wanted, :told, :missing, 0, :closed, "
            ":losses)"
        ),
        {"study": study.id, "round": number, "first": first, "generation": study.generation}
        | {"closed": closed, "losses": losses}
        | counts,
    )


def _seal(connection: Connection, study: Any, told: int, forgotten: int) -> None:
    """Write the counters anew, if they are as they were sealed."""
    before = {name: getattr(study, name) for name in _OLD}
    waiting = repr((study.patience, study.deadline)).encode()
    writers = (bytes(study.writers),) if study.writers else ()
    numbers = "|".join(str(before[name]) for name in _OLD).encode()
    closing = repr((study.closer, study.lease)).encode()
    if checksum(numbers, bytes(study.coins), closing, waiting, *writers) != bytes(study.seal):
        return  # what was damaged is not sealed anew: it fails its checksum as before
    after = {**before, "returned": 0, "told": study.told - told, "forgotten": study.forgotten - forgotten}
    numbers = "|".join(str(after[name]) for name in _NEW).encode()
    seal = checksum(numbers, bytes(study.coins), waiting, bytes(study.writers))
    connection.execute(
        text("UPDATE sottovoce_heads SET told = :told, forgotten = :forgotten, seal = :seal WHERE id = :id"),
        {"told": after["told"], "forgotten": after["forgotten"], "seal": seal, "id": study.id},
    )
