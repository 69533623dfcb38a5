"""`sottovoce statement`: what a privacy officer signs, of a study or of a ledger."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sottovoce.auditing import read_audit
from sottovoce.cli.shared import Url, storage_url
from sottovoce.privacy import read_ledger
from sottovoce.studies import state_stored

NOTHING_TO_SIGN = 1


def statement_command(
    study: Annotated[str | None, typer.Argument(metavar="STUDY", help="A study; without it, a ledger.")] = None,
    storage: Url = None,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger that the study is charged to; alone: one page for all its charges.")
    ] = None,
    audit: Annotated[
        list[Path] | None, typer.Option(help="An audit.json of `sottovoce audit`, or its folder. May be repeated.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check all that is stored of the study, too.")] = False,
    out: Annotated[Path | None, typer.Option(help="A page to print and sign; without it, text is shown.")] = None,
) -> None:
    """State what is promised, to whom, against whom, what is spent and what is not covered: one page to sign.

    Reads, and changes nothing. Ends with code 1 if what is stored is damaged or an audit was refuted.
    """
    from sottovoce.report import statement  # slow to import

    if study is None and ledger is None:
        raise ValueError("name a study (with --storage), or pass --ledger FILE")
    if study is None and verify:
        raise ValueError("--verify is for studies: name one")
    if out is not None and out.is_dir():
        raise ValueError(f"out must be a file, and {out} is a folder")
    audits = [read_audit(path) for path in audit or []]
    charged = None if ledger is None else read_ledger(ledger)
    known = None if study is None else state_stored(storage_url(storage), study, verify=verify)
    if out is None:
        print(statement(known, ledger=charged, audits=audits))
    else:
        from sottovoce.report import statement_page  # takes the extra `plots`, unlike the text

        page = statement_page(out, known, ledger=charged, audits=audits)
        Console().print(f"wrote {page}", soft_wrap=True, highlight=False, markup=False)
    damaged = known is not None and known.verification is not None and not known.verification.ok
    if damaged or not all(one.passed for one in audits):
        raise typer.Exit(NOTHING_TO_SIGN)
