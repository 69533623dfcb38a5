"""Programs that answer at a port of this machine, as long as a test needs them; and a certificate for TLS."""

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

SOURCE = str(Path(__file__).parents[1] / "src")


@contextlib.contextmanager
def started(command, port, log):
    """Start one, and wait until it listens; in the end it is told to stop. What it prints is in a file."""
    with open(log, "ab") as out:
        told = {**os.environ, "PYTHONPATH": SOURCE}
        process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=out, env=told)
    try:
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            assert process.poll() is None, Path(log).read_text()
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait(600)


@pytest.fixture(scope="session")
def certificate(system_program, tmp_path_factory):
    """A certificate for 127.0.0.1 that nobody else vouches for, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    made, key = folder / "own.pem", folder / "own.key"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=own"
    name = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", made]
    subprocess.run([system_program("openssl"), *words.split(), *name], check=True, capture_output=True)
    return made, key
