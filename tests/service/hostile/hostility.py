"""What the hostile tests share: a real service in processes of its own, which can be killed, and clients of it."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import asdict

import httpx2

import sottovoce as sv
from sottovoce.client import Retries
from sottovoce.service.keys import KeyStore
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore
from storages import free_port

_NOTHING_SECRET = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # made once, and not used: making it takes long
PATIENT = Retries(attempts=1000, first=0.05, longest=2.0)  # a service that is killed comes back, in its time

_RUN = """
import json, sys
from sottovoce.service import serving
from sottovoce.service.settings import Settings
settings = Settings(**{k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(sys.argv[1]).items()})
exec(sys.argv[2])
serving.serve(settings)
"""


def small_study(**changes):
    """A study that is made in no time, with rounds of a dozen events, all of whose losses are wanted."""
    return {
        "domain": sv.domains.Simplex(["tea", "coffee", "cocoa", "milk"]),
        "horizon": 1_000_000,
        "loss_range": (0.0, 1.0),
        "privacy": sv.PureDP(1.0),
        "losses": "linear",
        "integral": True,
        "patience": None,
    } | changes


def new_key(url, roles, study=None, **options):
    """Make a key past the service; return (public part, text)."""
    ring = KeyStore(ServiceStore(url))
    try:
        key, text = ring.create(roles, study, **options)
    finally:
        ring.close()
    return key.id, text


def revoke(url, public):
    ring = KeyStore(ServiceStore(url))
    try:
        ring.revoke(public)
    finally:
        ring.close()


def connected(port):
    """Return a connection to a port of this machine, which sends at once what it is given."""
    connection = socket.create_connection(("127.0.0.1", port), 600)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def answer_of(connection):
    """Return all that comes until the other side closes."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65536):
            found += piece
    return found


class Served:
    """A service in processes of its own; everything that they print is in `log`."""

    def __init__(self, url, folder, prelude="", **settings):
        self.url, self.log, self.port = url, folder / "service.log", free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.settings = Settings(storage=url, port=self.port, **{"rate": 1e6} | settings)
        self._prelude = prelude
        self.process = None

    def start(self):
        program = [sys.executable, "-c", _RUN, json.dumps(asdict(self.settings)), self._prelude]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.wait()
        return self

    def wait(self, seconds=600):
        """Wait until it answers."""
        for _ in range(seconds * 20):
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(f"{self.base}/health", timeout=5, trust_env=False).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"the service did not start: {self.log.read_text()[-3000:]}")

    def workers(self):
        """Return the processes that answer: the children of the supervisor, or the one process there is."""
        if self.settings.workers == 1:
            return [self.process.pid]
        found = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"/proc/{entry}/stat") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{entry}/cmdline") as command:
                    if parent == self.process.pid and "spawn_main" in command.read():
                        found.append(int(entry))
        return found

    def kill(self):
        """Kill all of it, this very moment."""
        for one in {*self.workers(), self.process.pid}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=600):
        """Stop it in good order; return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def connect(self, key, study="spring", **options):
        wished = {"retries": PATIENT, "timeout": 300.0, "raw_losses": True} | options
        return sv.connect(self.base, study=study, key=key, **wished)

    def client(self, key=None, **options):
        headers = options.pop("headers", {}) | ({} if key is None else {"Authorization": f"Bearer {key}"})
        options = {"timeout": 300.0, "verify": _NOTHING_SECRET} | options
        return httpx2.Client(base_url=self.base, headers=headers, trust_env=False, **options)
