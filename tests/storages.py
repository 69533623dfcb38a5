"""Storages for the tests: SQLite files, and a real PostgreSQL server that belongs to the test session."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from sottovoce.rounds.stores.sql import _leasing

_ACCOUNTS = ("postgres", "nobody")  # the server refuses to run as root


class Server:
    """A server on a free port of the loopback, with its full durability: it can be stopped, copied and put back."""

    def __init__(self, initdb):
        self.folder = Path(tempfile.mkdtemp(prefix="sottovoce-postgres-", dir=_memory()))
        self.data = self.folder / "data"
        account = _account()
        if account is not None:
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        who = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self._quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "cwd": self.folder, **who}
        name = "tester"
        subprocess.run(
            [initdb, "-D", self.data, "-U", name, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"],
            check=True,
            stderr=subprocess.PIPE,
            **self._quiet,
        )
        port = free_port()
        options = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": self.folder, "fsync": "on"}
        self._command = [initdb.with_name("postgres"), "-D", self.data]
        for key, value in options.items():
            self._command += ["-c", f"{key}={value}"]
        self.url = f"postgresql+psycopg://{name}@127.0.0.1:{port}"

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(self._command, stderr=log, **self._quiet)
        _wait_for(self._process, self.url, self.folder / "log")

    def stop(self, how=signal.SIGQUIT):
        """Stop it: SIGINT in good order, SIGQUIT at once, as a crash would."""
        self._process.send_signal(how)
        try:
            self._process.wait(120)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def copy(self, source, target):
        """Copy a folder of data; the server must be stopped."""
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", source, target], check=True)


@contextlib.contextmanager
def _server(system_program):
    server = Server(Path(system_program("initdb")))
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server(system_program):
    """Start the server that most tests share; return its URL without a database."""
    with _server(system_program) as server:
        yield server.url


@pytest.fixture
def own_server(system_program):
    """Start a server for one test, which may stop it and put it back."""
    with _server(system_program) as server:
        yield server


def _memory():
    """Where waiting for the disk takes no time: a killed process loses no more there than on a disk."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


def _account():
    if os.geteuid() != 0:
        return None
    for name in _ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("PostgreSQL refuses to run as root, and there is no other account")


def path_of(url):
    """Return the file of an SQLite URL."""
    return url.removeprefix("sqlite:///")


def outside(url, statement, *values):
    """Carry out a statement past the library, whatever its constraints are; return the rows of a question."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(path_of(url), isolation_level=None)) as other:
            return other.execute(statement, values).fetchall()
    import psycopg

    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as server:
        server.execute("SET session_replication_role = replica")
        done = server.execute(statement.replace("?", "%s"), values)
        return done.fetchall() if done.description else []


def lease_ahead(monkeypatch):
    """Let whoever asks one by one lease for calls to come, from the second call on, however slow the machine is."""
    monkeypatch.setattr(_leasing, "_SOON", float("inf"))
    monkeypatch.setattr(_leasing, "_OFTEN", 0)


def free_port():
    """Return a port of this machine that nobody has."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def _wait_for(server, url, log, seconds=60):
    import psycopg

    plain = url.replace("+psycopg", "") + "/postgres"
    for _ in range(seconds * 10):
        if server.poll() is not None:
            break
        try:
            psycopg.connect(plain, connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    pytest.fail(f"the PostgreSQL server did not start: {log.read_text()[-2000:]}")


_schemas = iter(range(10**9))


@pytest.fixture
def postgres_url(postgres_server):
    """Return the URL of a schema of the test's own: as good as a database, and much quicker to make."""
    import psycopg

    name = f"test{next(_schemas)}"
    with psycopg.connect(postgres_server.replace("+psycopg", "") + "/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres_server}/postgres?options=-csearch_path%3D{name}"


@pytest.fixture
def shelf():
    """Return a folder in memory, where there is such a thing."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        yield Path(folder)


@pytest.fixture
def sqlite_url(shelf):
    """Return the URL of a file that does not exist yet."""
    return f"sqlite:///{shelf / 'study.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    """Run a test on both kinds of storage."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
