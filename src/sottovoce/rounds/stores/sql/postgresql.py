"""A database on a server, for several hosts, by psycopg, which prepares every statement once.

What is run for every loss goes straight to libpq, which takes half as long.

A transaction in which nothing happens is ended by the server within seconds: so a process that was stopped half-way
holds up no other for long. One that computes within a transaction (a point, a plan) is alive, though, and says so from
a thread of its own (`Pulse`); a stopped process has all of its threads stopped.
"""

import os
import re
import select
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
_IDLE = 0  # of libpq: no transaction is open

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
        self._heard: select.poll | None = None  # says whether the server has sent anything
        self._prepared: dict[str, bytes] = {}  # what goes straight to libpq
        self._travelling = False  # whether statements were sent together that are not all answered
        self._names = count()  # of statements: none twice, should one be prepared and not noted
        self._pulse = Pulse()

    def _connect(self) -> None:
        """See to it that there is a connection; make a new one, if the server has ended it meanwhile."""
        if self._raw is not None and (self._raw.closed or self._heard is None or self._heard.poll(0)):
            self._forget()  # a server says nothing unasked but that it is over
        if self._raw is None:
            self._heard, self._prepared, self._travelling = None, {}, False
            self._raw = self._connected()
            heard = select.poll()
            heard.register(self._raw.fileno(), select.POLLIN)
            self._heard = heard

    def _connected(self) -> Any:
        psycopg = load("psycopg", "a study on PostgreSQL")
        raw = None
        try:
            raw = psycopg.connect(self._url, autocommit=True, prepare_threshold=0, cursor_factory=psycopg.RawCursor)
            raw.prepared_max = None
            raw.adapters.register_dumper(int, psycopg.types.numeric.Int8BinaryDumper)  # of one size, or each is another
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
            self._raw.execute(_BEGIN)
            self._pulse.beat_on(self._raw)

    def _commit(self, begins: bool) -> None:
        if begins:
            self._pulse.rest()
            if self._pulse.failure is not None:  # then nothing can be committed any more
                raise self._pulse.failure
            self._raw.execute("COMMIT")

    def _let_go(self, problem: BaseException) -> None:
        self._pulse.rest()
        raw = self._raw
        if self._travelling or (raw is not None and raw.closed):  # the driver may be anywhere
            self._forget()
        elif raw is not None and raw.info.transaction_status != _IDLE:
            try:
                self._checked(raw.pgconn.exec_(b"ROLLBACK"))  # by psycopg's own, all would have to be prepared again
            except Exception:
                self._forget()

    def _execute(self, statement: str, values: Values) -> list[Row]:
        if isinstance(values, Mapping):
            return self._quickly(statement, values)
        return _rows(self._cursor_of(statement, values))

    def _cursor_of(self, statement: str, values: Values) -> Any:
        text, order = _numbered(statement)
        given = [values[name] for name in order] if isinstance(values, Mapping) else values
        return self._raw.execute(text, given, binary=True)

    def _quickly(self, statement: str, values: Mapping[str, Any]) -> list[Row]:
        """Run a statement straight by libpq: it returns integers."""
        text, order = _numbered(statement)
        bare = [values[name] for name in order]
        given = [one if type(one) is bytes else b"%d" % one for one in bare]
        with self._pulse.lock: found = self._exchanged(text, given, [type(one) is bytes for one in bare])  # noqa: E701  # fmt: skip
        cells = [[found.get_value(row, at) for at in range(found.nfields)] for row in range(found.ntuples)]
        return [tuple(None if one is None else int.from_bytes(one, "big", signed=True) for one in row) for row in cells]

    def _exchanged(self, text: str, given: list[bytes], formats: list[bool]) -> Any:
        wire = self._raw.pgconn
        if text not in self._prepared:
            name = b"sottovoce_%d" % next(self._names)
            self._checked(wire.prepare(name, text.encode()))
            self._prepared[text] = name
        return self._checked(wire.exec_prepared(self._prepared[text], given, formats, 1))

    @staticmethod
    def _checked(result: Any) -> Any:
        import psycopg

        if result.status not in (psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.TUPLES_OK):
            raise psycopg.errors.error_from_result(result)
        return result

    def batch(self, steps: Sequence[tuple[str, Values]]) -> list[list[Row]]:
        """Send all of them before the first is answered: one journey for all."""
        if len(steps) < 2:
            return super().batch(steps)
        self._travelling = True
        with self._pulse.lock: sent = self._journey(steps)  # noqa: E701  # fmt: skip
        self._travelling = False
        return [_rows(one) for one in sent]

    def _journey(self, steps: Sequence[tuple[str, Values]]) -> list[Any]:
        """Send them, and read what comes.

        A driver asks for a flush behind the end of what it sends: the server would wait no more for a transaction in
        which nothing happens, but for ever. The end is flushed anyway.
        """
        try:
            with self._raw.pipeline() as sending:
                sending._fetch_gen = partial(_fetching, sending, sending._fetch_gen)
                return [self._cursor_of(statement, values) for statement, values in steps]
        except Exception as problem:
            if isinstance(problem.__context__, KeyboardInterrupt):  # behind what the driver says of being cut short
                raise problem.__context__ from None
            raise

    def _explained(self, problem: BaseException) -> BaseException:
        if type(problem).__module__.partition(".")[0] != "psycopg":
            return problem
        state = getattr(problem, "sqlstate", None) or ""
        if type(problem).__name__ == "DataError" and not state:
            return ValueError("a text with the character NUL in it cannot be stored")
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


def _fetching(sending: Any, fetch: Callable[..., Any], *, flush: bool) -> Any:
    """Fetch results, without a flush once the end is sent: whoever was cut short before it would wait for ever."""
    ended = not sending.command_queue and sending.result_queue and sending.result_queue[-1] is None
    return fetch(flush=flush and not ended)


def _rows(cursor: Any) -> list[Row]:
    return cursor.fetchall() if cursor.description else []
