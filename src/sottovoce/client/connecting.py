"""Connecting to a service."""

from typing import Any

from sottovoce._checks import number
from sottovoce.client._accepts import Accepts
from sottovoce.client._service import Service
from sottovoce.client.remote_study import RemoteStudy
from sottovoce.client.retries import Retries
from sottovoce.privacy import LocalDP


def connect(
    url: str,
    *,
    study: str,
    key: str | None = None,
    privacy: LocalDP | None = None,
    raw_losses: bool = False,
    retries: Retries | None = None,
    timeout: float = 30.0,
    certificates: Any = None,
    insecure: bool = False,
) -> RemoteStudy:
    """Connect to a study that a service holds (`sottovoce serve`), and use it as such.

    Parameters
    ----------
    url
        Of the service: "https://decide.example". With http:// losses and the key would travel in clear: it is refused,
        except to this machine.
    study
        The name of the study.
    key
        What `sottovoce serve key create` has shown; None for a service that was started with --dev.
    privacy
        `LocalDP(epsilon)`: the most that owners of losses agree to. Nothing is told to a study that wants raw losses,
        or whose reports spend more, whatever the service says.
    raw_losses
        Whether the service may be told losses as they are, as under every guarantee but `LocalDP`: it then sees them,
        and is trusted with them. Without this no raw loss is sent, even if the service says that it wants them.
    retries
        How often calls are repeated while the service is away.
    timeout
        Seconds to wait for a connection, and for each piece of an answer.
    certificates
        For a service whose certificate the system does not trust: the file of its authority.
    insecure
        Whether http:// to another machine is fine, on a network that nobody else can read.

    Examples
    --------
    >>> remote = connect("https://decide.example", study="spring", key="sv_example")
    >>> remote
    RemoteStudy('spring' at 'https://decide.example')
    >>> remote.close()
    """
    if not isinstance(study, str) or not study or study in (".", ".."):  # dots would lead to another address
        raise ValueError(f"study must be the name of a study, got {study!r}")
    retries, accepts = Retries() if retries is None else retries, Accepts(privacy, raw_losses)
    if not isinstance(retries, Retries):
        raise TypeError(f"retries must be like sottovoce.client.Retries(attempts=3), got {retries!r}")
    service = Service(url, key, retries, number("timeout", timeout, above=0), certificates, insecure=insecure)
    return RemoteStudy(service, study, accepts)
