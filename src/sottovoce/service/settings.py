"""What a service is told when it starts; handed to its worker processes through their environment."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from sottovoce._checks import number, whole
from sottovoce._loopback import is_loopback
from sottovoce.privacy import NoiseSource, SimulatedNoise

ENVIRONMENT = "SOTTOVOCE_SERVICE"


def _said(group: str, words: str, written: str | None = None) -> dict[str, Any]:
    """Return what makes a field an option of `sottovoce serve` as well: its heading, its help, and its name there."""
    return {"group": group, "help": words, "written": written}


@dataclass(frozen=True)
class Settings:
    """How a service runs.

    Parameters
    ----------
    storage
        Where studies live, as for `Study.open`; never shown, for it may hold a password.
    host, port
        Where it listens.
    workers
        Processes that share the work.
    dev
        Without keys, on this machine alone: every request may do everything.
    simulated
        With `dev`: the seed of simulated noise, or a source of it. Such studies are NOT PRIVATE.
    grace
        Seconds that calls in flight are given to finish when the service stops.
    rate
        Requests a second that a key may make for long.
    largest_body, largest_block
        Bytes of a request; actions of one call.
    open_studies
        Studies that a worker keeps open; those that were not used for longest are closed.
    origins
        Origins of pages that may call the service from a browser; none, unless they are named.
    proxies
        Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed; none, unless they are named.
    certificate, private_key
        Files for TLS; without them a proxy is expected to do that, or the service to be on a private network.
    """

    storage: str = field(repr=False)
    host: str = field(default="127.0.0.1", metadata=_said("Server", "Where to listen."))
    port: int = field(default=8420, metadata=_said("Server", "Where to listen; 0 for any that is free."))
    workers: int = field(default=1, metadata=_said("Server", "Processes; several are for PostgreSQL."))
    dev: bool = field(default=False, metadata=_said("Server", "Without keys, on this machine alone."))
    simulated: int | NoiseSource | None = field(
        default=None,
        metadata=_said("Server", "With --dev: a seed; studies made so are NOT PRIVATE.", "--simulated-noise"),
    )
    grace: float = field(default=30.0, metadata=_said("Server", "Seconds for calls in flight when it stops."))
    rate: float = field(default=1000.0, metadata=_said("Limits", "Requests a second of a key, for long."))
    largest_body: int = field(default=1 << 22, metadata=_said("Limits", "Bytes of a request."))
    largest_block: int = field(default=10_000, metadata=_said("Limits", "Actions of a call."))
    open_studies: int = field(default=32, metadata=_said("Limits", "Studies that a worker keeps open."))
    origins: tuple[str, ...] = field(
        default=(), metadata=_said("Network", "An origin whose pages may call. Repeatable; none by default.", "--cors")
    )
    proxies: tuple[str, ...] = field(
        default=(),
        metadata=_said("Network", "A proxy whose X-Forwarded headers are believed. Repeatable.", "--trust-proxy"),
    )
    certificate: str | None = field(default=None, metadata=_said("Network", "For TLS."))
    private_key: str | None = field(default=None, metadata=_said("Network", "For TLS."))

    def __post_init__(self) -> None:
        whole("port", self.port, least=0, most=65_535)
        whole("workers", self.workers, least=1)
        number("rate", self.rate, above=0)
        number("grace", self.grace, above=0)
        for name in ("largest_body", "largest_block", "open_studies"):
            whole(name, getattr(self, name), least=1)
        if self.dev and not is_loopback(self.host):
            raise ValueError(
                f"host must be 127.0.0.1, ::1 or localhost with --dev, got {self.host!r}: without keys anybody who "
                "reaches it may do everything. Create keys (`sottovoce serve key create`), and leave --dev out"
            )
        if self.simulated is not None and (not self.dev or self.workers > 1):
            raise ValueError("simulated noise is NOT PRIVATE: it needs --dev, and one worker")
        if (self.certificate is None) != (self.private_key is None):
            raise ValueError("certificate and private key go together: pass both, or neither")
        if not all(re.fullmatch(r"https?://[^/*\s]+", origin) for origin in self.origins):
            raise ValueError(
                f"origins must be like https://shop.example, each named, without a path, got {', '.join(self.origins)}"
            )

    @property
    def noise(self) -> NoiseSource | None:
        """Simulated noise, from its beginning; None for real noise."""
        return SimulatedNoise(self.simulated) if isinstance(self.simulated, int) else self.simulated

    def in_environment(self) -> dict[str, str]:
        """Return what worker processes find in their environment."""
        return {ENVIRONMENT: json.dumps(asdict(self))}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Return what was put there.

        Parameters
        ----------
        environment
            Where to look.
        """
        stored: dict[str, Any] = json.loads(environment[ENVIRONMENT])
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
        }
        return cls(**values)
