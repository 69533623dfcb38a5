"""What a privacy officer signs, put together from facts that others state: a study's, a ledger's, audits on record.

Every sentence about the promise is that of `sottovoce.privacy.statement`; nothing is claimed here that is not there.
What must not be overlooked (simulated noise, damage, a refuted audit, a restored storage) comes first, as a warning.
"""

import math
import platform
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from sottovoce import __version__
from sottovoce._printed import Part, Printed
from sottovoce.auditing import AuditRecord
from sottovoce.privacy import Ledger, LedgerStatement, LocalDP
from sottovoce.privacy.promise import cautions_of, spent_words
from sottovoce.report._promises import Rows, plain_words
from sottovoce.report.numbers import joined, significant
from sottovoce.studies import Study, StudyStatement

_NAMES = {  # of the rows of a statement, for people; and what their texts begin with
    "Private": ("Whose data", ""),
    "Adversary": ("Against whom", "anyone who "),
    "Mechanism": ("How", ""),
}
_MOST_NAMES, _MOST_CHARGES = 8, 12
_LONG = 120  # letters of a name


@dataclass(frozen=True)
class Section:
    """A part of the page: names and texts, then a list."""

    title: str
    rows: Rows = ()
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement(Printed):
    """A statement, ready to be printed or drawn; `print` it.

    Attributes
    ----------
    title, made
        What it is about; when and by what it was made.
    private
        Whether what it is about protects anybody; None for a ledger, which speaks of promises alone.
    warnings
        What must not be overlooked.
    sections
        The rest.
    """

    title: str
    made: str
    private: bool | None
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]

    def _parts(self) -> list[Part]:
        warned = [("", f"! {one}") for one in self.warnings]
        each = [(one.title, [*one.rows, *(("", f"- {item}") for item in one.items)]) for one in self.sections]
        return [(self.title, ()), (self.made, warned), *each]

    def __str__(self) -> str:
        lines = [self.title, self.made]
        lines += [_wrapped("  ! ", one) for one in self.warnings]
        for part in self.sections:
            lines += ["", part.title]
            lines += [_wrapped(f"  {name:<14} ", text, indent=17) for name, text in part.rows]
            lines += [_wrapped("  - ", one) for one in part.items]
        return "\n".join(lines)


def statement(
    study: Study | StudyStatement | None = None,
    *,
    ledger: Ledger | LedgerStatement | None = None,
    audits: Sequence[AuditRecord] = (),
    moment: datetime | None = None,
) -> Statement:
    """Return what a privacy officer has to know of a study, of a ledger, or of a study in its ledger; `print` it.

    Parameters
    ----------
    study : Study or StudyStatement, optional
        A study, or what `study.statement()` or `sottovoce.studies.state_stored` returned.
    ledger : Ledger or LedgerStatement, optional
        What the study is charged to; or, without a study, what all that is charged is stated of.
    audits : sequence of AuditRecord
        Audits on record, from `sottovoce.auditing.read_audit`.
    moment : datetime, optional
        When the statement is made; by default now.

    Returns
    -------
    Statement

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.report import statement
    >>> ledger = sv.Ledger(sv.PureDP(epsilon=1.0))
    >>> ledger.charge("routes", sv.PureDP(epsilon=0.25))
    True
    >>> "0.25 and 0.75, in epsilon; 1 charge" in str(statement(ledger=ledger))
    True
    """
    study = study.statement() if isinstance(study, Study) else study
    ledger = ledger.statement() if isinstance(ledger, Ledger) else ledger
    if study is None and ledger is None:
        raise ValueError("a statement is about a study, a ledger, or both: pass study= or ledger=")
    moment = (moment or datetime.now(UTC)).astimezone(UTC)
    if study is not None:
        about, private = f"study {_name(study.name)}", study.privacy.private
        sections = [_promise(study), _history(study)]
    else:
        about, private, sections = "all that is charged to a ledger", None, []
    sections += [_budget(study, ledger), _audits(audits, study)]
    if study is not None:
        sections.append(Section("Not covered: see to these, or accept them", items=study.privacy.not_covered))
    sections.append(_versions())
    return Statement(
        title=f"Privacy statement: {about}",
        made=f"Made on {moment:%Y-%m-%d} at {moment:%H:%M} UTC by sottovoce {__version__}, of what was on record then.",
        private=private,
        warnings=tuple(_warnings(study, ledger, audits)),
        sections=tuple(sections),
    )


