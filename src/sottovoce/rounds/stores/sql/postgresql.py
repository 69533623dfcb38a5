"""A database on a server, for several hosts, by psycopg, which connects, and says what errors mean.

Statements go straight to libpq, each prepared once: psycopg's cursors take several times as long.

A transaction in which nothing happens is ended by the server within seconds: so a process that was stopped half-way
holds up no other for long. One that computes within a transaction (a point, a plan) is alive, though, and says so from
a thread of its own (`Pulse`); a stopped process has all of its threads stopped.
"""

import os
import re
import select
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import count
from typing import Any, ClassVar

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

    Whoever sends several statements at once holds `lock` meanwhile: a beat must not come in between. Its thread sleeps
    between beats, and looks: an event to wake it up by would be left locked, should an interrupt come while it is set.
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
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"  # what was waited for is seen as it is
_IDLE, _BINARY, _DONE = 0, 1, (1, 2)  # of libpq: no transaction is open; how answers come; a statement was carried out
_CANCEL_SECONDS = 5.0

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
        self._heard: Any = None  # says whether the server has sent anything
        self._either: Any = None  # or can be sent more
        self._prepared: dict[str, bytes] = {}
        self._waiting: list[tuple[str, Values]] = []  # statements that are sent with the next
        self._travelling = False  # whether statements were sent that are not all answered
        self._names = count()  # of statements: none twice, should one be prepared and not noted
        self._pulse = Pulse()

    def _connect(self) -> None:
        """See to it that there is a connection; make a new one, if the server has ended it meanwhile."""
        if self._raw is not None and (self._raw.closed or self._heard is None or self._heard.poll(0)):
            self._forget()  # a server says nothing unasked but that it is over
        if self._raw is None:
            self._heard, self._prepared, self._travelling = None, {}, False
            self._raw = self._connected()
            self._either = _polling(self._raw.fileno(), select.POLLIN | select.POLLOUT)
            self._heard = _polling(self._raw.fileno(), select.POLLIN)

    def _connected(self) -> Any:
        psycopg = load("psycopg", "a study on PostgreSQL")
        raw = None
        try:
            raw = psycopg.connect(self._url, autocommit=True, client_encoding="utf8", prepare_threshold=None)
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
        self._waiting = [(_BEGIN, ())] if begins else []
        if begins:
            self._pulse.beat_on(self._raw)

    def _commit(self, begins: bool) -> None:
        if begins:
            self._pulse.rest()
            if self._pulse.failure is not None:  # then nothing can be committed any more
                raise self._pulse.failure
            self.batch([("COMMIT", ())])

    def _let_go(self, problem: BaseException) -> None:
        self._pulse.rest()
        raw, self._waiting = self._raw, []
        if raw is None:
            return
        if self._travelling or raw.closed:
            if not isinstance(problem, Exception):  # cut short: what waits for a lock is to wait no more
                with suppress(Exception):
                    raw.cancel_safe(timeout=_CANCEL_SECONDS)
            self._forget()
        elif raw.info.transaction_status != _IDLE:
            try:
                _checked(raw.pgconn.exec_(b"ROLLBACK"))
            except Exception:
                self._forget()

    def _execute(self, statement: str, values: Values) -> list[Row]:
        if self._waiting or not isinstance(values, Mapping) or _numbered(statement)[0] not in self._prepared:
            return self.batch([(statement, values)])[0]
        with self._pulse.lock: return self._quickly(statement, values)  # noqa: E701  # fmt: skip

    def _quickly(self, statement: str, values: Values) -> list[Row]:
        """Run a statement that is prepared: it takes half as long, and an interrupt waits for the server."""
        text, *bound = _bound(statement, values)
        return _rows(self._raw.pgconn.exec_prepared(self._prepared[text], *bound, _BINARY))

    def batch(self, steps: Sequence[tuple[str, Values]]) -> list[list[Row]]:
        """Send all of them before the first is answered: one journey for all, and for those that wait."""
        together, self._waiting = [*self._waiting, *steps], []
        if not together:
            return []
        with self._pulse.lock: results = self._journey(together)  # noqa: E701  # fmt: skip
        return [_rows(one) for one in results][len(together) - len(steps) :]

    def later(self, steps: Sequence[tuple[str, Values]]) -> None:
        """Send them with whatever is sent next."""
        self._waiting += steps

    def _journey(self, steps: Sequence[tuple[str, Values]]) -> list[Any]:
        """Send statements, and return what comes of each. An interrupt may come while they are waited for."""
        bound, wire, new = [_bound(*step) for step in steps], self._raw.pgconn, dict[str, bytes]()
        prepares = list[str]()  # for each that is sent: what it prepares, if it does
        self._travelling = True
        wire.enter_pipeline_mode()
        for text, *given in bound:
            if text not in self._prepared and text not in new:
                new[text] = b"sottovoce_%d" % next(self._names)
                wire.send_prepare(new[text], text.encode())
                prepares.append(text)
            wire.send_query_prepared(self._prepared.get(text) or new[text], *given, _BINARY)
            prepares.append("")
        wire.pipeline_sync()
        answers = self._answers(wire, len(prepares))
        wire.exit_pipeline_mode()
        self._travelling = False
        for text, answer in zip(prepares, answers, strict=True):
            _checked(answer)
            if text:
                self._prepared[text] = new[text]
        return [answer for text, answer in zip(prepares, answers, strict=True) if not text]

    def _answers(self, wire: Any, count: int) -> list[Any]:
        """Return the answers to so many that were sent, as they come; nothing stands behind each, the end behind all.

        A server that ends a session says why before it does.
        """
        found = list[Any]()
        try:
            while wire.flush():
                if any(event & select.POLLIN for _, event in self._either.poll()):
                    wire.consume_input()
            while len(found) <= 2 * count:
                while wire.is_busy():
                    self._heard.poll()
                    wire.consume_input()
                found.append(wire.get_result())
        except Exception:
            for one in found[::2]:
                _checked(one)
            raise
        return found[:-1:2]

    def _explained(self, problem: BaseException) -> BaseException:
        if type(problem).__module__.partition(".")[0] != "psycopg":
            return problem
        state = getattr(problem, "sqlstate", None) or ""
        if state[:2] == "23":
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

    def _in_child(self) -> None:
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


