"""One-file HTML pages: of a run, or a few of them, and of a sweep."""

from sottovoce.report.html._run_page import run_report
from sottovoce.report.html._statement_page import statement, statement_page
from sottovoce.report.html._sweep_page import sweep_report

__all__ = ["run_report", "statement", "statement_page", "sweep_report"]
