"""One-file HTML pages: of runs, of a sweep, of an A/B test, of a statement; each is loaded when it is first used."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is written here for readers and type checkers happens below
    from sottovoce.report.html._ab_test_page import ab_test_report
    from sottovoce.report.html._run_page import run_report
    from sottovoce.report.html._statement_page import statement, statement_page
    from sottovoce.report.html._sweep_page import sweep_report

__all__ = ["ab_test_report", "run_report", "statement", "statement_page", "sweep_report"]

_HOMES = {
    "ab_test_report": "_ab_test_page",
    "run_report": "_run_page",
    "statement": "_statement_page",
    "statement_page": "_statement_page",
    "sweep_report": "_sweep_page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sottovoce.report.html' has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(f"sottovoce.report.html.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
