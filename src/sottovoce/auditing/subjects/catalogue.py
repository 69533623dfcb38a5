"""The catalogue: everything that ships, in configurations small enough to audit.

Every exploration, mechanism and guarantee is here, with one and with several events a person, and every way of living:
known horizons and epochs, in memory and in studies, with losses and with reports that their owners privatised.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sottovoce.auditing.subjects.alone import MechanismAlone, OwnersChannel
from sottovoce.auditing.subjects.configurations import Configuration
from sottovoce.domains import Ball, Box, Hypersimplex, Simplex
from sottovoce.plans import EXPLORATIONS, exploration_named
from sottovoce.privacy import (
    ITEM_SUMS,
    MECHANISMS,
    PROBE_SUMS,
    ZCDP,
    ApproxDP,
    Guarantee,
    LocalDP,
    Mechanism,
    PureDP,
    mechanism_named,
)

_SEGMENTS = ("phone", "desktop")


def shipped(
    epsilon: float = 1.0, delta: float = 0.0, *, exploration: str | None = None, mechanism: str | None = None
) -> list[Configuration]:
    """Return small configurations of all that ships, or of one exploration or mechanism.

    Parameters
    ----------
    epsilon, delta
        The guarantee. With a delta of 0, pure privacy, and besides zCDP with rho = epsilon^2/2, which it implies.
    exploration
        "posterior", "frames", "designs" or "sphere".
    mechanism
        "probe-sums", "local", or one that releases running sums.

    Examples
    --------
    >>> [one.label for one in shipped(exploration="designs", mechanism="probe-sums")][:2]
    ['designs, probe-sums', 'integral designs, probe-sums']
    """
    _check_names(exploration, mechanism)
    found = list(_all(epsilon, delta))
    if exploration is not None:
        found = [one for one in found if one.plan.exploration == exploration]
    if mechanism is not None:
        found = [one for one in found if one.plan.mechanism == mechanism]
    if not found:
        wanted = " and ".join(filter(None, (exploration, mechanism)))
        raise ValueError(
            f"no configuration has {wanted} at epsilon={epsilon:g}, delta={delta:g}; leave one of them out"
        )
    return found


def mechanisms_alone(
    epsilon: float = 1.0, delta: float = 0.0, mechanism: str | None = None
) -> list[MechanismAlone | OwnersChannel]:
    """Return every mechanism by itself, where runs are cheap enough to see a wrong scale.

    Parameters
    ----------
    epsilon
        Of the guarantee.
    delta
        Of the guarantee; 0 for a pure one.
    mechanism
        The name of one; None for all.

    Examples
    --------
    >>> [one.name for one in mechanisms_alone(mechanism="local")]
    ['one-bit channel']
    """
    _check_names(None, mechanism)
    found: list[MechanismAlone | OwnersChannel] = []
    for one in MECHANISMS.values():
        for contributions in (1, 3):
            served = (privacy for privacy in _guarantees(epsilon, delta, contributions) if one.serves(privacy))
            found += [MechanismAlone(one.name, privacy) for privacy in served if one.noised]
    if not delta:
        found.append(OwnersChannel(LocalDP(epsilon)))
    kinds = {"local": OwnersChannel}
    return [
        one for one in found if mechanism is None or one.name == mechanism or isinstance(one, kinds.get(mechanism, ()))
    ]


def _check_names(exploration: str | None, mechanism: str | None) -> None:
    if exploration is not None:
        exploration_named(exploration)
    if mechanism is not None:
        mechanism_named(mechanism)


def _all(epsilon: float, delta: float) -> Iterator[Configuration]:
    central, twice = _central(epsilon, delta), _central(epsilon, delta, 2)
    yield from _posterior(epsilon, delta)
    yield from _items(epsilon, delta)
    yield from _frames(epsilon, delta)
    yield from _designs(central, twice)
    for privacy in _guarantees(epsilon, delta):
        for one in MECHANISMS.values():
            if one.noised and one.serves(privacy) and one not in (PROBE_SUMS, ITEM_SUMS):  # all of the above
                yield _with_mechanism(one, privacy)
    yield from _other_explorations(central)
    yield _sphere(twice, "tree")
    yield replace(_believing(central, "study of posterior, probe-sums"), stored=True)
    yield replace(_frame(central, "study of frames, probe-sums"), stored=True)
    counted = replace(_believing(twice, "posterior, people counted, probe-sums"), people=2)
    yield counted
    yield replace(counted, stored=True, label="study of posterior, people counted, probe-sums")
    segmented = replace(_believing(central, "study of posterior, segments, probe-sums"), segments=_SEGMENTS, horizon=6)
    yield replace(segmented, stored=True)
    if not delta:  # owners keep pure privacy
        yield _local(LocalDP(epsilon))
        owners = _believing(LocalDP(epsilon), "posterior, local")
        yield owners
        yield replace(owners, label="posterior, segments, local", segments=_SEGMENTS)
        yield _local(LocalDP(epsilon, contributions=2))


def _central(epsilon: float, delta: float, contributions: int = 1) -> Guarantee:
    return ApproxDP(epsilon, delta, contributions) if delta else PureDP(epsilon, contributions)


def _guarantees(epsilon: float, delta: float, contributions: int = 1) -> list[Guarantee]:
    central = _central(epsilon, delta, contributions)
    return [central] if delta else [central, ZCDP(epsilon**2 / 2, contributions)]


def label_of(what: str, privacy: Guarantee) -> str:
    """Return a name that says what is promised, too, unless that is the usual.

    Examples
    --------
    >>> label_of("tree alone", ZCDP(0.5, contributions=3))
    'tree alone, zCDP, 3 events a person'
    """
    several = f", {privacy.contributions} events a person" if privacy.contributions > 1 else ""
    return f"{what}{', zCDP' if isinstance(privacy, ZCDP) else ''}{several}"


def _posterior(epsilon: float, delta: float) -> Iterator[Configuration]:
    """Yield what people get who choose nothing: rounds whose decisions were drawn from what was released before."""
    for contributions in (1, 2):
        for privacy in _guarantees(epsilon, delta, contributions):
            label = label_of("posterior, probe-sums", privacy)
            yield _believing(privacy, label)
    central, choices = _central(epsilon, delta), {"exploration": "posterior", "probes": 2, "least_events": 2}
    convex = Configuration(Ball(2), central, 12, choices, loss_range=(0.0, 2.0), label="convex posterior, probe-sums")
    yield convex
    six = {**choices, "probes": 6, "least_events": 1}  # enough numbers to notice a change
    yield replace(_believing(central, "posterior with six probes, probe-sums"), choices=six, horizon=18)
    hasty = replace(_believing(central, "posterior, patience of 1, probe-sums"), patience=1)
    yield hasty
    long = {**choices, "least_events": 32}  # so that a few rounds reach the second epoch
    epochs = replace(hasty, label="posterior, epochs, probe-sums", patience=None, horizon=None, choices=long)
    yield epochs
    yield from _segmented(epsilon, delta)


def _items(epsilon: float, delta: float) -> Iterator[Configuration]:
    """Yield feedback by item, with and without a limit to what a person counts for; neighbours click disjoint items."""
    for contributions in (1, 2):
        for privacy in _guarantees(epsilon, delta, contributions):
            yield _by_item(privacy, 1.0, label_of("items, most, item-sums", privacy))
    every = _by_item(_central(epsilon, delta), None, "items, item-sums")
    yield every
    apart = replace(every, label="items, segments, item-sums", segments=_SEGMENTS)
    yield replace(apart, horizon=2 * (every.horizon or 0))
    for small in (every, _by_item(_central(epsilon, delta), 1.0, "items, most, item-sums")):
        yield replace(small, stored=True, label=f"study of {small.label}", schedules=("block", "shuffled"))
    changes = ((30, Hypersimplex(list("bcdefg"), 5)),)  # from the second round on, to more items, and others
    yield replace(every, horizon=200, changes=changes, label="items, a set that changes, item-sums")
    yield replace(
        _by_item(_central(epsilon, delta, 2), 1.0, "study of items, people counted, a set that changes, item-sums"),
        horizon=200,
        changes=changes,
        stored=True,
        people=2,
        schedules=("block", "pieces"),
    )


def _by_item(privacy: Guarantee, most: float | None, label: str) -> Configuration:
    loss_range = (0.0, 1.0) if most is None else (-1.0, 0.0)
    return Configuration(
        Hypersimplex(list("abcde"), 3),  # an odd number: neighbours who click disjoint items click not as many
        privacy,
        130,  # a first round has 64 events at least
        {"probes": 2},
        loss_range=loss_range,
        integral=True,
        label=label,
        feedback="items",
        most=most,
    )


def _segmented(epsilon: float, delta: float) -> Iterator[Configuration]:
    """Yield segments, a lane of rounds each; a person with two events is in two segments, or in one."""
    factors = {"device": ["phone", "desktop"], "country": ["it", "de"]}
    for contributions in (1, 2):
        for privacy in _guarantees(epsilon, delta, contributions):
            label = label_of("posterior, segments, probe-sums", privacy)
            yield replace(_believing(privacy, label), segments=_SEGMENTS)
    central = _believing(_central(epsilon, delta), "posterior, segments of factors, probe-sums")
    yield replace(central, segments=factors, horizon=2 * (central.horizon or 0))
    hasty = replace(central, label="posterior, segments, patience of 1, probe-sums", patience=1)
    yield replace(hasty, segments=_SEGMENTS)
    many = replace(central, label="posterior, 12 segments, probe-sums", segments=[f"shop {one}" for one in range(12)])
    yield replace(many, horizon=12)


def _believing(privacy: Guarantee, label: str | None) -> Configuration:
    each = 2 * privacy.contributions  # events of a decision: enough for all of a person's
    choices = {"exploration": "posterior", "probes": 2, "least_events": each}
    items = Hypersimplex(4, 2)
    return Configuration(items, privacy, 6 * each, choices, losses="linear", integral=True, label=label)


def _frames(epsilon: float, delta: float) -> Iterator[Configuration]:
    for contributions in (1, 2):
        for privacy in _guarantees(epsilon, delta, contributions):
            yield _frame(privacy, label_of("frames, probe-sums", privacy))
    choices = {"exploration": "frames", "batch_size": 32, "directions": 2}
    epochs = Configuration(Simplex(3), _central(epsilon, delta), None, choices, label="frames, epochs, probe-sums")
    yield epochs
    hasty = replace(_frame(_central(epsilon, delta), "frames, patience of 1, probe-sums"), patience=1)
    yield hasty


def _frame(privacy: Guarantee, label: str | None) -> Configuration:
    size = 4 * privacy.contributions
    choices = {"exploration": "frames", "batch_size": size, "directions": 2}
    return Configuration(Simplex(3), privacy, 3 * size, choices, label=label)


def _designs(central: Guarantee, several: Guarantee) -> Iterator[Configuration]:
    base = {"exploration": "designs", "rate": 0.25, "probe_events": 2, "decay": 0.0}
    for what, privacy, integral, more in (
        ("designs, probe-sums", central, False, {}),
        ("integral designs, probe-sums", central, True, {}),
        ("integral designs with reuse, probe-sums", central, True, {"reuse": True}),
        ("designs, probe-sums", several, False, {}),
    ):
        label, choices = label_of(what, privacy), {**base, **more}
        made = Configuration(Simplex(3), privacy, 24, choices, losses="linear", integral=integral, label=label)
        yield made


def _with_mechanism(mechanism: Mechanism, privacy: Guarantee) -> Configuration:
    """Return a configuration with a mechanism, by what it takes."""
    if "vectors" in mechanism.takes:
        return _sphere(privacy, mechanism.name)
    made = _frame(privacy, label_of(f"frames, {mechanism.name}", privacy))
    return replace(made, choices={**made.choices, "mechanism": mechanism.name})


def _other_explorations(central: Guarantee) -> Iterator[Configuration]:
    """Yield a configuration of every way of exploring that has none of its own here, as its plan comes."""
    for kind in EXPLORATIONS.values():
        if kind.name not in ("posterior", "items", "frames", "designs", "sphere"):
            made = Configuration(
                Simplex(3), central, 24, {"exploration": kind.name}, losses=kind.losses[0], label=kind.name
            )
            yield made


def _sphere(privacy: Guarantee, mechanism: str) -> Configuration:
    size = 2 * privacy.contributions
    choices: dict[str, Any] = {"exploration": "sphere", "mechanism": mechanism, "batch_size": size}
    return Configuration(Box(0.0, 1.0, 2), privacy, 5 * size, choices, label=label_of(f"sphere, {mechanism}", privacy))


def _local(privacy: LocalDP) -> Configuration:
    choices = {"exploration": "frames", "batch_size": 4}
    return Configuration(Box(0.0, 1.0, 1), privacy, 8, choices, label=label_of("frames, local", privacy))
