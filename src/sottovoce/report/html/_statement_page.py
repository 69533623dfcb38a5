"""The page that a privacy officer signs: one sheet of paper, no script, nothing but public facts."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sottovoce.auditing import AuditRecord
from sottovoce.privacy import Ledger, LedgerStatement, state_ledger
from sottovoce.report._statement import Statement, put_together
from sottovoce.report.html._page import write_page
from sottovoce.studies import Study, StudyStatement

__all__ = ["statement", "statement_page"]


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
    known = study.statement() if isinstance(study, Study) else study
    charged = state_ledger(ledger) if isinstance(ledger, Ledger) else ledger
    return put_together(known, charged, audits, moment=moment)


def statement_page(
    path: str | os.PathLike[str],
    study: Study | StudyStatement | None = None,
    *,
    ledger: Ledger | LedgerStatement | None = None,
    audits: Sequence[AuditRecord] = (),
    moment: datetime | None = None,
) -> Path:
    """Write the statement as one HTML page, which a browser prints on one sheet of A4.

    Parameters
    ----------
    path : path
        Of the page.
    study, ledger, audits, moment
        As for `statement`.

    Returns
    -------
    Path
        Where the page is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sottovoce as sv
    >>> from sottovoce.report import statement_page
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> options = {"domain": sv.domains.Simplex(5), "horizon": 1000, "loss_range": (0.0, 1.0)}
    >>> with sv.Study.open(f"sqlite:///{folder / 'a.db'}", name="spring", privacy=sv.PureDP(1.0), **options) as study:
    ...     page = statement_page(folder / "statement.html", study)
    >>> "epsilon = 1, pure differential privacy" in page.read_text()
    True
    """
    return write_page(path, "statement.html", {"it": statement(study, ledger=ledger, audits=audits, moment=moment)})