def _warnings(
    study: StudyStatement | None, ledger: LedgerStatement | None, audits: Sequence[AuditRecord]
) -> Iterable[str]:
    if study is not None:
        yield from _study_warnings(study)
        if ledger is not None and (study.charged_as is None or ledger.entry(study.charged_as) is None):
            yield "The study is not on record in this ledger: what it spends is not counted there."
    for one in audits:
        if not one.passed:
            what = joined(map(_name, one.refuted)) or "what, the file does not say"
            yield f"AUDIT REFUTED ({one.date:%Y-%m-%d}): {what}."


def _study_warnings(study: StudyStatement) -> Iterable[str]:
    if study.privacy.simulated:
        yield "NOT PRIVATE: the noise is simulated from a seed; whoever knows the seed knows the losses. Do not sign."
    elif not study.privacy.private:
        yield "NOT PRIVATE: no noise is added anywhere; the decisions show the losses that they were made from."
    if study.privacy.bares_prior:
        yield "PRIOR NOT PRIVATE: it began with losses of people whom nothing protects; its decisions show them."
    if study.verification is not None and not study.verification.ok:
        yield f"DAMAGED: {_several(len(study.verification.faults), 'fault')} found in what is stored. Do not sign."
    if study.restored:
        yield (
            f"It was restored from a backup, or copied: {_several(study.dropped, 'round')} dropped unreleased. "
            "People whose losses were released after the backup was made may be asked again: that is a second charge."
        )
    if study.erasure_pending:
        rounds = _several(study.erasure_pending, "closed round")
        yield f"Losses of {rounds} may linger in the database's log until it is emptied."
    yield from (f"{one}." for one in cautions_of(study.privacy.guarantee, study.horizon))
    if study.reachable:
        yield "The file of the study can be reached by others than its owner (chmod 600)."


def _promise(study: StudyStatement) -> Section:
    """Return what the statement says, its rows as they are; and which data it is about."""
    low, high = study.loss_range
    names = ""
    if study.labels:
        shown, more = study.labels[:_MOST_NAMES], len(study.labels) - _MOST_NAMES
        names = f" among {joined(map(_name, shown))}" + (f" (and {more:,} more)" if more > 0 else "")
    what = "item that an event chose, its" if study.privacy.feedback == "items" else "event, the"
    data = f"one number for each {what} loss, clipped to [{low:g}, {high:g}]. Decisions: {_name(study.domain)}{names}"
    told = ((*_NAMES.get(name, (name, "")), text) for name, text in study.privacy.rows if name != "Not covered")
    rows = [(name, before + text) for name, before, text in told]
    plain = plain_words(study.privacy.guarantee)
    title = "What would be promised if the noise were real" if study.privacy.simulated else "What is promised"
    return Section(title, (*plain, ("Which data", f"{data}."), *rows))


def _history(study: StudyStatement) -> Section:
    """Return where the study stands, in counts."""
    of = "" if study.horizon is None else f" of {study.horizon:,}"
    losses = "reports" if isinstance(study.privacy.guarantee, LocalDP) else "losses"
    rows = [
        ("Events", f"{study.asked:,}{of} were handed out, or reserved to be"),
        (
            "Rounds",
            f"{study.released:,} released, {study.open_rounds:,} open (their {losses} are in the database)"
            + (f", {study.dropped:,} dropped unreleased" if study.dropped else ""),
        ),
        (
            losses.capitalize(),
            f"{study.told:,} told; {study.forgotten:,} given up"
            + (", and read as nothing" if study.privacy.feedback == "items" else ", each as the middle of the range"),
        ),
        ("Kept at", study.storage),
    ]
    if study.restored:
        rows.append(("Restored", f"yes: this is incarnation {study.incarnation}, not the first"))
    found = study.verification
    if found is None:
        rows.append(("Verified", "not for this statement (--verify checks everything that is stored)"))
    elif found.ok:
        rows.append(("Verified", f"now: every checksum holds, and {found.released:,} rounds were learned from again"))
    else:
        rows.append(("Verified", f"FAULTS: {'; '.join(found.faults[:3])}" + ("; ..." if len(found.faults) > 3 else "")))
    return Section("Where it stands", tuple(rows))


