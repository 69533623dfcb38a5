"""Comparing arms by what was released of them: differences, with intervals that hold with the noise of privacy in them.

The difference of two released means is the true one plus an error whose distribution is known but for the variances of
losses, which are bounded (see _arms.py): a normal part, and one Laplace part for each released number (_error_law.py).
Its interval is the estimate plus or minus the distance that this error exceeds with a probability of a, cut to what
differences can be. With m differences a = (1 - confidence)/m, Bonferroni's correction. It holds whatever the
dependence, and differences to one control are dependent; Dunnett's would be narrower by a few hundredths, and rests on
everything being normal, which Laplace noise is not.

With stages, each look has a level of its own (_looks.py). The levels follow from the schedule and from how noisy stages
of its sizes are, before anything is released. They are computed for normal errors, with the largest variance of losses
and, again, with noise alone; the smaller one counts. Laplace parts are in the intervals of each look. That levels for
normal errors do for them is computed in the tests: paths with heavier tails, each look at its own quantiles, leave less
often.

Tests: tests/stats/test_coverage.py and tests/stats/test_stages.py, by simulation;
tests/stats/test_ab_test.py.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sottovoce._checks import choice, number, whole
from sottovoce.stats._arms import Arm, planned_error
from sottovoce.stats._error_law import ErrorLaw, summed
from sottovoce.stats._looks import levels_of_looks
from sottovoce.stats.ab_result import ABTestResult, ArmMean, Difference
from sottovoce.stats.released_mean import ReleasedMean
from sottovoce.stats.scale import Scale


def ab_test(
    arms: Mapping[str, Any],
    *,
    confidence: float = 0.95,
    pairs: str = "control",
    schedule: Sequence[int] | None = None,
    direction: str = "minimize",
) -> ABTestResult:
    """Compare arms of a test by what their evaluations have released.

    Everything is computed from released and public numbers: it costs no privacy, and may be done as often as one likes.

    Parameters
    ----------
    arms
        For each name an evaluation that is closed, or its `result`; with a schedule a list of them, one for each stage
        that is closed. The first is the control, with which others are compared; an arm that was dropped has a shorter
        list.
    confidence
        With which all differences hold together, at all looks: above 0, below 1.
    pairs
        "control" for the difference of each arm to the control, "all" for that of every two arms.
    schedule
        For a test with early looks: planned events of an arm in each stage, as they were fixed before the start.
    direction
        "minimize" losses, or "maximize": then rewards were told in their place.

    Returns
    -------
    ABTestResult
        `print` it; `to_dict()` is plain data.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(epsilon=1.0), noise=sv.SimulatedNoise(1))
    >>> a, b = evaluations.open(events=2000), evaluations.open(events=2000)
    >>> a.tell(np.arange(2000) % 10 < 5)
    >>> b.tell(np.arange(2000) % 10 < 4)
    >>> print(sv.ab_test({"A": a, "B": b}).differences[0])
    B loses 0.0999 less than A, between 0.0691 and 0.131, at 95%
    """
    level = 1 - number("confidence", confidence, above=0, at_most=math.nextafter(1, 0))
    planned = None if schedule is None else _schedule(schedule)
    every = _arms(arms, planned)
    choice("pairs", pairs, ("control", "all"))
    choice("direction", direction, ("minimize", "maximize"))
    compared = (
        [(other, one) for one, other in itertools.combinations(every, 2)]
        if pairs == "all"
        else [(one, every[0]) for one in every[1:]]
    )
    plan = planned or (1,)
    return ABTestResult(
        arms=tuple(_mean(one, level / len(every), plan) for one in every),
        differences=tuple(_difference(*pair, level / len(compared), plan, 1 - level, direction) for pair in compared),
        control=every[0].name,
        confidence=1 - level,
        loss_range=every[0].scale.loss_range,
        schedule=planned or (),
        looks=len(every[0].stages),
        direction=direction,
    )


# ---------------------------------------------------------------------- what is compared


def _arms(arms: Mapping[str, Any], planned: tuple[int, ...] | None) -> list[Arm]:
    if not isinstance(arms, Mapping) or len(arms) < 2:
        raise ValueError('arms must name two evaluations at least, such as {"A": a, "B": b}')
    every = [_arm(name, given, planned) for name, given in arms.items()]
    ranges = {one.scale.loss_range: arm.name for arm in every for one in arm.stages}
    if len(ranges) > 1:
        said = ", ".join(f"{name} {found}" for found, name in ranges.items())
        raise ValueError(f"arms must have one loss_range, or their means are not in one unit; there are {said}")
    longest = max(every, key=lambda one: len(one.stages))
    if len(every[0].stages) < len(longest.stages):
        raise ValueError(
            f"control {every[0].name!r} has {len(every[0].stages)} stages and {longest.name!r} "
            f"{len(longest.stages)}: the control is in every stage"
        )
    _check_each_once(every)
    return every


def _check_each_once(every: list[Arm]) -> None:
    """Refuse an evaluation that stands twice; one read from a storage again is known by its noise."""
    released = [(one, arm.name) for arm in every for one in arm.stages]
    for (one, name), (other, second) in itertools.combinations(released, 2):
        if one is other or (one == other and one.scale.noise is not None):
            raise ValueError(f"arms {name!r} and {second!r} hold the same evaluation: an event is in one number only")


def _arm(name: Any, given: Any, planned: tuple[int, ...] | None) -> Arm:
    if planned is None:
        if isinstance(given, list | tuple):
            raise ValueError(
                f"arm {name!r} is a list of evaluations, and there is no schedule: looking at one stage after another "
                "as if each look were the only one finds differences where there are none. Pass schedule=, as it was "
                "fixed before the start"
            )
        return Arm(name, (_released(name, given),), (1.0,))
    stages = list(given) if isinstance(given, list | tuple) else [given]
    if not 1 <= len(stages) <= len(planned):
        raise ValueError(
            f"arm {name!r} has {len(stages)} stages, and the schedule {len(planned)}: a schedule is fixed before the "
            "start, and cannot be prolonged"
        )
    return Arm(name, tuple(_released(name, one) for one in stages), tuple(float(one) for one in planned[: len(stages)]))


def _released(name: str, given: Any) -> ReleasedMean:
    found = given if isinstance(given, ReleasedMean) else getattr(given, "result", None)  # NotReleased says the rest
    if not isinstance(found, ReleasedMean):
        raise TypeError(f"arm {name!r} must be an evaluation that is closed, or its result, got {type(given).__name__}")
    return found


def _schedule(schedule: Sequence[int]) -> tuple[int, ...]:
    found = tuple(whole("an entry of schedule", one) for one in schedule)
    if len(found) < 2:
        raise ValueError(f"schedule must have two stages at least, got {len(found)}; leave it out for a single look")
    return found


# ---------------------------------------------------------------------- intervals


def _mean(arm: Arm, level: float, planned: tuple[int, ...]) -> ArmMean:
    if len(planned) == 1:
        low, high = arm.stages[0].interval(1 - level)
    else:
        at = levels_for([arm.scale], level, planned)[len(arm.stages) - 1]
        reach = summed(arm.errors()).quantile(at) / sum(arm.weights)
        bottom, top = arm.scale.loss_range
        low, high = (min(max(arm.mean + side * reach, bottom), top) for side in (-1, 1))
    return ArmMean(arm.name, arm.events, arm.mean, low, high, arm.noise_error)


def _difference(
    arm: Arm, against: Arm, level: float, planned: tuple[int, ...], confidence: float, direction: str
) -> Difference:
    looks = min(len(arm.stages), len(against.stages))
    arm, against = arm.until(looks), against.until(looks)
    at = levels_for([arm.scale, against.scale], level, planned)[looks - 1]
    low, high = arm.scale.loss_range
    estimate = arm.mean - against.mean
    reach = summed([*arm.errors(), *against.errors()]).quantile(at) / sum(arm.weights)
    least, most = (min(max(estimate + side * reach, low - high), high - low) for side in (-1, 1))
    return Difference(arm.name, against.name, estimate, least, most, confidence, direction)


def levels_for(scales: Sequence[Scale], level: float, planned: tuple[int, ...]) -> tuple[float, ...]:
    """Return the level of each planned look: known before the start, and the same whatever is lost.

    Parameters
    ----------
    scales
        Of the arms that are compared; one for a mean alone.
    level
        How often the truth may be outside of its interval at any look.
    planned
        Events of an arm in each stage.
    """
    if len(planned) == 1:
        return (level,)
    shares = tuple(so_far / sum(planned) for so_far in itertools.accumulate(planned))
    largest = [summed([planned_error(one, events) for one in scales]) for events in planned]
    found = levels_of_looks(tuple(ErrorLaw(one.deviation) for one in largest), shares, level)
    noise = math.hypot(*(0.0 if one.noise is None else one.noise.standard_deviation * one.step for one in scales))
    if noise:
        alone = levels_of_looks((ErrorLaw(noise),) * len(planned), shares, level)
        found = tuple(map(min, found, alone))
    return found
