"""The audit: run, attack, judge."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from sottovoce._checks import number, whole
from sottovoce.auditing._experiments import BanditExperiment, Experiment, MakeOptimizer, MechanismExperiment
from sottovoce.auditing._pooled import Pooled, secure_pool
from sottovoce.auditing.attacks.attack import Attack, choose
from sottovoce.auditing.attacks.bounds import at_least, at_most
from sottovoce.auditing.attacks.claims import Claim, claim_of
from sottovoce.auditing.attacks.observations import Observations
from sottovoce.auditing.attacks.power import sees_bare_values, smallest_seen
from sottovoce.auditing.parallel import Workers, World
from sottovoce.auditing.playing.neighbours import neighbours
from sottovoce.auditing.playing.survey import survey
from sottovoce.auditing.results.audited import Audit
from sottovoce.auditing.subjects.mechanism_alone import MechanismAlone
from sottovoce.auditing.subjects.owners import OwnersChannel
from sottovoce.privacy import Guarantee, LocalDP, NoiseSource, SimulatedNoise

__all__ = ["audit"]

_LEAST_RUNS = 400
_LEAST_LOOK = 10  # runs of each world of a pair, before another is preferred
_STAGES = 3  # of choosing
_FEW_PAIRS = 4  # that are all looked at for as long
_MANY_RUNS = 4000  # from here on the best pair gets a quarter of them to learn its attack on


def audit(
    subject: MakeOptimizer | MechanismAlone | OwnersChannel,
    *,
    claimed: Guarantee | None = None,
    delta: float | None = None,
    runs: int = 20_000,
    workers: int | Workers = 1,
    confidence: float = 0.999,
    seed: int = 0,
    noise_seed: int | None = None,
    tellings: Sequence[str] | None = None,
    label: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Attack a claim of privacy: run the real optimizer on neighbouring worlds, and see how well they are told apart.

    The two worlds differ in one person's losses: far below the range in one, far above it in the other, or forgotten.
    Which events are the person's, what everybody else loses, and how losses arrive (round by round, one at a time, out
    of order, from threads, over a saved state) goes round all that is possible. The adversary sees every released
    number, every action and when rounds close, knows the public coins, and learns its attack (a pair of worlds, one of
    several distinguishers, a threshold) on one half of the runs. The other half is counted, and Clopper-Pearson turns
    the counts into a lower bound on epsilon that holds with the stated confidence. An audit can refute a claim, never
    prove it; what it could have seen, it says.

    Parameters
    ----------
    subject
        make_optimizer(seed, noise): returns a fresh optimizer with these public coins and this source of noise, such as
        a `Configuration` or a `StudyConfiguration`; short horizons make many runs affordable. Or a
        `MechanismAlone`.
    claimed
        The guarantee to test; by default that of the optimizer's own statement.
    delta
        Where an epsilon is stated for a claim of zCDP or GDP; a millionth by default.
    runs
        Of both worlds together.
    workers
        Processes, or `Workers` that several audits share. More than one needs a subject that can be pickled, and a
        script with a main guard.
    confidence
        1 - confidence is the probability of a false alarm.
    seed
        Of the public coins, the same in every run.
    noise_seed
        Simulates the noise from a seed, for repeatable tests of the arithmetic. Secure noise by default.
    tellings
        How losses may arrive: names from `worlds.TELLINGS`; by default all that the subject can do.
    label
        A name for the result.
    progress
        Called with the runs done and all runs.

    Returns
    -------
    Audit
        Bound, verdict, the attack, and the scores of both worlds.

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
    whole("runs", runs, least=_LEAST_RUNS)
    number("confidence", confidence, above=0.5, at_most=1 - 1e-12)
    subject_of = _prepared(subject, claimed, delta, seed, noise_seed, runs, tellings)
    experiment, claim = subject_of.experiment, subject_of.claim
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, runs)

    with Workers(workers) if isinstance(workers, int) else nullcontext(workers) as crew:
        observe = partial(crew.observe, experiment, progress=count)
        attack, pair = _attack(experiment, claim, runs, noise_seed, observe)
        judges = [World(pair, 0, runs // 4), World(pair, 1, runs - runs // 2 - runs // 4)]
        low, high = observe(judges, _other(noise_seed, _STAGES))
    return _judged(subject_of, attack, pair, low, high, confidence, label or subject_of.name, runs)


@dataclass(frozen=True)
class _Subject:
    experiment: Experiment
    claim: Claim
    name: str
    kind: str
    simulated: bool


def _prepared(
    subject: MakeOptimizer | MechanismAlone | OwnersChannel,
    claimed: Guarantee | None,
    delta: float | None,
    seed: int,
    noise_seed: int | None,
    runs: int,
    tellings: Sequence[str] | None,
) -> _Subject:
    if isinstance(subject, MechanismAlone | OwnersChannel):
        claim = claim_of(claimed or subject.privacy, delta, gaussian_noise=subject.noise.family == "gaussian")
        experiment = MechanismExperiment(subject, subject.people, subject.chunk)
        return _Subject(experiment, claim, f"{subject.name} alone", "mechanism", noise_seed is not None)
    source: NoiseSource = secure_pool() if noise_seed is None else Pooled(SimulatedNoise(noise_seed))
    made = subject(seed, source)
    try:
        statement, what = made.privacy, made.plan.what
    finally:
        if hasattr(made, "close"):
            made.close()
    gaussian_noise = statement.noise is not None and statement.noise.family == "gaussian"
    claim = claim_of(claimed or statement.guarantee, delta, gaussian_noise=gaussian_noise)
    local = isinstance(statement.guarantee, LocalDP)
    found = survey(subject, seed, local=local, tellings=tellings)
    most = max(_FEW_PAIRS, runs // 4 // (2 * _LEAST_LOOK))
    pairs = neighbours(found, claim.guarantee.contributions, most, local=local)
    bandits = BanditExperiment(subject, tuple(pairs), found.rounds, seed)
    kind = getattr(subject, "kind", "optimizer")
    return _Subject(bandits, claim, getattr(subject, "label", None) or what, kind, statement.simulated)


def _attack(
    experiment: Experiment, claim: Claim, runs: int, noise_seed: int | None, observe: Any
) -> tuple[Attack, int]:
    """Look at all pairs of worlds, a little; longer at those that look best; then learn the attack on one."""
    seen: dict[int, list[Observations]] = {}
    alive = list(range(len(experiment.pairs)))
    for part, (share, keep) in enumerate(_stages(runs, len(alive))):
        each = max(1, share // (2 * len(alive)))
        more = observe([World(pair, world, each) for pair in alive for world in (0, 1)], _other(noise_seed, part))
        for i, pair in enumerate(alive):
            both = more[2 * i : 2 * i + 2]
            seen[pair] = [
                Observations.joined([*before, now])
                for before, now in zip([[one] for one in seen.get(pair, [])] or [[], []], both, strict=True)
            ]
        attacks = {pair: choose(claim, *seen[pair]) for pair in alive}
        alive = sorted(alive, key=lambda pair: -attacks[pair].strength)[:keep]
    return attacks[alive[0]], alive[0]


def _stages(runs: int, pairs: int) -> list[tuple[int, int]]:
    """How many runs each stage of the choice takes, and how many pairs of worlds it leaves."""
    half = runs // 2
    if pairs <= _FEW_PAIRS:
        return [(half, 1)]
    kept = max(2, pairs // _FEW_PAIRS)
    if runs < _MANY_RUNS:
        return [(half // 2, kept), (half - half // 2, 1)]
    return [(half // 4, kept), (half // 4, 1), (half - 2 * (half // 4), 1)]


def _judged(
    subject: _Subject,
    attack: Attack,
    pair: int,
    low: Observations,
    high: Observations,
    confidence: float,
    label: str,
    runs: int,
) -> Audit:
    claim = subject.claim
    scores = attack.scores(low), attack.scores(high)
    likely, rare = attack.hits(*scores)
    error = (1 - confidence) / 2  # for each of the two bounds
    shown = max(0.0, float(claim.shown(at_least(*likely, error), at_most(*rare, error))))
    trials = min(low.runs, high.runs)
    return Audit(
        label=label,
        claim=claim,
        epsilon_lower=claim.as_epsilon(shown),
        confidence=confidence,
        distinguisher=attack.name,
        neighbours=str(subject.experiment.pairs[pair]),
        runs=runs,
        hits=(likely, rare),
        threshold=attack.threshold,
        simulated=subject.simulated,
        scores=scores,
        kind=subject.kind,
        tried=len(subject.experiment.pairs),
        smallest_seen=smallest_seen(claim, trials, 1 - confidence),
        sees_bare_values=sees_bare_values(claim, trials, 1 - confidence),
    )


def _other(noise_seed: int | None, part: int) -> int | None:
    return None if noise_seed is None else (_STAGES + 1) * noise_seed + part
