"""Running the service: uvicorn, one process or several, TLS, and a stop that loses nothing."""

import asyncio
import gc
import os
import socket
import ssl
import sys
import tempfile
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sottovoce.service.metrics import METRICS_FOLDER
from sottovoce.service.redaction import redact_errors
from sottovoce.service.request_log import logging_config
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore
from sottovoce.studies import prepare_storage

_SWITCH_SECONDS = 0.0005  # at most, until the thread that answers gets its turn beside those that compute
_HEALTH_SECONDS = 20  # a worker that does not answer its supervisor for so long is replaced: some steps compute


def check(settings: Settings) -> None:
    """Raise what would keep every worker from starting: a supervisor would start them again and again.

    Parameters
    ----------
    settings
        How it is to run.
    """
    if settings.certificate is not None:
        try:  # no passphrase is asked for
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(settings.certificate, settings.private_key, password=lambda: "")
        except OSError:  # also what SSL has to say: nothing that helps
            raise ValueError(
                "certificate and private key must be two files of one pair, in PEM, which can be read, without a "
                f"passphrase, got {settings.certificate!r} and {settings.private_key!r}"
            ) from None
    prepare_storage(settings.storage)
    ServiceStore(settings.storage).close()
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        socket.create_server((settings.host, settings.port), family=family).close()
    except OSError as problem:
        why = str(problem.strerror).partition(" (")[0].lower()
        raise ValueError(
            f"cannot listen at port {settings.port} of {settings.host}: {why}. Pass another --port, or a --host of "
            "this machine"
        ) from None


def serve(settings: Settings) -> None:
    """Serve until a signal says to stop; calls in flight finish, and what was acknowledged is durable.

    Parameters
    ----------
    settings
        How.
    """
    with tempfile.TemporaryDirectory(prefix="sottovoce-metrics-") as folder:
        told = settings.in_environment() | ({METRICS_FOLDER: folder} if settings.workers > 1 else {})
        os.environ |= told
        try:
            uvicorn.run("sottovoce.service.serving:worker", factory=True, **_options(settings))
        finally:
            for name in told:
                os.environ.pop(name, None)


def worker() -> Any:
    """Return the application of one worker process."""
    from sottovoce.service.app import create_app  # once it is known whether workers share a folder

    redact_errors()
    sys.setswitchinterval(_SWITCH_SECONDS)
    app = create_app(Settings.from_environment())
    gc.collect()
    gc.freeze()  # what stays for good need not be looked through again and again while calls wait
    return app


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "workers": settings.workers,
        "access_log": False,  # ours knows what must not be in it
        "server_header": False,
        "proxy_headers": bool(settings.proxies),
        "forwarded_allow_ips": list(settings.proxies),
        "ssl_certfile": settings.certificate,
        "ssl_keyfile": settings.private_key,
        "timeout_graceful_shutdown": max(1, round(settings.grace)),
        "timeout_worker_healthcheck": _HEALTH_SECONDS,
        "log_config": logging_config(),
        "log_level": "warning",
        "loop": "auto",  # uvloop, where there is one
        "http": BoundedProtocol,
        "ws": "none",
    }


# ----------------------------------------------------------------------
# Without a proxy: uvicorn with httptools reads a head without end, and waits for a request for ever.


LARGEST_HEAD = 64 << 10
"""Bytes of an address with its headers, as far as they come in several pieces; a piece has at most 256 KiB."""

SECONDS = 30.0
"""Between two looks at a connection: one that has nothing answered from one to the next is closed."""

MOST_CONNECTIONS = 800
"""In one worker; more are closed at once. Processes may often have 1024 files open."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `uvicorn.Config(http=BoundedProtocol)` has all of them so."""

    _looking: asyncio.TimerHandle | None = None
    _head = 0  # bytes since the last head or piece of a body

    def connection_made(self, transport: Any) -> None:
        """Take a connection, if there are not too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a piece; refuse if the head goes on for too long."""
        self._head += len(data)
        super().data_received(data)
        if self._head > LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response(f"An address and its headers must have at most {LARGEST_HEAD} bytes.")

    def on_headers_complete(self) -> None:
        """End a head."""
        self._head = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body, which is no head."""
        self._head = 0
        super().on_body(body)

    def _look_again(self) -> None:
        self._looking = self.loop.call_later(SECONDS, self._look, self.cycle)

    def _look(self, before: Any) -> None:
        """Close a connection whose next request does not come, or not as a whole, while nobody works for it."""
        if self.cycle is before and (before is None or before.response_complete or before.more_body):
            self.transport.close()
        else:
            self._look_again()
