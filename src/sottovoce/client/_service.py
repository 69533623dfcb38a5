"""Calls of a service over HTTP, repeated while it is away.

No error from here holds what was sent: those of httpx2 hold the request with its body, and are let go of before ours is
raised, outside `except`. Nor is a redirect followed: it may lead to where losses must not go.

Tests: tests/client/test_retries.py, tests/client/test_discretion.py.
"""

import json
import os
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sottovoce import _fork
from sottovoce._extras import load
from sottovoce._loopback import is_loopback
from sottovoce.client._problems import error_from, kind_of
from sottovoce.client.retries import Retries, told_to_wait
from sottovoce.errors import ServiceAway, SottovoceError, StorageError

_IDLE_SECONDS = 4.0  # a connection is let go of before servers do it, most of them after 5: a call would fail on it
_AGAIN = (429, 502, 503, 504)
_LINES = "application/x-ndjson"


@dataclass(frozen=True)
class _Failure:
    """An attempt that may be repeated, in words; and for how long the service wants to be left alone."""

    error: SottovoceError
    told: float | None = None


class Service:
    """A service that can be called, from any thread, and after a fork from the child as well.

    Parameters
    ----------
    url, insecure
        Where it is; and whether losses and keys may travel there in clear.
    key
        Sent with every call; kept out of everything that is shown.
    retries
        How often calls are repeated, and when.
    timeout
        Seconds to wait for a connection, and for each piece of an answer.
    certificates
        What to trust: None for what the system trusts, or the file of a certificate authority.
    """

    def __init__(
        self, url: Any, key: str | None, retries: Retries, timeout: float, certificates: Any, *, insecure: bool
    ) -> None:
        self.base, self._retries = _address(url, insecure=insecure), retries
        local = is_loopback(urlsplit(self.base).hostname or "")
        httpx2 = _httpx2()
        headers = {"Accept": "application/json", "User-Agent": "sottovoce"}
        if key is not None:
            headers["Authorization"] = f"Bearer {_checked_key(key)}"
        verify = _trusted(certificates)
        limits = httpx2.Limits(keepalive_expiry=_IDLE_SECONDS)

        def connect() -> Any:
            # A proxy from the environment would see what goes to this machine, where nothing is encrypted.
            return httpx2.Client(headers=headers, timeout=timeout, verify=verify, limits=limits, trust_env=not local)

        self._connect = connect
        self._own = _Connections(connect())

    def __repr__(self) -> str:
        return f"Service({self.base!r})"

    def call(self, method: str, call: str, body: bytes | None, headers: Mapping[str, str]) -> dict[str, Any]:
        """Return the answer to a call that may be repeated: plain data.

        Parameters
        ----------
        method, call, body, headers
            Of the request; `call` is what follows the address of the service.
        """
        sent = {**headers, **({} if body is None else {"Content-Type": "application/json"})}
        retries, url = self._retries, f"{self.base}/{call}"
        for attempt in range(retries.attempts):
            found = self._attempt(method, url, body, sent)
            if isinstance(found, dict):
                return found
            if attempt + 1 == retries.attempts or (found.told or 0.0) > retries.longest:
                raise found.error
            self._connections().closed.wait(retries.wait(attempt, found.told))
        raise AssertionError("there is at least one attempt")

    def _attempt(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> dict[str, Any] | _Failure:
        httpx2 = _httpx2()
        own, failed, response = self._connections(), "", None
        try:
            response = own.request(method, url, content=body, headers=headers)
        except httpx2.HTTPError as problem:
            failed = type(problem).__name__
            if isinstance(problem, httpx2.ConnectError):  # nothing was sent, and the system says why: certificates, say
                failed += f": {problem}"
        except RuntimeError:  # it was closed at this moment, by the garbage collector
            if not own.closed.is_set():
                raise
        if response is None and own.closed.is_set():
            raise ValueError("this connection is closed: connect again")
        if response is None:
            where = f"{self.base} could not be reached, or did not answer ({failed})"
            return _Failure(ServiceAway(f"{where}; repeat the call: nothing is counted twice"))
        return self._read(response)

    def _read(self, response: Any) -> dict[str, Any] | _Failure:
        status = response.status_code
        plain = None
        with suppress(ValueError, RecursionError):  # no JSON, or none that anybody meant
            lines = response.headers.get("Content-Type", "").startswith(_LINES)
            plain = {"lines": [json.loads(one) for one in response.text.splitlines()]} if lines else response.json()
        if 200 <= status < 300:
            if isinstance(plain, dict):
                return plain
            raise error_from(status, None)
        if status not in _AGAIN:
            raise error_from(status, plain)
        error, told = error_from(status, plain), told_to_wait(response.headers.get("Retry-After"))
        if not isinstance(error, StorageError):
            words = f": {error}" if kind_of(plain) else ""
            error = ServiceAway(f"{self.base} is busy or away at present (status {status}){words}")
        return _Failure(error, told)

    def _connections(self) -> "_Connections":
        if self._own.fork_count != _fork.fork_count():  # a child must not write into its parent's connections
            self._own = _Connections(self._connect())
        return self._own

    def close(self) -> None:
        """Close all connections, each that is in use when its call ends; a call that waits gives up."""
        if self._own.fork_count == _fork.fork_count():
            self._own.close()


class _Connections:
    """The connections of one process. What is closed while calls use it is closed by the last of them.

    Closing it under them would leave open what they connect at that very moment, and nobody would close that.
    """

    def __init__(self, client: Any) -> None:
        self.fork_count = _fork.fork_count()
        self.closed = threading.Event()
        self._client = client
        self._calls: set[object] = set()  # in flight
        self._lock = threading.RLock()  # the garbage collector closes, too, wherever a thread happens to be

    def request(self, method: str, url: str, **options: Any) -> Any:
        """Carry out a request, and return the response; None once this is closed."""
        mine = object()
        try:
            with self._lock:
                self._calls.add(mine)
            return None if self.closed.is_set() else self._client.request(method, url, **options)
        finally:
            with self._lock:
                self._calls.discard(mine)  # which does no harm if it was interrupted before it was there
                self._let_go()

    def close(self) -> None:
        """Take no more calls."""
        with self._lock:
            self.closed.set()
            self._let_go()

    def _let_go(self) -> None:
        if self.closed.is_set() and not self._calls:
            self._client.close()


def _httpx2() -> Any:
    return load("httpx2", "connecting to a service")


def _checked_key(key: Any) -> str:
    if not isinstance(key, str) or not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("key must be the text that `sottovoce serve key create` has shown; what was passed is not")
    return key


def _trusted(certificates: Any) -> Any:
    if certificates is None:
        return True
    words = type(certificates).__name__
    if isinstance(certificates, str | os.PathLike):
        try:
            return ssl.create_default_context(cafile=certificates)
        except OSError as problem:
            words = f"{os.fspath(certificates)}: {type(problem).__name__}"
    raise ValueError(f"certificates must be the file of a certificate authority, got {words}")


def _address(url: Any, *, insecure: bool) -> str:
    """Return the address that a URL is; refuse one to which losses and keys would travel in clear.

    Examples
    --------
    >>> _address("https://decide.example/", insecure=False)
    'https://decide.example'
    """
    if not isinstance(url, str):
        raise TypeError(f"url must be a text such as 'https://decide.example', got something of {type(url)}")
    parts = host = None
    with suppress(ValueError):  # its words may repeat a password
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    if parts is None or parts.scheme not in ("https", "http") or not host or any(c.isspace() for c in url):
        raise ValueError("url must be like 'https://decide.example' or 'http://127.0.0.1:8420'")
    if "@" in parts.netloc:
        raise ValueError("url must not hold a user or a password: pass the key by key=")
    if parts.query or parts.fragment:
        raise ValueError("url must end with the path of the service, without ? and #")
    if parts.scheme == "http" and not (insecure or is_loopback(host)):
        raise ValueError(
            f"http://{host} would carry losses and the key in clear: use https://, or, on a network that nobody else "
            "can read, insecure=True"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
