"""The proof of privacy, executed on the running program: move the noise until both worlds release the same.

Privacy rests on this: whatever the noise z is under which one world releases some numbers, there is a noise z' under
which its neighbour releases the same ones, and z' is not much less likely than z. With Laplace noise the two differ in
likelihood by at most e^cost, cost = sum of |z' - z|/scale; with Gaussian noise they are mu = |z' - z|/scale apart, in
l2 norm. So: play one world with noise that is written down; play its neighbour with the same noise; where the first
released number differs, move that number's noise by the difference, and play again, until all that is released is the
same. Then

- the cost must be within the claim, or a loss counts for more than its noise was made for;
- it must be possible: a number without noise, or with another's, cannot be moved by itself;
- everything else that can be seen must be the same to the last bit, for it may depend on losses through what is
  released only: actions, when rounds close, every public view at several times, what calls that are refused are told,
  warnings and log lines. And a view that is looked at twice must be the same twice.

No chance is involved, so a few runs for each pair of worlds are as good as thousands: what remains to be seen by
statistics is whether the noise is what it says. What is aligned is probe sums, fresh noise and trees without padding,
whose every number carries one noise.

Tests: tests/auditing/test_breaks.py.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.auditing._sources import Scripted
from sottovoce.auditing.attacks.betting import claim_by
from sottovoce.auditing.playing.schedules import play
from sottovoce.auditing.playing.survey import neighbours, survey
from sottovoce.auditing.playing.transcripts import Transcript, harness_for
from sottovoce.auditing.playing.worlds import PAIRS, Neighbours
from sottovoce.auditing.results import Check
from sottovoce.errors import SottovoceError
from sottovoce.privacy import Guarantee, LocalDP, mechanism_named

_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Finding:
    worlds: Neighbours
    cost: float
    fault: str | None  # what could not be made equal


def can_be_aligned(plan: Any) -> bool:
    """Whether the noise of what a plan releases can be moved as it needs to be."""
    padded = getattr(plan.options, "padding", False)  # noise that no number needs
    return mechanism_named(plan.mechanism).noised and not padded


def align(
    subject: Callable[[int, Any], Any],
    *,
    claimed: Guarantee | None = None,
    seed: int = 0,
    most: int = 40,
    label: str | None = None,
    schedules: Sequence[str] | None = None,
) -> Check:
    """Align pairs of neighbouring worlds, and return what they cost, or why they cannot be aligned.

    Parameters
    ----------
    subject
        As for `audit`.
    claimed
        The guarantee to test; by default that of the subject's own statement.
    seed
        Of the public coins.
    most
        Pairs of worlds, at most.
    label, schedules
        As for `audit`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.auditing import Configuration
    >>> few = {"probes": 2, "least_events": 2}
    >>> small = Configuration(sv.domains.Simplex(3), sv.PureDP(1.0), horizon=12, losses="linear", choices=few)
    >>> print(align(small, label="small"))
    small: a person costs at most 1 of epsilon = 1, and nothing else shows, in 40 pairs of worlds
    """
    claim, statement, plan = claim_by(lambda: subject(seed, Scripted(seed)), claimed)
    if isinstance(statement.guarantee, LocalDP) or not can_be_aligned(plan):
        raise ValueError(f"{plan.what} adds noise that cannot be moved number by number: audit it by its runs")
    found = survey(subject, seed, local=False, schedules=schedules)
    pairs = neighbours(found, claim.guarantee.contributions, most)
    allowed = claim.epsilon if claim.mu is None else claim.mu
    most_allowed = allowed * (1 + _ROUNDING)
    findings: list[_Finding] = []
    for worlds in pairs:
        try:
            findings.append(_aligned(subject, seed, worlds))
        except SottovoceError as broken:  # runs that are right end by themselves
            findings.append(_Finding(worlds, math.inf, f"a run breaks off, with {type(broken).__name__}"))
        if findings[-1].fault is not None or findings[-1].cost > most_allowed:
            break  # one is enough
    worst = max(findings, key=lambda one: (one.fault is not None, one.cost))
    budget = f"{'epsilon' if claim.mu is None else 'mu'} = {allowed:.6g}"
    passed = worst.fault is None and worst.cost <= most_allowed
    words = worst.fault or f"a person costs {worst.cost:.6g} of {budget}"
    if passed:
        words = f"a person costs at most {worst.cost:.4g} of {budget}, and nothing else shows"
        words += f", in {len(pairs)} pairs of worlds"
    else:
        words += f" ({worst.worlds})"
    return Check(label or getattr(subject, "label", None) or "subject", "alignment", passed, words, len(findings), 0.0)


def _aligned(subject: Callable[[int, Any], Any], seed: int, worlds: Neighbours) -> _Finding:
    def played(world: int, shifts: dict[int, Floats], watched: bool = False) -> tuple[Transcript, Scripted]:
        source = Scripted(seed, shifts)
        return play(harness_for(subject(seed, source)), worlds, world, watched=watched), source

    comparable = None not in PAIRS[worlds.pair]  # whether a loss came is public: counts of both kinds are shown
    reference, _ = played(0, {}, watched=comparable)
    shifts: dict[int, Floats] = {}
    twin, source = played(1, shifts)
    while (where := _first_difference(reference.released, twin.released)) is not None:
        moved = _moved(reference.released, twin.released, where)
        missing = _Finding(worlds, math.inf, f"a number of release {where + 1} has no noise of its own")
        if moved is None or where >= len(source.sizes) or source.sizes[where] != len(moved):
            return missing
        shifts[where] = moved
        twin, source = played(1, shifts)
        further = _first_difference(reference.released, twin.released)
        if further is not None and further <= where:
            return missing
    if comparable:
        twin, source = played(1, shifts, watched=True)
    return _Finding(worlds, source.cost, _beyond(reference, twin))


def _first_difference(one: list[Floats], other: list[Floats]) -> int | None:
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if not np.array_equal(left, right):
            return number
    return None if len(one) == len(other) else min(len(one), len(other))


def _moved(one: list[Floats], other: list[Floats], where: int) -> Floats | None:
    """By how much the noise of a release has to move, in whole steps."""
    if where >= min(len(one), len(other)) or one[where].shape != other[where].shape:
        return None
    return np.asarray(np.rint(one[where] - other[where]))


def _beyond(one: Transcript, other: Transcript) -> str | None:
    """What differs although all that was released is the same: in words that hold no value of it."""
    if _first_difference(one.released, other.released) is not None:
        return "what is released is another when somebody looks"
    if len(one.actions) != len(other.actions) or not all(map(np.array_equal, one.actions, other.actions)):
        return "actions show more than what was released"
    if one.counters != other.counters:
        return "when a round closes depends on a loss"
    if one.wanted != other.wanted:
        return "whether a loss is wanted depends on one"
    for mine, others in zip(one.views, other.views, strict=True):
        for name in sorted({*mine, *others}):
            if name not in mine or name not in others or mine[name] != others[name]:
                return f"{name} shows more than what was released"
    for name in one.changed + other.changed:
        return f"{name} is another when it is looked at again"
    if sorted(one.said) != sorted(other.said):
        return "warnings, log lines or what is printed depend on a loss"
    return None