def _polling(number: int, events: int) -> Any:
    """Return what waits for events of a connection."""
    polling = select.poll()
    polling.register(number, events)
    return polling


@cache
def _numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement with numbers in place of its values, and the names that these have."""
    order = tuple(dict.fromkeys(re.findall(r"(?<!:):([a-z_]+)\b", statement)))
    places = count(1)
    return re.sub(
        r"\?|(?<!:):([a-z_]+)\b",
        lambda found: f"${next(places) if found[0] == '?' else order.index(found[1]) + 1}",
        statement,
    ), order


def _bound(statement: str, values: Values) -> tuple[str, list[bytes | None], list[bool]]:
    """Return a statement as the server has it, its values as they are sent, and which of them are bytes."""
    text, order = _numbered(statement)
    given = [values[name] for name in order] if isinstance(values, Mapping) else values
    return text, [_WRITTEN[type(one)](one) for one in given], [type(one) is bytes for one in given]


def _checked(result: Any) -> Any:
    """Return what came of a statement; raise the driver's error if it failed."""
    if result.status not in _DONE:
        from psycopg.errors import error_from_result

        raise error_from_result(result)
    return result


def _rows(result: Any) -> list[Row]:
    read = [_READ[result.ftype(at)] for at in range(_checked(result).nfields)]
    rows = [[result.get_value(row, at) for at in range(len(read))] for row in range(result.ntuples)]
    return [tuple([None if one is None else of(one) for of, one in zip(read, row, strict=True)]) for row in rows]


def _utf8(text: str) -> bytes:
    if "\0" in text:  # libpq would send what is before it
        raise ValueError("a text with the character NUL in it cannot be stored")
    return text.encode()


_WRITTEN: dict[type, Callable[[Any], bytes | None]] = {
    bytes: bytes,
    int: b"%d".__mod__,
    str: _utf8,
    float: lambda number: repr(number).encode(),
    type(None): lambda nothing: None,
}
"""How values are sent, by their type: bytes as they are, others as text."""

_number = partial(int.from_bytes, byteorder="big", signed=True)
_READ: dict[int, Callable[[bytes], Any]] = {
    17: bytes,  # bytea
    20: _number,  # bigint
    21: _number,  # smallint
    23: _number,  # integer
    25: bytes.decode,  # text
    701: lambda data: struct.unpack("!d", data)[0],  # double precision
}
"""How values are read, by the number that their type has on the server: they come in binary."""
