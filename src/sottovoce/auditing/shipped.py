"""Every mechanism that ships, in a configuration small enough to audit."""

from typing import Any

from sottovoce._checks import choice
from sottovoce.auditing.configurations import Configuration
from sottovoce.domains import Box, Simplex
from sottovoce.privacy import MECHANISMS, ApproxDP, Guarantee, LocalDP, PureDP

__all__ = ["shipped"]

EXPLORATIONS = ("frames", "designs", "sphere")


def shipped(
    epsilon: float = 1.0, delta: float = 0.0, *, exploration: str | None = None, mechanism: str | None = None
) -> list[Configuration]:
    """Return small configurations of all that ships, or of one exploration or mechanism.

    Parameters
    ----------
    epsilon, delta
        The guarantee. A delta of 0 is pure privacy; mechanisms that have Gaussian noise only are then left out.
    exploration
        "frames", "designs" or "sphere".
    mechanism
        "probe-sums", "local", or one that releases running sums.

    Examples
    --------
    >>> [one.label for one in shipped(exploration="designs", mechanism="probe-sums")]
    ['designs, probe-sums', 'integral designs, probe-sums']
    """
    if exploration is not None:
        choice("exploration", exploration, EXPLORATIONS)
    if mechanism is not None:
        choice("mechanism", mechanism, ("probe-sums", *MECHANISMS, "local"))
    found = [
        made for kind, name, made in _all(epsilon, delta) if exploration in (None, kind) and mechanism in (None, name)
    ]
    if not found:
        wanted = " and ".join(filter(None, (exploration, mechanism)))
        raise ValueError(
            f"no configuration has {wanted} at epsilon={epsilon:g}, delta={delta:g}; leave one of them out"
        )
    return found


def _all(epsilon: float, delta: float) -> list[tuple[str, str, Configuration]]:
    central = _guarantee(epsilon, delta)
    every = [
        ("frames", "probe-sums", _frames(central, "frames, probe-sums")),
        ("frames", "probe-sums", _frames(_guarantee(epsilon, delta, 2), "frames, probe-sums, 2 events a person")),
        ("designs", "probe-sums", _designs(central, "designs, probe-sums", integral=False)),
        ("designs", "probe-sums", _designs(central, "integral designs, probe-sums", integral=True)),
    ]
    for name in MECHANISMS:
        if delta or name != "toeplitz":  # which has Gaussian noise only
            every.append(("sphere", name, _sphere(central, name)))
    if not delta:  # owners keep pure privacy
        for channel in ("one-bit", "laplace"):
            every.append(("frames", "local", _local(epsilon, channel)))
    return every


def _guarantee(epsilon: float, delta: float, contributions: int = 1) -> Guarantee:
    return ApproxDP(epsilon, delta, contributions) if delta else PureDP(epsilon, contributions)


def _frames(privacy: Guarantee, label: str) -> Configuration:
    choices = {"exploration": "frames", "batch_size": 4, "directions": 1}
    return Configuration(Simplex(2), privacy, 12, choices, label=label)


def _designs(privacy: Guarantee, label: str, integral: bool) -> Configuration:
    choices = {"exploration": "designs", "rate": 0.25, "probe_events": 2, "decay": 0.0}
    return Configuration(Simplex(3), privacy, 24, choices, losses="linear", integral=integral, label=label)


def _sphere(privacy: Guarantee, mechanism: str) -> Configuration:
    choices: dict[str, Any] = {"exploration": "sphere", "mechanism": mechanism, "batch_size": 2}
    return Configuration(Box(0.0, 1.0, 1), privacy, 8, choices, label=f"sphere, {mechanism}")


def _local(epsilon: float, channel: str) -> Configuration:
    choices = {"exploration": "frames", "batch_size": 4}
    return Configuration(
        Box(0.0, 1.0, 1), LocalDP(epsilon), 8, choices, channel=channel, label=f"frames, local, {channel}"
    )
