"""Rehearse a plan: play it, and the same without privacy, in generic worlds, and say what to expect of it."""

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from sottovoce._checks import number
from sottovoce._threads import single_threaded
from sottovoce.learning import Plan, PrivateBandit
from sottovoce.plans.choosing import make_plan
from sottovoce.plans.forecast import NOT_REHEARSED, Case, Forecast
from sottovoce.plans.problem import Problem
from sottovoce.playing import LocalReports, play
from sottovoce.privacy import Guarantee, LocalDP, NoPrivacy, SimulatedNoise
from sottovoce.rehearsal._reading import BARELY, Shares, price_between
from sottovoce.rehearsal._scope import LONGEST_RUN, STEP, WORK, lengths, oracle_work, scope_of, work_of
from sottovoce.rehearsal._worlds import worlds_of

OPEN_ENDED = 100_000
"""Events that are forecast where no horizon is given."""

_SEED = 19_540_311
"""Of all worlds and runs: the same plan is forecast alike on every call."""

_LOTS = 3  # which stream of a seed people's lots are drawn from
_MOST_LEARNED = 0.1  # share at which longer runs than were asked about have no more to say
_FAR = 4  # from runs so many times as short that have barely learned, nothing is extrapolated
CONTRASTS = (0.01, 0.03, 0.1, 0.3)
"""How much better the best decision may be than never learning, as shares of the range, where nobody says it."""

_USUAL = 0.1  # the one of them that all other numbers of a forecast are of
_OWN, _EACH = 0.55, 0.15  # shares of the work: for that one, and for each of the others
_MORE = "rehearse=10 takes ten times as long; or rehearse a smaller set of the same kind"


class NotRehearsed(ValueError):
    """There is no forecast, and the message says why."""


def rehearsed(
    problem: Problem,
    plan: str | Plan = "auto",
    choices: dict[str, Any] | None = None,
    contrast: float | None = None,
    scatter: float | None = None,
    *,
    endless: bool = False,
    times: float = 1.0,
) -> Forecast:
    """Play a plan in generic worlds, and return what to expect of it.

    Where nothing is known of the world, it is played in worlds of several contrasts.

    Parameters
    ----------
    problem
        What is given; at the horizon that is asked about.
    plan, choices
        As for `PrivateBandit`.
    contrast, scatter
        As for `Rehearsal`, where they are known; the scatter is otherwise that of clicks.
    endless
        Whether the horizon is unknown: `OPEN_ENDED` events are played then.
    times
        What the work that it may take is multiplied by.

    Raises
    ------
    NotRehearsed
        If even a short rehearsal would take long; says what to do instead.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Problem(sv.domains.Simplex(3), 2_000, (0.0, 1.0), sv.PureDP(1.0), losses="linear", integral=True)
    >>> forecast = rehearsed(problem, times=0.1)
    >>> forecast.share.central < 0.5, forecast.price.low >= 1.0
    (True, True)
    """
    if endless:
        problem = replace(problem, horizon=OPEN_ENDED)
    for name, value, most in (("contrast", contrast, 0.9), ("scatter", scatter, 0.5)):
        if value is not None:
            number(name, value, above=0.0, at_most=most)

    def played(contrast: float, share: float, *, free: bool) -> Rehearsal:
        worlds = contrast, _implied(contrast) if scatter is None else scatter
        one = Rehearsal(problem, plan, choices or {}, *worlds, endless=endless, times=share * times, free=free)
        one.play()
        return one

    if contrast is not None:
        return played(contrast, 1.0, free=True).forecast()
    whole = played(_USUAL, _OWN, free=True)
    found, events, cases = whole.forecast(), 0, []
    for one in CONTRASTS:
        case = Case(one, _implied(one) if scatter is None else scatter)
        with suppress(NotRehearsed):
            other = whole if one == _USUAL else played(one, _EACH, free=False)
            events += other.events
            said = other.forecast()
            case = replace(case, share=said.share, half=said.half)
        cases.append(case)
    return replace(found, events=events, cases=tuple(cases))


def _implied(contrast: float) -> float:
    """The scatter that a contrast implies: that of clicks which come so often."""
    return math.sqrt(contrast * (1 - contrast))


