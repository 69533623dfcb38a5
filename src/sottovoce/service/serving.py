"""Running the service: uvicorn, one process or several, TLS, and a stop that loses nothing."""

import os
import socket
import ssl
import sys
from contextlib import nullcontext, suppress
from typing import Any

import uvicorn

from sottovoce.service.access_log import logging_config
from sottovoce.service.connections import BoundedProtocol
from sottovoce.service.metrics import metrics_folder
from sottovoce.service.redaction import redact_errors
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore
from sottovoce.studies import prepare_storage

__all__ = ["check", "serve"]

_SWITCH_SECONDS = 0.002  # at most, until the thread that answers gets its turn beside those that compute
_HEALTH_SECONDS = 20  # a worker that does not answer its supervisor for so long is replaced: some steps compute


def check(settings: Settings) -> None:
    """Raise what would keep every worker from starting: a supervisor would start them again and again.

    Parameters
    ----------
    settings
        How it is to run.
    """
    if settings.certificate is not None and settings.private_key is not None:
        readable = False
        with suppress(OSError):  # also what SSL has to say: nothing that helps
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(
                settings.certificate, settings.private_key, password=lambda: ""
            )  # none is asked for
            readable = True
        if not readable:
            raise ValueError(
                "certificate and private key must be two files of one pair, in PEM, which can be read, without a "
                f"passphrase, got {settings.certificate!r} and {settings.private_key!r}"
            )
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
    os.environ |= settings.in_environment()
    try:
        with metrics_folder() if settings.workers > 1 else nullcontext():
            uvicorn.run("sottovoce.service.serving:worker", factory=True, **_options(settings))
    finally:
        for name in settings.in_environment():
            os.environ.pop(name, None)


def worker() -> Any:
    """Return the application of one worker process."""
    from sottovoce.service.app import from_environment

    redact_errors()
    sys.setswitchinterval(_SWITCH_SECONDS)
    return from_environment()


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