def _budget(study: StudyStatement | None, ledger: LedgerStatement | None) -> Section:
    rows: list[tuple[str, str]] = []
    if study is not None:
        guarantee = study.privacy.guarantee
        spent = spent_words(guarantee, told=study.told, rounds=study.rounds)
        rows.append(("Of this study", spent))
    if ledger is None and study is not None:
        charged = (
            "was charged to a ledger, which was not passed here" if study.charged_as else "is charged to no ledger"
        )
        rows.append(("Ledger", f"the study {charged}: other releases about the same people are not counted"))
    if ledger is not None:
        left, spent = f"{ledger.remaining:.6g}", f"{ledger.spent:.6g}"
        rows.append(("Ledger", f"{ledger.budget}, for one group of people; kept at {ledger.path or 'memory'}"))
        rows.append(
            ("Spent, left", f"{spent} and {left}, in {ledger.currency}; {_several(len(ledger.entries), 'charge')}")
        )
        rows += _charges(study, ledger)
    return Section("Budget", tuple(rows))


def _charges(study: StudyStatement | None, ledger: LedgerStatement) -> Iterable[tuple[str, str]]:
    """Return the charges; beside a study only its own."""
    own = study is not None
    entries = [one for one in ledger.entries if study is None or one.name == study.charged_as]
    for one in entries[:_MOST_CHARGES]:
        yield ("This charge" if own else "Charge"), f"{_name(one.name)}: {one.guarantee}"
    if len(entries) > _MOST_CHARGES:
        yield "", f"and {len(entries) - _MOST_CHARGES:,} more charges, all counted above"


def _audits(audits: Sequence[AuditRecord], study: StudyStatement | None) -> Section:
    if not audits:
        none = "none was passed to this statement (sottovoce audit --out FOLDER makes one, --audit FOLDER passes it)"
        return Section("Audits on record", (("Audits", none),))
    return Section("Audits on record", tuple((f"{one.date:%Y-%m-%d}", _found(one, study)) for one in audits))


def _found(one: AuditRecord, study: StudyStatement | None) -> str:
    """Say what an audit found; of a study, how little attacks on studies like it could have seen, and on no others."""
    verdict = "nothing was refuted" if one.passed else f"REFUTED: {joined(map(_name, one.refuted))}"
    words = [f"{verdict}, in sottovoce {_name(one.sottovoce)}"]
    words.append(f"{_several(len(one.attacks), 'claim')} attacked, {one.checks:,} checks of proof and noise")
    if study is not None:
        words.append(_own_attack(one, study))
    if not one.complete:
        words.append("INCOMPLETE: it was interrupted")
    if one.simulated:
        words.append("with simulated noise: the arithmetic alone")
    if one.sottovoce != __version__:
        words.append(f"NOT of the version that made this page, {__version__}")
    return "; ".join(words) + f" (false alarm at most {significant(1 - one.confidence, 1)})"


def _own_attack(one: AuditRecord, study: StudyStatement) -> str:
    """Say what the attack on a study with the same mechanism could have noticed."""
    like = [found for found in one.attacks if found.kind == "study" and found.label.endswith(f", {study.mechanism}")]
    if not like:
        return f"no study like this one ({study.mechanism}) was attacked"
    best = min(like, key=lambda found: found.least_seen)
    could = (
        "only values without noise" if math.isinf(best.least_seen) else f"an epsilon of {best.least_seen:.3g} or more"
    )
    return f"of studies like this one, {best.runs:,} runs, which could have noticed {could}"


def _versions() -> Section:
    try:
        opendp = version("opendp")
    except PackageNotFoundError:
        opendp = "not installed"
    text = f"sottovoce {__version__}, OpenDP {opendp} (noise), Python {platform.python_version()}"
    return Section("Versions", (("On this machine", text),))


def _name(text: str) -> str:
    """Return a name as it can be shown anywhere: without what would move a cursor, and not for pages on end."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text))
    return shown if len(shown) <= _LONG else f"{shown[:_LONG]}..."


def _several(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _wrapped(before: str, text: str, *, indent: int = 4) -> str:
    return textwrap.fill(text, 100, initial_indent=before, subsequent_indent=" " * indent)
