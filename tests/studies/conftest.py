"""Storages for the tests of studies: SQLite files, and a real PostgreSQL server that belongs to the test session."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests cannot import one another, so what they share has a name
import killing
import study_tools

_ACCOUNTS = ("postgres", "nobody")  # the server refuses to run as root


@pytest.fixture(scope="session")
def postgres_server(system_program):
    """Start a server on a free port of the loopback, with its full durability; return its URL without a database."""
    initdb = Path(system_program("initdb"))
    folder = Path(tempfile.mkdtemp(prefix="sottovoce-postgres-"))
    account = _account()
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    who = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "cwd": folder, **who}
    name = "tester"
    subprocess.run(
        [initdb, "-D", folder / "data", "-U", name, "--auth=trust", "--encoding=UTF8", "--no-locale"],
        check=True,
        stderr=subprocess.PIPE,
        **quiet,
    )
    port = _free_port()
    options = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder, "fsync": "on"}
    command = [initdb.with_name("postgres"), "-D", folder / "data"]
    for key, value in options.items():
        command += ["-c", f"{key}={value}"]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(command, stderr=log, **quiet)
    try:
        url = f"postgresql+psycopg://{name}@127.0.0.1:{port}"
        _wait_for(server, url, folder / "log")
        yield url
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nobody needs its data any more
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _account():
    if os.geteuid() != 0:
        return None
    for name in _ACCOUNTS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("PostgreSQL refuses to run as root, and there is no other account")


def _free_port():
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
    """Return a folder in memory, where there is such a thing: a killed process loses no more there than on a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture
def sqlite_url(shelf):
    """Return the URL of a file that does not exist yet."""
    return f"sqlite:///{shelf / 'study.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    """Run a test on both kinds of storage."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


@pytest.fixture
def opened():
    """`opened(url, **arguments)` is Study.open; whatever is left open is closed after the test."""
    with study_tools.Opener() as opener:
        yield opener


def pytest_terminal_summary(terminalreporter):
    """At the end of a soak: what was done to studies how often, and what became of it."""
    path = os.environ.get("SOTTOVOCE_TALLY")
    if path and os.path.exists(path):
        terminalreporter.section("what was done, and what became of it")
        for line in killing.tallied(path):
            terminalreporter.write_line(line)
