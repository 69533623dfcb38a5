"""The catalogue: everything that ships, in configurations small enough to audit.

Every exploration, mechanism and guarantee is here, with one and with several events a person, and every way of living:
known horizons and epochs, in memory and in studies, with losses and with reports that their owners privatised.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sottovoce.auditing.subjects.alone import MechanismAlone
from sottovoce.auditing.subjects.configurations import Configuration
from sottovoce.auditing.subjects.evaluated import EvaluationConfiguration
from sottovoce.domains import Ball, Box, Hypersimplex, Simplex
from sottovoce.plans import EXPLORATIONS
from sottovoce.privacy import ITEM_SUMS, MECHANISMS, PROBE_SUMS, ZCDP, ApproxDP, Guarantee, LocalDP, PureDP

_SEGMENTS = ("phone", "desktop")


def shipped(epsilon: float = 1.0, delta: float = 0.0) -> list[Configuration]:
    """Return small configurations of all that ships.

    Parameters
    ----------
    epsilon, delta
        The guarantee. With a delta of 0, pure privacy, and besides zCDP with rho = epsilon^2/2, which it implies.

    Examples
    --------
    >>> [one.label for one in shipped() if one.plan.exploration == "designs"][:2]
    ['designs, probe-sums', 'integral designs, probe-sums']
    """
    central, twice = _central(epsilon, delta), _central(epsilon, delta, 2)
    every = [one for count in (1, 2) for one in _guarantees(epsilon, delta, count)]
    found = [make(privacy) for make in (_believing, _segmented, _by_item, _frame) for privacy in every]
    found += [*_posterior(central, twice), *_items(central, twice), *_frames(central), *_designs(central, twice)]
    found += _with_other_mechanisms(_guarantees(epsilon, delta))
    found += [_sphere(twice, "tree"), *_other_explorations(central)]
    if not delta:  # owners keep pure privacy
        for count in (1, 2):
            owners, choices = LocalDP(epsilon, count), {"exploration": "frames", "batch_size": 4}
            label = label_of("frames, local", owners)
            found.append(Configuration(Box(0.0, 1.0, 1), owners, horizon=8, choices=choices, label=label))
        found += [_believing(LocalDP(epsilon)), _segmented(LocalDP(epsilon))]
    return found


def mechanisms_alone(epsilon: float = 1.0, delta: float = 0.0) -> list[MechanismAlone]:
    """Return every mechanism by itself, where runs are cheap enough to see a wrong scale.

    Parameters
    ----------
    epsilon, delta
        Of the guarantee; a delta of 0 for a pure one.

    Examples
    --------
    >>> [one.privacy.contributions for one in mechanisms_alone() if one.name == "tree"]
    [1, 1, 3, 3]
    """
    return [
        MechanismAlone(one.name, privacy)
        for one in MECHANISMS.values()
        for contributions in (1, 3)
        for privacy in _guarantees(epsilon, delta, contributions)
        if one.noised and one.serves(privacy)
    ]


def evaluations_shipped(epsilon: float = 1.0, delta: float = 0.0) -> list[EvaluationConfiguration]:
    """Return small configurations of evaluations, in all ways in which they can be had.

    Parameters
    ----------
    epsilon, delta
        As for `shipped`.

    Examples
    --------
    >>> [one.label for one in evaluations_shipped()][-2:]
    ['evaluations, local', 'evaluations, local, 4 events a person']
    """
    central, found = _central(epsilon, delta), []
    for count in (1, 2):
        once = _central(epsilon, delta, count)
        found += [_evaluated(privacy) for privacy in _guarantees(epsilon, delta, count)]
        found.append(_evaluated(once, "evaluations, two at once", together=2, batches=2))
        found.append(_evaluated(once, "evaluations with squares", variance=True))
        found.append(_evaluated(once, "stored evaluations", batches=2, stored=True))
        found.append(_evaluated(once, "stored evaluations with squares", batches=2, variance=True, stored=True))
    counted = replace(_evaluated(_central(epsilon, delta, 2), "evaluations, people counted"), people=2)
    hasty = _evaluated(central, "evaluations, patience of 1", patience=1)
    large = _evaluated(central, "evaluations of 5,000 events", events=5000, batches=1, schedules=("block",))
    owners = [_evaluated(LocalDP(epsilon, count), events=4, batches=2) for count in (1, 4)]
    return [*found, counted, hasty, large, *([] if delta else owners)]


def label_of(what: str, privacy: Guarantee) -> str:
    """Return a name that says what is promised, too, unless that is the usual.

    Examples
    --------
    >>> label_of("tree alone", ZCDP(0.5, contributions=3))
    'tree alone, zCDP, 3 events a person'
    """
    several = f", {privacy.contributions} events a person" if privacy.contributions > 1 else ""
    return f"{what}{', zCDP' if isinstance(privacy, ZCDP) else ''}{several}"


def _central(epsilon: float, delta: float, contributions: int = 1) -> Guarantee:
    return ApproxDP(epsilon, delta, contributions) if delta else PureDP(epsilon, contributions)


def _guarantees(epsilon: float, delta: float, contributions: int = 1) -> list[Guarantee]:
    central = _central(epsilon, delta, contributions)
    return [central] if delta else [central, ZCDP(epsilon**2 / 2, contributions)]


def _mechanism_of(privacy: Guarantee) -> str:
    return "local" if isinstance(privacy, LocalDP) else "probe-sums"


def _believing(privacy: Guarantee, what: str = "posterior", **more: Any) -> Configuration:
    """Return what people get who choose nothing: rounds whose decisions were drawn from what was released before."""
    each = 2 * privacy.contributions  # events of a decision: enough for all of a person's
    given: dict[str, Any] = {
        "horizon": 6 * each,
        "choices": {"exploration": "posterior", "probes": 2, "least_events": each},
        "losses": "linear",
        "integral": True,
        "label": label_of(f"{what}, {_mechanism_of(privacy)}", privacy),
    }
    return Configuration(Hypersimplex(4, 2), privacy, **{**given, **more})


def _segmented(privacy: Guarantee, what: str = "posterior, segments", **more: Any) -> Configuration:
    """Return segments, a stream of rounds each; a person with two events is in two segments, or in one."""
    return _believing(privacy, what, **{"segments": _SEGMENTS, **more})


def _posterior(central: Guarantee, twice: Guarantee) -> Iterator[Configuration]:
    choices = {"exploration": "posterior", "probes": 2, "least_events": 2}
    yield Configuration(
        Ball(2), central, horizon=12, choices=choices, loss_range=(0.0, 2.0), label="convex posterior, probe-sums"
    )
    six = {**choices, "probes": 6, "least_events": 1}  # enough numbers to notice a change
    yield _believing(central, "posterior with six probes", choices=six, horizon=18)
    yield _believing(central, "posterior, patience of 1", patience=1)
    long = {**choices, "least_events": 32}  # so that a few rounds reach the second epoch
    yield _believing(central, "posterior, epochs", horizon=None, choices=long)
    yield _believing(central, "study of posterior", stored=True)
    yield _believing(twice, "posterior, people counted", people=2)
    yield _believing(twice, "study of posterior, people counted", people=2, stored=True)
    factors = {"device": ["phone", "desktop"], "country": ["it", "de"]}
    yield _segmented(central, "posterior, segments of factors", segments=factors, horizon=24)
    yield _segmented(central, "posterior, segments, patience of 1", patience=1)
    shops = [f"shop {one}" for one in range(12)]
    yield _segmented(central, "posterior, 12 segments", segments=shops)
    yield _segmented(central, "study of posterior, segments", horizon=6, stored=True)


def _by_item(
    privacy: Guarantee, what: str = "items, most", most: float | None = 1.0, horizon: int = 130, **more: Any
) -> Configuration:
    """Return feedback by item; neighbours click disjoint items."""
    return Configuration(
        Hypersimplex(list("abcde"), 3),  # an odd number: neighbours who click disjoint items click not as many
        privacy,
        horizon,  # a first round has 64 events at least
        {"probes": 2},
        loss_range=(0.0, 1.0) if most is None else (-1.0, 0.0),
        integral=True,
        label=label_of(f"{what}, item-sums", privacy),
        feedback="items",
        most=most,
        **more,
    )


def _items(central: Guarantee, twice: Guarantee) -> Iterator[Configuration]:
    stored: dict[str, Any] = {"stored": True, "schedules": ("block", "shuffled")}
    changes = ((30, Hypersimplex(list("bcdefg"), 5)),)  # from the second round on, to more items, and others
    changing: dict[str, Any] = {"horizon": 200, "changes": changes}
    yield _by_item(central, "items", None)
    yield _by_item(central, "items, segments", None, 260, segments=_SEGMENTS)
    yield _by_item(central, "study of items", None, **stored)
    yield _by_item(central, "study of items, most", **stored)
    yield _by_item(central, "items, a set that changes", None, **changing)
    counted: dict[str, Any] = {"stored": True, "people": 2, "schedules": ("block", "pieces")}
    yield _by_item(twice, "study of items, people counted, a set that changes", **changing, **counted)


def _frame(privacy: Guarantee, what: str = "frames, probe-sums", **more: Any) -> Configuration:
    size = 4 * privacy.contributions
    choices = {"exploration": "frames", "batch_size": size, "directions": 2}
    given: dict[str, Any] = {"horizon": 3 * size, "choices": choices, "label": label_of(what, privacy)}
    return Configuration(Simplex(3), privacy, **{**given, **more})


def _frames(central: Guarantee) -> Iterator[Configuration]:
    long = {"exploration": "frames", "batch_size": 32, "directions": 2}
    yield _frame(central, "frames, epochs, probe-sums", horizon=None, choices=long)
    yield _frame(central, "frames, patience of 1, probe-sums", patience=1)
    yield _frame(central, "study of frames, probe-sums", stored=True)


def _designs(central: Guarantee, twice: Guarantee) -> Iterator[Configuration]:
    choices = {"exploration": "designs", "rate": 0.25, "probe_events": 2, "decay": 0.0}
    for what, privacy, integral in (
        ("designs, probe-sums", central, False),
        ("integral designs, probe-sums", central, True),
        ("designs, probe-sums", twice, False),
    ):
        label = label_of(what, privacy)
        yield Configuration(Simplex(3), privacy, 24, choices, losses="linear", integral=integral, label=label)


def _with_other_mechanisms(guarantees: list[Guarantee]) -> Iterator[Configuration]:
    """Yield a configuration with every mechanism but those of all of the above, by what it takes."""
    for privacy in guarantees:
        for one in MECHANISMS.values():
            if one.noised and one.serves(privacy) and one not in (PROBE_SUMS, ITEM_SUMS):
                made = _frame(privacy, f"frames, {one.name}")
                usual = replace(made, choices={**made.choices, "mechanism": one.name})
                yield _sphere(privacy, one.name) if "vectors" in one.takes else usual


def _sphere(privacy: Guarantee, mechanism: str) -> Configuration:
    size = 2 * privacy.contributions
    choices: dict[str, Any] = {"exploration": "sphere", "mechanism": mechanism, "batch_size": size}
    return Configuration(Box(0.0, 1.0, 2), privacy, 5 * size, choices, label=label_of(f"sphere, {mechanism}", privacy))


def _other_explorations(central: Guarantee) -> Iterator[Configuration]:
    """Yield a configuration of every way of exploring that has none of its own here, as its plan comes."""
    for kind in EXPLORATIONS.values():
        if kind.name not in ("posterior", "items", "frames", "designs", "sphere"):
            choices, losses = {"exploration": kind.name}, kind.losses[0]
            yield Configuration(Simplex(3), central, 24, choices, losses=losses, label=kind.name)


def _evaluated(privacy: Guarantee, what: str = "evaluations", **more: Any) -> EvaluationConfiguration:
    label = label_of(f"{what}, {_mechanism_of(privacy)}", privacy)
    return EvaluationConfiguration(privacy, **{"events": 4 * privacy.contributions, "label": label, **more})
