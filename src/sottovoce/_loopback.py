"""Whether an address is this machine's own: what is sent there is read by nobody on the way."""

from ipaddress import ip_address


def is_loopback(host: str | None) -> bool:
    """Say whether a name, or an address, leads to this machine and nowhere else.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "localhost.evil.example", "192.0.2.1", None)]
    [True, True, True, False, False, False]
    """
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
