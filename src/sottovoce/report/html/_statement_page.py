"""The page that a privacy officer signs: one sheet of paper, no script, nothing but public facts."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sottovoce.auditing import AuditRecord
from sottovoce.privacy import Ledger, LedgerStatement
from sottovoce.report._statement import statement
from sottovoce.report.html.page import write_page
from sottovoce.studies import Study, StudyStatement


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
