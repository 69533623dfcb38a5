"""A database on a server, for several hosts, by psycopg. Statements are prepared once, and go straight to libpq.

A statement costs 40 microseconds this way, and twice as many by psycopg's own `execute`. What was sent has been
answered before an interrupt is dealt with: there is no statement half-way.

A transaction in which nothing happens is ended by the server within seconds: so a process that was stopped half-way
holds up no other for long. One that computes within a transaction (a point, a plan) is alive, though, and says so from
a thread of its own (`Pulse`); a stopped process has all of its threads stopped.
"""

import os
import re
import select
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from struct import Struct
from typing import Any, ClassVar, NamedTuple

from sottovoce import _fork
from sottovoce._extras import load
from sottovoce.errors import StorageError
from sottovoce.rounds.stores.sql import database
from sottovoce.rounds.stores.sql.database import Conflict, Database, Row, Values
from sottovoce.rounds.stores.sql.errors import explained

IDLE_SECONDS = float(os.environ.get("SOTTOVOCE_IDLE_SECONDS", "10"))
"""How long a server waits for a transaction in which nothing happens."""

BEAT_SECONDS = 2.5
"""How often a process that computes within a transaction says that it is alive."""


class Pulse:
    """Beats while a transaction lasts, on the connection of that transaction.

    Whoever sends a statement past the driver's own connection holds `lock` meanwhile: a beat must not come in between.
    Its thread sleeps between beats, and looks: an event to wake it up by would be left locked, should an interrupt come
    while it is set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._over = False
        self._connection: Any = None
        self._last = 0.0
        self.failure: Exception | None = None  # that a beat of the last transaction has met
        self._thread: threading.Thread | None = None

    def beat_on(self, connection: Any) -> None:
        """Beat on a driver's connection until `rest`: before the commit, for a beat would begin a new transaction."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="sottovoce pulse", daemon=True)
            thread.start()
            self._thread = thread
        with self.lock: self._connection, self._last, self.failure = connection, time.monotonic(), None  # noqa: E701  # fmt: skip

    def rest(self) -> None:
        """Beat no more until the next transaction."""
        with self.lock: self._connection = None  # noqa: E701  # fmt: skip

    def stop(self) -> None:
        """Let the thread end."""
        self._over = True

    def _run(self) -> None:
        while not self._over:
            time.sleep(BEAT_SECONDS / 2)
            with self.lock:
                if self._connection is not None and time.monotonic() >= self._last + BEAT_SECONDS / 2:
                    try:
                        self._connection.execute("SELECT 1")
                    except Exception as problem:  # a server says only once why it has ended a session
                        self.failure = self.failure or problem
                    self._last = time.monotonic()


_LOCK = 7_688_212  # of a server, while tables are made
_BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED"  # what was waited for is seen as it is
_IDLE, _COMMAND_OK, _TUPLES_OK, _SYNC = 0, 1, 2, 10  # of libpq: state of a transaction, statuses of results
_DOUBLE = Struct(">d").unpack


def _integer(value: bytes) -> int:
    return int.from_bytes(value, "big", signed=True)


_READERS: dict[int, Any] = {  # of values that a server sends, by their types, in their binary form
    16: lambda value: value == b"\x01",  # boolean
    17: bytes,
    20: _integer,
    21: _integer,
    23: _integer,
    25: bytes.decode,
    701: lambda value: _DOUBLE(value)[0],
}


_FOREIGN = r"""
SELECT CASE WHEN c.relkind <> 'r' THEN 'a view or foreign table'
            WHEN EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) THEN 'a trigger'
            ELSE 'a rule' END, c.relname::text
FROM pg_class c
WHERE c.relname LIKE 'sottovoce\_%' AND c.relkind NOT IN ('i', 'S') AND pg_table_is_visible(c.oid)
  AND (c.relkind <> 'r'
       OR EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
       OR EXISTS (SELECT 1 FROM pg_rewrite r WHERE r.ev_class = c.oid))
"""


class _Prepared(NamedTuple):
    name: bytes
    order: tuple[str, ...]  # names of its values; none if they come in order


