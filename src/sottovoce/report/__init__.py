"""Pictures of what was found, and pages that hold them. Each is loaded when it is first used: figures take a while."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is written here for readers and type checkers happens below
    from sottovoce.report._reproduction_page import write_reproduction
    from sottovoce.report._statement import Statement
    from sottovoce.report.figures import audit_figure, decision_figure, plan_figure, regret_figure
    from sottovoce.report.html import ab_test_report, run_report, statement, statement_page, sweep_report

__all__ = [
    "Statement",
    "ab_test_report",
    "audit_figure",
    "decision_figure",
    "plan_figure",
    "regret_figure",
    "run_report",
    "statement",
    "statement_page",
    "sweep_report",
    "write_reproduction",
]

_HOMES = {
    **dict.fromkeys(("audit_figure", "decision_figure", "plan_figure", "regret_figure"), "sottovoce.report.figures"),
    **dict.fromkeys(
        ("ab_test_report", "run_report", "statement", "statement_page", "sweep_report"), "sottovoce.report.html"
    ),
    "Statement": "sottovoce.report._statement",
    "write_reproduction": "sottovoce.report._reproduction_page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sottovoce.report' has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