@dataclass(eq=False)
class Rehearsal:
    """The runs of a rehearsal, in private and without privacy, by length and world.

    Parameters
    ----------
    problem
        What is planned for.
    plan, choices
        As for `PrivateBandit`.
    contrast, scatter
        Of the worlds, as shares of the loss range: how much better the best decision is than never learning (always
        playing the middle), and the standard deviation of people's losses at one decision.
    endless
        Whether the horizon is unknown.
    times
        What the usual effort is multiplied by.
    free
        Whether it is played without privacy, too.
    """

    problem: Problem
    plan: str | Plan
    choices: dict[str, Any]
    contrast: float
    scatter: float
    endless: bool = False
    times: float = 1.0
    free: bool = True
    events: int = field(default=0, init=False)
    notes: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        problem = self.problem
        if problem.prior is not None:
            self.notes = ("rehearsed without the prior: if that fits the world, expect to be ahead of this",)
        if problem.segments is not None:
            self.notes += ("rehearsed without segments: what sets one of them apart takes events of its own",)
        problem = replace(problem, prior=None, accept_prior=None, segments=None)
        self.problem = replace(problem, direction="minimize", turned=False)  # worlds have losses; mirrored ranges suit
        self._left, self._plan = self.times * WORK, cache(self._made)
        wanted = lengths(problem.horizon) if isinstance(self.plan, str) else (problem.horizon,)
        scope = scope_of({length: work for length in wanted if (work := self._work(length)) < math.inf}, self._left)
        if scope is None:
            raise NotRehearsed(self._too_large())
        self.lengths, count = scope
        self.worlds = worlds_of(self.problem, _SEED, count, self.contrast, self.scatter)
        self._runs: dict[Guarantee, dict[int, list[float]]] = {problem.privacy: {}}
        if self.free and problem.privacy.private:
            self._runs[NoPrivacy()] = {}

    def _made(self, length: int) -> Plan | None:
        """Return the plan for a length; None where choices do not fit one so short, or runs would be too long."""
        try:
            made = make_plan(replace(self.problem, horizon=length), self.plan, **self.choices)
        except ValueError:
            if length == self.problem.horizon:
                raise
            return None
        return made if length <= LONGEST_RUN else None

    def _work(self, length: int) -> float:
        """Return how much work a run of a length is, in private and without privacy."""
        made = self._plan(length)
        return math.inf if made is None else 2 * work_of(self.problem, made, endless=self.endless)

    def _too_large(self) -> str:
        if not isinstance(self.plan, str):
            events = f"{self.problem.horizon:,} events"
            return f"{NOT_REHEARSED}: a ready Plan is played at its own horizon alone, and {events} would take long"
        why = f"decisions have {self.problem.domain.dimension:,} coordinates"
        if oracle_work(self.problem.domain):
            why += " and the set's oracle is slow"
        return f"{NOT_REHEARSED}: {why}, so that runs would take long; {_MORE}"

    def play(self) -> None:
        """Play runs up to the horizon; and longer ones, while there is room and most is not learned."""
        steps = list(self.lengths)
        while steps:
            length = steps.pop(0)
            for guarantee, found in self._runs.items():
                found[length] = [self.run(world, length, guarantee) for world in range(len(self.worlds))]
            self._left -= len(self.worlds) * self._work(length)
            steps = steps or self._further()

    def _further(self) -> list[int]:
        """Return the next longer run, if it would say more."""
        private = self._shares(self.problem.privacy)
        longest, length = private.longest, STEP * private.longest
        learned = private.at(longest).central <= _MOST_LEARNED
        if learned or not isinstance(self.plan, str) or length > LONGEST_RUN or longest < self.problem.horizon:
            return []
        return [length] if len(self.worlds) * self._work(length) <= self._left else []

    def run(self, world: int, length: int, guarantee: Guarantee) -> float:
        """Play one run in one of the worlds, and return its share.

        Parameters
        ----------
        world
            Its number.
        length
            In events.
        guarantee
            What the run promises.
        """
        problem, plan = self.problem, self.plan
        if not isinstance(plan, str) and guarantee != problem.privacy:
            plan = plan.name  # the noise of a ready plan is its own
        self.events += length
        seed = _SEED + world
        lots = np.random.default_rng([seed, _LOTS])
        optimizer: Any = PrivateBandit(
            problem.domain,
            horizon=None if self.endless else length,
            loss_range=problem.loss_range,
            privacy=guarantee,
            seed=seed,
            noise=SimulatedNoise(seed),
            plan=plan,
            **problem.facts(),
            **self.choices,
        )
        if isinstance(guarantee, LocalDP):
            optimizer = LocalReports(optimizer, lots)
        lived = replace(self.worlds[world], events=length, loss_range=problem.loss_range, lots=lots)
        with single_threaded():
            for _ in play(optimizer, lived, length):
                pass
        return lived.share

    def forecast(self) -> Forecast:
        """Return what the runs say; refuse to say what they do not."""
        horizon, private = self.problem.horizon, self._shares(self.problem.privacy)
        if private.longest * _FAR < horizon and private.at(private.longest).central > BARELY:
            raise NotRehearsed(
                f"{NOT_REHEARSED} to the end: runs of {private.longest:,} events, for which there was room, learn too "
                f"little to tell from them what {horizon:,} events do; {_MORE}"
            )
        free = self._shares(NoPrivacy()) if len(self._runs) > 1 else None
        contrasts = [world.contrast for world in self.worlds]
        return Forecast(
            horizon=horizon,
            share=private.at(horizon),
            share_without_privacy=None if free is None else free.at(horizon),
            price=None if free is None else price_between(private, free, horizon),
            half=private.length_for(0.5),
            most=private.length_for(0.1),
            contrasts=(min(contrasts), max(contrasts)),
            worlds=len(self.worlds),
            longest=max(length for length in private.lengths if length <= horizon),
            events=self.events,
            notes=self.notes,
        )

    def _shares(self, guarantee: Guarantee) -> Shares:
        """Return what the runs under a guarantee have in common: a share for each of the worlds, by length."""
        found = self._runs[guarantee]
        return Shares(tuple(found), list(found.values()))  # they were played in this order
