"""The audit: run, attack, judge."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial

from sottovoce._checks import number, whole
from sottovoce.auditing.bounds import at_least, at_most
from sottovoce.auditing.choosing import Attack, choose
from sottovoce.auditing.claims import Claim, claim_of
from sottovoce.auditing.experiments import BanditExperiment, Experiment, MakeOptimizer
from sottovoce.auditing.mechanisms import Mechanism
from sottovoce.auditing.observations import Observations
from sottovoce.auditing.parallel import Workers, World
from sottovoce.auditing.pooled import Pooled, secure_pool
from sottovoce.auditing.result import Audit
from sottovoce.auditing.transcripts import rounds_of
from sottovoce.privacy import Guarantee, NoiseSource, SimulatedNoise

__all__ = ["audit"]

_LEAST_RUNS = 400


def audit(
    subject: MakeOptimizer | Mechanism,
    *,
    claimed: Guarantee | None = None,
    delta: float | None = None,
    runs: int = 20_000,
    workers: int | Workers = 1,
    confidence: float = 0.999,
    seed: int = 0,
    noise_seed: int | None = None,
    rounds: Sequence[int] | None = None,
    label: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Attack a claim of privacy: run the real optimizer on neighbouring worlds, and see how well they are told apart.

    In one world every loss is the lowest; in the other, one person's losses are the highest. The adversary sees
    released values and actions, knows the public coins, and learns its attack (the person's round, one of several
    distinguishers, a threshold) on one half of the runs. The other half is counted, and Clopper-Pearson turns the
    counts into a lower bound on epsilon that holds with the stated confidence. An audit can refute a claim, never prove
    it.

    Parameters
    ----------
    subject
        make_optimizer(seed, noise): returns a fresh optimizer with these public coins and this source of noise, such as
        a `Configuration`; short horizons make many runs affordable. Or a `Mechanism`, which is audited alone.
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
    rounds
        In which rounds (from 0) the person may take part; by default first, middle and last.
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
    >>> small = Configuration(sv.domains.Box(0.0, 1.0, 1), sv.PureDP(1.0), horizon=12, choices={"batch_size": 4})
    >>> found = audit(small, runs=400, noise_seed=1)
    >>> found.passed, found.epsilon_claimed
    (True, 1.0)
    """
    whole("runs", runs, least=_LEAST_RUNS)
    number("confidence", confidence, above=0.5, at_most=1 - 1e-12)
    experiment, claim, name, simulated = _prepared(subject, claimed, delta, seed, noise_seed)
    people = _rounds_to_try(experiment.rounds, rounds)
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, runs)

    with Workers(workers) if isinstance(workers, int) else nullcontext(workers) as crew:
        observe = partial(crew.observe, experiment, progress=count)
        seen = observe([World(*share) for share in _shares(runs // 2, people)], _other(noise_seed, 0))
        attack, person = _chosen(claim, seen, people)
        judges = [World(None, runs // 4), World(person, runs - runs // 2 - runs // 4)]
        low, high = observe(judges, _other(noise_seed, 1))
    return _judged(claim, attack, person, low, high, confidence, label or name, runs, simulated)


def _prepared(
    subject: MakeOptimizer | Mechanism,
    claimed: Guarantee | None,
    delta: float | None,
    seed: int,
    noise_seed: int | None,
) -> tuple[Experiment, Claim, str, bool]:
    """Return the experiment, what is claimed, a name, and whether the noise is simulated."""
    if isinstance(subject, Mechanism):
        claim = claim_of(claimed or subject.privacy, delta, gaussian_noise=subject.noise.family == "gaussian")
        return subject, claim, f"{subject.name} alone", noise_seed is not None
    source: NoiseSource = secure_pool() if noise_seed is None else Pooled(SimulatedNoise(noise_seed))
    optimizer = subject(seed, source)
    statement = optimizer.privacy
    gaussian_noise = statement.noise is not None and statement.noise.family == "gaussian"
    claim = claim_of(claimed or statement.guarantee, delta, gaussian_noise=gaussian_noise)
    name = getattr(subject, "label", None) or optimizer.plan.what
    experiment = BanditExperiment(subject, rounds_of(optimizer), claim.guarantee.contributions, seed)
    if experiment.rounds == 0:
        raise ValueError("nothing is ever released in this run: use a longer horizon, or a smaller batch_size")
    return experiment, claim, name, statement.simulated


def _rounds_to_try(count: int, rounds: Sequence[int] | None) -> list[int]:
    if rounds is None:
        return sorted({0, (count - 1) // 2, count - 1} if count > 3 else {0, count - 1})
    return [whole("rounds", one, least=0, most=count - 1) for one in rounds]


def _shares(runs: int, people: list[int]) -> list[tuple[int | None, int]]:
    """Share runs out equally: one part without the person, one for every round it may be in."""
    share, left = divmod(runs, len(people) + 1)
    return [(None, share + left), *((person, share) for person in people)]


def _chosen(claim: Claim, seen: list[Observations], people: list[int]) -> tuple[Attack, int]:
    low, *highs = seen
    attacks = [(choose(claim, low, high), person) for high, person in zip(highs, people, strict=True)]
    return max(attacks, key=lambda found: found[0].strength)


def _judged(
    claim: Claim,
    attack: Attack,
    person: int,
    low: Observations,
    high: Observations,
    confidence: float,
    label: str,
    runs: int,
    simulated: bool,
) -> Audit:
    scores = attack.scores(low), attack.scores(high)
    likely, rare = attack.hits(*scores)
    error = (1 - confidence) / 2  # for each of the two bounds
    shown = max(0.0, float(claim.shown(at_least(*likely, error), at_most(*rare, error))))
    return Audit(
        label=label,
        claim=claim,
        epsilon_lower=claim.as_epsilon(shown),
        confidence=confidence,
        distinguisher=attack.name,
        person=person,
        runs=runs,
        hits=(likely, rare),
        threshold=attack.threshold,
        simulated=simulated,
        scores=scores,
    )


def _other(noise_seed: int | None, half: int) -> int | None:
    return None if noise_seed is None else 2 * noise_seed + half
