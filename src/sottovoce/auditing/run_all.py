"""The whole audit: every configuration that ships, every mechanism alone, and the noise itself; one error for all."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from sottovoce._checks import number, whole
from sottovoce.auditing.alignment import align, can_be_aligned
from sottovoce.auditing.noise_checks import check_noise
from sottovoce.auditing.parallel import each, processes
from sottovoce.auditing.procedure import audit
from sottovoce.auditing.results import Audit, Check, Findings
from sottovoce.auditing.subjects.catalogue import label_of, mechanisms_alone, shipped
from sottovoce.auditing.subjects.evaluated import evaluations_shipped
from sottovoce.privacy import LocalDP

Progress = Callable[[float, str], None]
_ALONE = 10  # runs of a mechanism alone for one of an optimizer: they cost as little
_LEAST = 400
_IN_FILES = ("study", "stored evaluations")
_ALIGNED, _NOISE = 60, 4000  # pairs of worlds, and draws


@dataclass(frozen=True)
class _Part:
    label: str
    work: Callable[..., Any]  # (executor, confidence, progress) -> Audit or Checks


def audit_all(
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    exploration: str | None = None,
    mechanism: str | None = None,
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
    epsilon, delta, exploration, mechanism
        As for `shipped`.
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
    parts = _parts(epsilon, delta, exploration, mechanism, runs, noise_seed, more)
    share = (1 - confidence) / len(parts)
    audits: list[Audit] = []
    checks: list[Check] = []
    finished = 0

    def tell(done: int, of: int) -> None:
        if progress is not None:
            progress((finished + done / max(1, of)) / len(parts), parts[finished].label)

    with processes(workers) as executor, suppress(KeyboardInterrupt):
        for part in parts:
            tell(0, 1)
            found = part.work(executor, 1 - share, tell)
            audits.extend([found] if isinstance(found, Audit) else [])
            checks.extend([] if isinstance(found, Audit) else found)
            finished += 1
    return Findings(tuple(audits), tuple(checks), confidence, finished == len(parts))


def _parts(
    epsilon: float,
    delta: float,
    exploration: str | None,
    mechanism: str | None,
    runs: int,
    noise_seed: int | None,
    more: Sequence[Any] = (),
) -> list[_Part]:
    subjects: list[Any] = [*shipped(epsilon, delta, exploration=exploration, mechanism=mechanism), *more]
    subjects += evaluations_shipped(epsilon, delta, mechanism) if exploration is None else []
    alignable = [one for one in subjects if _alignable(one)]
    parts = [_Part("alignments", partial(_aligned, alignable))] if alignable else []
    if noise_seed is None and exploration is None and mechanism is None:
        parts.append(_Part("the noise itself", _noise))
    if exploration is None or mechanism is not None:
        for alone in mechanisms_alone(epsilon, delta, mechanism):
            label = label_of(f"{alone.name} alone", alone.privacy)
            parts.append(_audited(alone, label, _ALONE * runs, noise_seed))
    by_runs = [one for one in subjects if one.by_runs]
    return parts + [_audited(one, one.label or "", max(_LEAST, runs // _cost(one)), noise_seed) for one in by_runs]


def _alignable(subject: Any) -> bool:
    owners = isinstance(subject.privacy, LocalDP)
    return not owners and can_be_aligned(subject.plan) and bool(subject.alignable)


def _cost(subject: Any) -> int:
    """How many runs of a plain optimizer one of these takes as long as, about."""
    if subject.horizon is None or subject.kind in _IN_FILES:
        return 5
    return 3 if getattr(subject, "segments", None) is not None else 1


def _audited(subject: Any, label: str, runs: int, noise_seed: int | None) -> _Part:
    def work(executor: Executor | None, confidence: float, progress: Any) -> Audit:
        return audit(
            subject,
            runs=runs,
            workers=executor,
            confidence=confidence,
            noise_seed=noise_seed,
            label=label,
            progress=progress,
        )

    return _Part(label, work)


def _aligned(subjects: list[Any], executor: Executor | None, confidence: float, progress: Any) -> list[Check]:
    found: list[Check] = []
    for check in each(executor, _align, subjects):
        found.append(check)
        progress(len(found), len(subjects))
    return found


def _align(subject: Any) -> Check:
    in_files = getattr(subject, "kind", None) in _IN_FILES
    return align(subject, most=_ALIGNED // 4 if in_files else _ALIGNED)


def _noise(executor: Executor | None, confidence: float, progress: Any) -> list[Check]:
    return check_noise(draws=_NOISE, confidence=confidence, progress=progress)
