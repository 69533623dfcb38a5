"""Pictures of what was found, and pages that hold them. Each is loaded when it is first used: figures take a while."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is written here for readers and type checkers happens below
    from sottovoce.report._reproduction_page import write_reproduction
    from sottovoce.report._statement import Statement
    from sottovoce.report.figures._audits import audit_figure
    from sottovoce.report.figures._decision_panels import decision_figure
    from sottovoce.report.figures._plan import plan_figure
    from sottovoce.report.figures._regret import regret_figure
    from sottovoce.report.html._ab_test_page import ab_test_report
    from sottovoce.report.html._run_page import run_report
    from sottovoce.report.html._statement_page import statement, statement_page
    from sottovoce.report.html._sweep_page import sweep_report

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
    "Statement": "_statement",
    "ab_test_report": "html._ab_test_page",
    "audit_figure": "figures._audits",
    "decision_figure": "figures._decision_panels",
    "plan_figure": "figures._plan",
    "regret_figure": "figures._regret",
    "run_report": "html._run_page",
    "statement": "html._statement_page",
    "statement_page": "html._statement_page",
    "sweep_report": "html._sweep_page",
    "write_reproduction": "_reproduction_page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sottovoce.report' has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(f"sottovoce.report.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