class PostgresServer(Database):
    """See `Database`.

    Parameters
    ----------
    url
        "postgresql://user@host/database".
    create
        Of no meaning here: databases are made by those who run the server.
    """

    words: ClassVar[dict[str, str]] = {
        "bytes": "bytea",
        "serial": "bigserial PRIMARY KEY",
        "small_pages": "WITH (fillfactor = 50)",  # a tell writes its row anew: beside the old one, if there is room
    }
    lock, skip_locked = " FOR UPDATE", " FOR UPDATE SKIP LOCKED"
    overlay = "overlay(slots PLACING :new FROM CAST(:at AS int) + 1)"
    part = "substring(slots FROM CAST(:at AS int) + 1 FOR length(CAST(:new AS bytea)))"
    exclusive_or = "seal # CAST(:seal AS bigint)"

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._url = url.replace("postgresql+psycopg:", "postgresql:", 1)
        super().__init__(re.sub(r"//([^:@/]*):[^@/]*@", r"//\1:***@", self._url))
        self._raw: Any = None
        self._heard: select.poll | None = None  # says whether the server has sent anything
        self._prepared: dict[str, _Prepared] = {}
        self._numbers = count()  # of statements: none twice, should one be prepared and not noted
        self._pulse = Pulse()

    def _connect(self) -> None:
        """See to it that there is a connection; make a new one, if the server has ended it meanwhile."""
        if self._raw is not None and (self._raw.closed or self._heard is None or self._heard.poll(0)):
            self._forget()  # a server says nothing unasked but that it is over
        if self._raw is None:
            self._prepared, self._heard = {}, None
            self._raw = self._connected()
            heard = select.poll()
            heard.register(self._raw.fileno(), select.POLLIN)
            self._heard = heard

    def _connected(self) -> Any:
        psycopg = load("psycopg", "a study on PostgreSQL")
        raw = None
        try:
            # psycopg deallocates all statements after a rollback, ours too, unless it prepares none itself.
            raw = psycopg.connect(self._url, autocommit=True, prepare_threshold=None)
            self._set_up(raw)
            return raw
        except BaseException as problem:
            if raw is not None:
                raw.close()
            if not isinstance(problem, psycopg.Error):
                raise
            kind = type(problem).__name__
        raise StorageError(
            f"{self.name} cannot be reached; nothing was changed. Check host, port, user and password ({kind})"
        )

    def _set_up(self, raw: Any) -> None:
        """Make what is committed durable; and let a process that is stopped half-way not stop all others for ever."""
        for name in ("fsync", "full_page_writes"):
            if raw.execute(f"SHOW {name}").fetchone() != ("on",):
                raise StorageError(f"the PostgreSQL server runs with {name} = off: what is told would not be safe")
        if raw.execute("SHOW synchronous_commit").fetchone() == ("off",):
            raw.execute("SET synchronous_commit = on")  # a release that is lost would be drawn twice
        raw.execute(f"SET lock_timeout = {int(1000 * database.BUSY_SECONDS)}")
        raw.execute(f"SET idle_in_transaction_session_timeout = {int(1000 * IDLE_SECONDS)}")
        raw.execute(f"SET tcp_user_timeout = {int(1000 * IDLE_SECONDS)}")  # it does not read what it asked for
        raw.execute("SET plan_cache_mode = force_generic_plan")  # every statement goes by a key
        self._refuse_foreign(raw.execute(_FOREIGN).fetchall())

    def _begin(self, begins: bool) -> None:
        self._connect()
        if begins:
            self._plain(_BEGIN)
            self._pulse.beat_on(self._raw)

    def _commit(self, begins: bool) -> None:
        if begins:
            self._pulse.rest()
            if self._pulse.failure is not None:  # then nothing can be committed any more
                raise self._pulse.failure
            self._plain(b"COMMIT")

    def _let_go(self, problem: BaseException) -> None:
        self._pulse.rest()
        raw = self._raw
        if raw is not None and (raw.closed or raw.info.transaction_status != _IDLE):
            try:
                if raw.pgconn.pipeline_status:
                    raise ValueError("what was sent at once is not answered")
                self._plain(b"ROLLBACK")
            except Exception:
                self._forget()

    def _execute(self, statement: str, values: Values) -> list[Row]:
        prepared = self._prepared.get(statement) or self._prepare(statement)
        given, formats = _encoded(prepared, values)
        with self._pulse.lock: result = self._raw.pgconn.exec_prepared(prepared.name, given, formats, 1)  # noqa: E701  # fmt: skip
        return self._rows(result)

    def batch(self, steps: Sequence[tuple[str, Values]]) -> list[list[Row]]:
        """Send all of them before the first is answered: one journey for all."""
        if len(steps) < 2:
            return super().batch(steps)
        sent = []
        for statement, values in steps:
            prepared = self._prepared.get(statement) or self._prepare(statement)
            sent.append((prepared.name, *_encoded(prepared, values)))
        with self._pulse.lock: results = self._journey(sent)  # noqa: E701  # fmt: skip
        return [self._rows(one) for one in results]

    def _journey(self, sent: list[tuple[bytes, list[bytes | None], list[int]]]) -> list[Any]:
        """Return the result of each; after the first that has failed, of none."""
        wire = self._raw.pgconn
        wire.enter_pipeline_mode()
        for name, given, formats in sent:
            wire.send_query_prepared(name, given, formats, 1)
        wire.pipeline_sync()
        results: list[Any] = []
        while True:
            result = wire.get_result()
            if result is None:  # the end of one statement's, or of everything
                if self._raw.closed:
                    raise self._error_of(results[-1]) if results else _cut_off()
                continue
            if result.status == _SYNC:
                break
            results.append(result)
        wire.exit_pipeline_mode()
        return results

    def _plain(self, statement: bytes) -> None:
        with self._pulse.lock: result = self._raw.pgconn.exec_(statement)  # noqa: E701  # fmt: skip
        self._rows(result)

    def _prepare(self, statement: str) -> _Prepared:
        order: list[str] = []
        places = count(1)

        def numbered(match: re.Match[str]) -> str:
            if match[0] == "?":
                return f"${next(places)}"
            if match[1] not in order:
                order.append(match[1])
            return f"${order.index(match[1]) + 1}"

        text = re.sub(r"\?|(?<!:):([a-z_]+)\b", numbered, statement)
        name = b"sottovoce_%d" % next(self._numbers)
        with self._pulse.lock: result = self._raw.pgconn.prepare(name, text.encode())  # noqa: E701  # fmt: skip
        self._rows(result)
        self._prepared[statement] = prepared = _Prepared(name, tuple(order))
        return prepared

    def _rows(self, result: Any) -> list[Row]:
        if result.status != _TUPLES_OK:
            if result.status != _COMMAND_OK:
                raise self._error_of(result)
            return []
        readers = [_READERS[result.ftype(i)] for i in range(result.nfields)]
        return [
            tuple(
                None if (value := result.get_value(row, i)) is None else read(value) for i, read in enumerate(readers)
            )
            for row in range(result.ntuples)
        ]

    @staticmethod
    def _error_of(result: Any) -> Exception:
        """Return an error without the server's words, which may quote a value."""
        import psycopg

        state = (result.error_field(67) or b"").decode()
        with suppress(KeyError):
            return psycopg.errors.lookup(state)("")
        return _cut_off()

    def _explained(self, problem: BaseException) -> BaseException:
        if type(problem).__module__.partition(".")[0] != "psycopg":
            return problem
        if (getattr(problem, "sqlstate", None) or "")[:2] == "23":
            return Conflict("a constraint has refused this; nothing was recorded")
        failure, self._pulse.failure = self._pulse.failure, None
        return explained(problem, self.name, failure)

    def _forget(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            with suppress(Exception):
                raw.close()

    def _inherited(self) -> str:
        return "this study was opened in another process: open it again in this one, after the fork"

    def in_child(self) -> None:
        """Never close the parent's connection, and cut it off from the socket that is shared.

        Only so does the server notice that the parent is gone, and nothing that is sent here by mistake can reach it.
        """
        if self._raw is None:
            return
        _fork.leak(self._raw, self)
        with suppress(Exception):  # closed already: there is nothing to cut off
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, self._raw.fileno(), inheritable=False)
            os.close(nothing)

    def one_at_a_time(self) -> None:
        """Let nobody else make tables until the transaction ends."""
        self.run("SELECT 1 FROM (SELECT pg_advisory_xact_lock(?)) AS waited", _LOCK)

    def at_one_moment(self) -> None:
        """At the beginning of a transaction: read all that it reads as it is at one moment."""
        self.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    def now(self) -> float:
        """The server's clock."""
        return float(self.run("SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision)")[0][0])

    def tables(self) -> set[str]:
        """The tables of this library that there are."""
        found = self.run(
            "SELECT CAST(relname AS text) FROM pg_class WHERE relname LIKE 'sottovoce%' AND relkind = 'r' "
            "AND pg_table_is_visible(oid)"
        )
        return {name for (name,) in found}

    def erase(self) -> bool:
        """A server's log is not a client's to empty."""
        return True

    def check(self) -> None:
        """A server looks after its own files."""

    def _close(self) -> None:
        self._forget()
        self._pulse.stop()


def _encoded(prepared: _Prepared, values: Any) -> tuple[list[bytes | None], list[int]]:
    """Return values as they are sent: bytes as they are, all else as text, whose type follows from its place."""
    if prepared.order:
        values = [values[name] for name in prepared.order]
    given = [
        one if one is None or type(one) is bytes else _text(one) if type(one) is not int else b"%d" % one
        for one in values
    ]
    return given, [int(type(one) is bytes) for one in values]


def _text(value: Any) -> bytes:
    text = str(value).encode()
    if b"\0" in text:  # libpq would take it for the end: another text
        raise ValueError("a text with the character NUL in it cannot be stored")
    return text


def _cut_off() -> Exception:
    import psycopg

    return psycopg.OperationalError("")
