"""The whole audit: every configuration that ships, every mechanism alone, and the noise itself; one error for all."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Any

from sottovoce._checks import number, whole
from sottovoce.auditing.alignment import align, can_be_aligned
from sottovoce.auditing.noise_checks import check_noise
from sottovoce.auditing.parallel import each, processes
from sottovoce.auditing.procedure import audit
from sottovoce.auditing.results import Audit, Check, Findings
from sottovoce.auditing.subjects.catalogue import evaluations_shipped, label_of, mechanisms_alone, shipped
from sottovoce.privacy import LocalDP

Progress = Callable[[float, str], None]
_ALONE = 10  # runs of a mechanism alone for one of an optimizer: they cost as little
_LEAST = 400
_IN_FILES = ("study", "stored evaluations")
_ALIGNED, _NOISE = 60, 4000  # pairs of worlds, and draws


_Work = Callable[[Executor | None, float], Audit | list[Check]]
"""By an executor, at a confidence."""


def audit_all(
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    only: str = "",
    runs: int = 3000,
    workers: int = 1,
    confidence: float = 0.999,
    noise_seed: int | None = None,
    progress: Progress | None = None,
    more: Sequence[Any] = (),
) -> Findings:
    """Audit all that ships, at one confidence.

    Parameters
    ----------
    epsilon, delta
        As for `shipped`.
    only
        What has these words in its name, such as "tree" or "study", and the noise only if it has none.
    runs
        Of each optimizer; mechanisms alone, which are cheap, get ten times as many, studies a fifth, and segments,
        where more people share a run, a third. Where a claim looks wrong, up to four times as many.
    workers
        Processes.
    confidence
        1 - confidence is the probability of any false alarm; it is shared out equally among the parts.
    noise_seed
        Simulates the noise: repeatable, and the noise itself is then not checked.
    progress
        Called with the share that is done, and what is under way.
    more
        Subjects besides, such as a service.
    """
    number("confidence", confidence, above=0.5, at_most=1 - 1e-12)
    whole("runs", runs, least=400)
    parts = _parts(epsilon, delta, only, runs, noise_seed, more)
    share = (1 - confidence) / len(parts)
    audits: list[Audit] = []
    checks: list[Check] = []
    finished = 0
    with processes(workers) as executor, suppress(KeyboardInterrupt):
        for label, work in parts:
            if progress is not None:
                progress(finished / len(parts), label)
            found = work(executor, 1 - share)
            if isinstance(found, Audit):
                audits.append(found)
            else:
                checks += found
            finished += 1
    return Findings(tuple(audits), tuple(checks), confidence, finished == len(parts))


def _parts(
    epsilon: float, delta: float, only: str, runs: int, noise_seed: int | None, more: Sequence[Any] = ()
) -> list[tuple[str, _Work]]:
    every: list[Any] = [*shipped(epsilon, delta), *evaluations_shipped(epsilon, delta), *more]
    subjects = [one for one in every if only in one.label]
    alignable = [one for one in subjects if _alignable(one)]
    parts: list[tuple[str, _Work]] = [("alignments", partial(_aligned, alignable))] if alignable else []
    if noise_seed is None and not only:
        parts.append(("the noise itself", _noise))
    alone = {label_of(f"{one.name} alone", one.privacy): one for one in mechanisms_alone(epsilon, delta)}
    parts += [_audited(one, label, _ALONE * runs, noise_seed) for label, one in alone.items() if only in label]
    by_runs = [one for one in subjects if one.by_runs]
    parts += [_audited(one, one.label, max(_LEAST, runs // _cost(one)), noise_seed) for one in by_runs]
    if not parts:
        raise ValueError(f"only must be a part of a name, such as 'tree' or 'study', got {only!r}")
    return parts


def _alignable(subject: Any) -> bool:
    return not isinstance(subject.privacy, LocalDP) and can_be_aligned(subject.plan) and bool(subject.alignable)


def _cost(subject: Any) -> int:
    """How many runs of a plain optimizer one of these takes as long as, about."""
    if subject.horizon is None or subject.kind in _IN_FILES:
        return 5
    return 3 if getattr(subject, "segments", None) is not None else 1


def _audited(subject: Any, label: str, runs: int, noise_seed: int | None) -> tuple[str, _Work]:
    def work(executor: Executor | None, confidence: float) -> Audit:
        return audit(subject, runs=runs, workers=executor, confidence=confidence, noise_seed=noise_seed, label=label)

    return label, work


def _aligned(subjects: list[Any], executor: Executor | None, confidence: float) -> list[Check]:
    return list(each(executor, _align, subjects))


def _align(subject: Any) -> Check:
    return align(subject, most=_ALIGNED // 4 if subject.kind in _IN_FILES else _ALIGNED)


def _noise(executor: Executor | None, confidence: float) -> list[Check]:
    return check_noise(draws=_NOISE, confidence=confidence)
