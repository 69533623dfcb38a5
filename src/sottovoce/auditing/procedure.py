"""The audit: run, attack, judge."""

import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass

from sottovoce._checks import number, whole
from sottovoce.auditing._sources import Pooled, secure_pool
from sottovoce.auditing.attacks.attack import JointAttack, choose
from sottovoce.auditing.attacks.betting import Claim, Guesses, claim_by, claim_of, least, log_wealth
from sottovoce.auditing.attacks.observations import Observations
from sottovoce.auditing.attacks.power import PROMISING, Schedule, sees_bare_values, smallest_seen
from sottovoce.auditing.parallel import BanditExperiment, Experiment, MakeOptimizer, processes
from sottovoce.auditing.parallel import observe as observe_by
from sottovoce.auditing.playing.survey import crowds, neighbours, survey
from sottovoce.auditing.results import Audit
from sottovoce.auditing.subjects.alone import MechanismAlone
from sottovoce.privacy import Guarantee, LocalDP, NoiseSource, SimulatedNoise

_LEAST_RUNS = 400
_LEAST_LOOK = 20  # runs of a crowd, before another is preferred
_FEW_CROWDS = 4  # that are all looked at for as long
_MANY_RUNS = 2000  # from here on a quarter of them is enough to choose
_TO_LEARN = 50  # runs in which no attack can be counted on
_MORE = 3  # times as many runs as asked for are added where the claim looks wrong, and the proof is not yet there
_MOST_PARTS = 64  # of an audit


def audit(
    subject: MakeOptimizer | MechanismAlone,
    *,
    claimed: Guarantee | None = None,
    delta: float | None = None,
    runs: int = 20_000,
    workers: int | Executor | None = 1,
    confidence: float = 0.999,
    seed: int = 0,
    noise_seed: int | None = None,
    schedules: Sequence[str] | None = None,
    label: str | None = None,
) -> Audit:
    """Attack a claim of privacy: run the real optimizer on neighbouring worlds, and see how well they are told apart.

    The two worlds differ in one person's losses: far below the range in one, far above it in the other, or forgotten.
    Which events are the person's, what everybody else loses, and how losses arrive (round by round, one at a time, out
    of order, from threads, over a restart) goes round all that is possible. The adversary sees every released
    number, every action and when rounds close, knows the public coins, and learns its attack (a pair of worlds, one of
    several distinguishers, thresholds) on the runs before those that it is judged on. Several people are watched in
    each run, each in a world that a coin chooses, and the adversary bets on its guesses of these coins. What it wins
    turns into a lower bound on epsilon that holds with the stated confidence, whenever the audit ends. So it goes on,
    up to four times as long, where the claim looks wrong but is not yet refuted. An audit can refute a claim, never
    prove it; what it could have seen, it says.

    Parameters
    ----------
    subject
        make_optimizer(seed, noise): returns a fresh optimizer with these public coins and this source of noise, such as
        a `Configuration`; short horizons make many runs affordable. Or a
        `MechanismAlone`.
    claimed
        The guarantee to test; by default that of the optimizer's own statement.
    delta
        Where an epsilon is stated for a claim of zCDP; a millionth by default.
    runs
        All together, unless the claim looks wrong after them.
    workers
        Processes, or an executor that several audits share. Others than this one need a subject that can be pickled
        and a script with a main guard.
    confidence
        1 - confidence is the probability of a false alarm.
    seed
        Of the public coins, the same in every run.
    noise_seed
        Simulates the noise from a seed, for repeatable tests of the arithmetic. Secure noise by default.
    schedules
        How losses may arrive: names from `worlds.SCHEDULES`; by default all that the subject can do.
    label
        A name for the result.

    Returns
    -------
    Audit
        Bound, verdict, and the attack.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.auditing import Configuration, audit
    >>> few = {"probes": 2, "least_events": 2}
    >>> small = Configuration(sv.domains.Simplex(3), sv.PureDP(1.0), horizon=12, losses="linear", choices=few)
    >>> found = audit(small, runs=400, noise_seed=1)
    >>> found.passed, found.epsilon_claimed
    (True, 1.0)
    """
    if not (callable(subject) or isinstance(subject, MechanismAlone)):
        raise TypeError(
            "subject must be a function of a seed and a source of noise that returns an optimizer, or a "
            f"sottovoce.auditing.Configuration, got {subject!r}"
        )
    whole("runs", runs, least=_LEAST_RUNS)
    number("confidence", confidence, above=0.5, at_most=1 - 1e-12)
    audited = _prepared(subject, claimed, delta, seed, noise_seed, runs, schedules)
    done = 0
    with processes(workers) if isinstance(workers, int) else nullcontext(workers) as executor:
        parts = itertools.count()  # each has noise of its own

        def observe(batches: list[tuple[int, int]]) -> list[Observations]:
            nonlocal done
            done += sum(count for _, count in batches)
            part = next(parts)
            seeded = None if noise_seed is None else _MOST_PARTS * noise_seed + part
            return observe_by(executor, audited.experiment, batches, seeded)

        crowd, seen = _crowd(audited, runs, observe)
        guesses, attack = _bet(audited, crowd, seen, runs, 1 - confidence, observe)
    claim, error, people = audited.claim, 1 - confidence, audited.experiment.crowds[crowd]
    person, lead = attack.lead
    schedule = _schedule(runs, len(people))
    return Audit(
        label=label or audited.name,
        claim=claim,
        epsilon_lower=claim.as_epsilon(least(claim, guesses, error)),
        confidence=confidence,
        distinguisher=lead.name,
        neighbours=str(people[person]),
        runs=done,
        right=sum(one.right for one in guesses),
        wrong=sum(one.wrong for one in guesses),
        trials=sum(one.trials for one in guesses),
        simulated=audited.simulated,
        kind=audited.kind,
        tried=sum(map(len, audited.experiment.crowds)),
        people=len(people),
        smallest_seen=smallest_seen(claim, schedule, error),
        sees_bare_values=sees_bare_values(claim, schedule.runs, error),
    )


