"""Where a service is, and whether losses and keys may travel there."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from sottovoce._loopback import is_loopback


@dataclass(frozen=True)
class Address:
    """The address of a service, checked.

    Examples
    --------
    >>> Address.at("https://decide.example/", insecure=False).of("studies", "spring 1", "ask")
    'https://decide.example/studies/spring%201/ask'
    >>> Address.at("http://127.0.0.1:8420", insecure=False).local
    True
    """

    base: str
    local: bool

    @classmethod
    def at(cls, url: Any, *, insecure: bool) -> "Address":
        """Return the address that a URL is; refuse one to which losses and keys would travel in clear."""
        if not isinstance(url, str):
            raise TypeError(f"url must be a text such as 'https://decide.example', got something of {type(url)}")
        parts = None
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:  # its words may repeat a password
            host = port = None
        if parts is None or parts.scheme not in ("https", "http") or not host or any(c.isspace() for c in url):
            raise ValueError("url must be like 'https://decide.example' or 'http://127.0.0.1:8420'")
        if parts.username is not None or parts.password is not None:
            raise ValueError("url must not hold a user or a password: pass the key by key=")
        if parts.query or parts.fragment:
            raise ValueError("url must end with the path of the service, without ? and #")
        local = is_loopback(host)
        if parts.scheme == "http" and not (local or insecure):
            raise ValueError(
                f"http://{host} would carry losses and the key in clear: use https://, or, on a network that nobody "
                "else can read, insecure=True"
            )
        name = f"[{host}]" if ":" in host else host
        where = name if port is None else f"{name}:{port}"
        return cls(f"{parts.scheme}://{where}{parts.path.rstrip('/')}", local)

    def of(self, kind: str, name: str, call: str) -> str:
        """Return the address of a call of a study, or of evaluations."""
        return f"{self.base}/{kind}/{quote(name, safe='')}/{call}"
