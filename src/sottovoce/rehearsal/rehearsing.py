"""Rehearse a plan: play it, and the same without privacy, in generic worlds, and say what to expect of it."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
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
from sottovoce.rehearsal._worlds import InventedWorld, worlds_of

Progress = Callable[[int, int], None]
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
    *,
    contrast: float | None = None,
    scatter: float | None = None,
    endless: bool = False,
    times: float = 1.0,
    progress: Progress | None = None,
) -> tuple["Rehearsal", Forecast]:
    """Play a plan in generic worlds, and return what was played and what to expect of the plan.

    Where nothing is known of the world, it is played in worlds of several contrasts.

    Parameters
    ----------
    problem
        What is given; at the horizon that is asked about.
    plan, choices
        As for `PrivateBandit`.
    contrast, scatter
        As for `Rehearsal`.
    endless
        Whether the optimizer is not told the horizon.
    times
        What the work that it may take is multiplied by.
    progress
        Called with the runs that are done, and about how many there are in all.

    Raises
    ------
    NotRehearsed
        If even a short rehearsal would take long; says what to do instead.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Problem(sv.domains.Simplex(3), 2_000, (0.0, 1.0), sv.PureDP(1.0), losses="linear", integral=True)
    >>> _, forecast = rehearsed(problem, times=0.1)
    >>> forecast.share.central < 0.5, forecast.price.low >= 1.0
    (True, True)
    """

    def played(contrast: float | None, scatter: float | None, share: float, *, free: bool) -> Rehearsal:
        world = {"contrast": contrast, "scatter": scatter}
        one = Rehearsal(problem, plan, choices or {}, **world, endless=endless, times=share * times, free=free)
        one.play(progress)
        return one

    if contrast is not None or scatter is not None:
        alone = played(contrast, scatter, 1.0, free=True)
        return alone, alone.forecast()
    whole = played(_USUAL, _implied(_USUAL), _OWN, free=True)
    found, events, cases = whole.forecast(), 0, []
    for one in CONTRASTS:
        case = Case(one, _implied(one))
        with suppress(NotRehearsed):
            other = whole if one == _USUAL else played(one, _implied(one), _EACH, free=False)
            events += other.events
            said = other.forecast()
            case = replace(case, share=said.share, half=said.half)
        cases.append(case)
    return whole, replace(found, events=events, cases=tuple(cases))


def _implied(contrast: float) -> float:
    """The scatter that a contrast implies: that of clicks which come so often."""
    return math.sqrt(contrast * (1 - contrast))


class Rehearsal:
    """The runs of a rehearsal, in private and without privacy, by length and world.

    Parameters
    ----------
    problem
        What is planned for.
    plan, choices
        As for `PrivateBandit`.
    contrast, scatter
        What is known of the world, as shares of the loss range: how much better the best decision is than never
        learning (always playing the middle), and the standard deviation of people's losses at one decision.
    endless
        Whether the horizon is unknown.
    times
        What the usual effort is multiplied by.
    free
        Whether it is played without privacy, too.
    """

    def __init__(
        self,
        problem: Problem,
        plan: str | Plan,
        choices: dict[str, Any],
        *,
        contrast: float | None = None,
        scatter: float | None = None,
        endless: bool = False,
        times: float = 1.0,
        free: bool = True,
    ) -> None:
        if contrast is not None:
            number("contrast", contrast, above=0.0, at_most=0.9)
        if scatter is not None:
            number("scatter", scatter, above=0.0, at_most=0.5)
        self.notes: tuple[str, ...] = ()
        if problem.prior is not None:
            problem = replace(problem, prior=None, accept_prior=None)
            self.notes = ("rehearsed without the prior: if that fits the world, expect to be ahead of this",)
        if problem.segments is not None:
            problem = replace(problem, segments=None)
            self.notes += ("rehearsed without segments: what sets one of them apart takes events of its own",)
        problem = replace(problem, direction="minimize", turned=False)  # worlds have losses, and mirrored ranges suit
        self.problem, self.plan, self.choices, self.endless = problem, plan, choices, endless
        self._left, self._made, self._free = times * WORK, dict[int, Plan](), free
        plans = self._plans(lengths(problem.horizon) if isinstance(plan, str) else (problem.horizon,))
        scope = scope_of(problem, plans, self._left, endless=endless)
        if scope is None:
            raise NotRehearsed(self._too_large())
        self.lengths, count = scope
        self.worlds = worlds_of(problem, _SEED, count, contrast, scatter)
        self.private: dict[int, list[float]] = {}
        self.free: dict[int, list[float]] = {}
        self.events = 0

    def _plans(self, wanted: Sequence[int]) -> dict[int, Plan]:
        """Return plans for these lengths; choices may not fit short ones."""
        found = self._made
        for length in wanted:
            if length in found:
                continue
            try:
                made = make_plan(replace(self.problem, horizon=length), self.plan, **self.choices)
            except ValueError:
                if length == self.problem.horizon:
                    raise
                continue
            if length <= LONGEST_RUN:
                found[length] = made
        return {length: found[length] for length in wanted if length in found}

    def _too_large(self) -> str:
        if not isinstance(self.plan, str):
            events = f"{self.problem.horizon:,} events"
            return f"{NOT_REHEARSED}: a ready Plan is played at its own horizon alone, and {events} would take long"
        why = f"decisions have {self.problem.domain.dimension:,} coordinates"
        if oracle_work(self.problem.domain):
            why += " and the set's oracle is slow"
        return f"{NOT_REHEARSED}: {why}, so that runs would take long; {_MORE}"

    def play(self, progress: Progress | None = None) -> None:
        """Play runs up to the horizon; and longer ones, while there is room and most is not learned.

        Parameters
        ----------
        progress
            Told how much is done; None for silence.
        """
        steps = list(self.lengths)
        sides = [self.problem.privacy]
        if self._free and self.problem.privacy.private:
            sides.append(NoPrivacy())
        done, worlds = 0, len(self.worlds)
        while steps:
            length = steps.pop(0)
            for guarantee in sides:
                found = []
                for world in range(worlds):
                    found.append(self.run(world, length, guarantee))
                    done += 1
                    if progress is not None:
                        progress(done, done + worlds * len(sides) * len(steps) + worlds - world - 1)
                self._keep(length, guarantee, found)
            self._left -= self._work(length)
            steps = steps or self._further()

    def _keep(self, length: int, guarantee: Guarantee, found: list[float]) -> None:
        side = self.private if guarantee == self.problem.privacy else self.free
        side[length] = _not_easier(found, self.worlds)

    def _work(self, length: int) -> float:
        made = self._plans((length,)).get(length)
        if made is None:
            return float("inf")
        return 2 * len(self.worlds) * work_of(self.problem, made, endless=self.endless)

    def _further(self) -> list[int]:
        """Return the next longer run, if it would say more."""
        longest = max(self.private)
        length = STEP * longest
        learned = self.shares(self.private).at(longest).central <= _MOST_LEARNED
        if learned or not isinstance(self.plan, str) or length > LONGEST_RUN or longest < self.problem.horizon:
            return []
        return [length] if self._work(length) <= self._left else []

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

    def shares(self, found: dict[int, list[float]]) -> Shares:
        """Return what some runs have in common: a share for each of the first worlds, by length.

        Parameters
        ----------
        found
            Shares by length, in order of the worlds.
        """
        worlds = len(next(iter(found.values())))
        steady = [not world.changes for world in self.worlds[:worlds]]
        return Shares(sorted(found), [found[length] for length in sorted(found)], steady)

    def forecast(self) -> Forecast:
        """Return what the runs say; refuse to say what they do not."""
        horizon, private = self.problem.horizon, self.shares(self.private)
        if private.longest * _FAR < horizon and private.at(private.longest).central > BARELY:
            raise NotRehearsed(
                f"{NOT_REHEARSED} to the end: runs of {private.longest:,} events, for which there was room, learn too "
                f"little to tell from them what {horizon:,} events do; {_MORE}"
            )
        free = self.shares(self.free) if self.free else None
        contrasts = [world.contrast for world in self.worlds]
        return Forecast(
            horizon=horizon,
            share=private.at(horizon),
            share_without_privacy=None if free is None else free.at(horizon),
            price=None if free is None else price_between(private, free, horizon),
            half=private.length_for(0.5),
            most=private.length_for(0.1),
            contrasts=(min(contrasts), max(contrasts)),
            curve=private.curve(horizon),
            curve_without_privacy=None if free is None else free.curve(horizon),
            worlds=len(self.worlds),
            longest=max(length for length in self.private if length <= horizon),
            events=self.events,
            notes=self.notes,
        )


def _not_easier(shares: list[float], worlds: Sequence[InventedWorld]) -> list[float]:
    """In a world that changes one may do better than its best fixed decision; nothing is promised from that."""
    still = [share for share, world in zip(shares, worlds, strict=True) if not world.changes]
    usual = float(np.exp(np.mean(np.log(np.maximum(still, 1e-6)))))
    return [max(share, usual) if world.changes else share for share, world in zip(shares, worlds, strict=True)]