_Observe = Callable[[list[tuple[int, int]]], list[Observations]]


@dataclass(frozen=True)
class _Subject:
    experiment: Experiment
    claim: Claim
    name: str
    kind: str
    simulated: bool


def _prepared(
    subject: MakeOptimizer | MechanismAlone,
    claimed: Guarantee | None,
    delta: float | None,
    seed: int,
    noise_seed: int | None,
    runs: int,
    schedules: Sequence[str] | None,
) -> _Subject:
    if isinstance(subject, MechanismAlone):
        claim = claim_of(claimed or subject.privacy, delta, gaussian_noise=subject.noise.family == "gaussian")
        return _Subject(subject, claim, f"{subject.name} alone", "mechanism", noise_seed is not None)
    source: NoiseSource = secure_pool() if noise_seed is None else Pooled(SimulatedNoise(noise_seed))
    claim, statement, plan = claim_by(lambda: subject(seed, source), claimed, delta)
    local = isinstance(statement.guarantee, LocalDP)
    found = survey(subject, seed, local=local, schedules=schedules)
    most = max(_FEW_CROWDS, _for_choosing(runs) // _LEAST_LOOK)
    pairs = neighbours(found, claim.guarantee.contributions, most, local=local)
    bandits = BanditExperiment(subject, tuple(crowds(found, pairs, most, local=local)), found.rounds, seed)
    kind = getattr(subject, "kind", "optimizer")
    return _Subject(bandits, claim, getattr(subject, "label", None) or plan.what, kind, statement.simulated)


def _for_choosing(runs: int) -> int:
    """How many runs choose whom to watch, and teach the first attack; they are never judged."""
    return runs // 4 if runs >= _MANY_RUNS else runs // 2


def _crowd(audited: _Subject, runs: int, observe: _Observe) -> tuple[int, Observations]:
    """Look at all crowds a little, then longer at those that look best; return the best, and what was seen of it."""
    alive = list(range(len(audited.experiment.crowds)))
    seen: dict[int, list[Observations]] = {crowd: [] for crowd in alive}
    stages = 1 if len(alive) <= _FEW_CROWDS else 2
    for stage in range(stages):
        each = max(_LEAST_LOOK, _for_choosing(runs) // stages // len(alive))
        for crowd, more in zip(alive, observe([(crowd, each) for crowd in alive]), strict=True):
            seen[crowd].append(more)
        kept = 1 if stage == stages - 1 else max(2, len(alive) // _FEW_CROWDS)
        strength = {crowd: choose(audited.claim, Observations.joined(seen[crowd])).strength for crowd in alive}
        alive = sorted(alive, key=lambda crowd: -strength[crowd])[:kept]
    return alive[0], Observations.joined(seen[alive[0]])


def _bet(
    audited: _Subject, crowd: int, seen: Observations, runs: int, error: float, observe: _Observe
) -> tuple[list[Guesses], JointAttack]:
    """Guess block after block, each by what all before it have shown; go on beyond `runs` while there is promise."""
    claim = audited.claim
    base = runs - _for_choosing(runs)
    guesses: list[Guesses] = []
    left, more = base, _MORE * runs
    while left:
        known = seen.runs
        size = left if left < 2 * known else known  # each block as long as all before it: no attack grows too old
        seen = Observations.joined([seen, *observe([(crowd, size)])])
        attack = choose(claim, seen.part(slice(known)))
        guesses.append(attack.judged(claim, seen.part(slice(known, None))))
        left -= size
        if not left and PROMISING <= log_wealth(claim, claim.tested, guesses) < -math.log(error):
            left, more = min(more, runs), more - min(more, runs)
    return guesses, attack


def _schedule(runs: int, people: int) -> Schedule:
    """Return how long an audit bets by an attack that it can count on: the first ones had too few runs before them."""
    base = runs - _for_choosing(runs)
    sure = max(1, base - base // 2 - _TO_LEARN)
    return Schedule(sure, sure + _MORE * runs, people)
