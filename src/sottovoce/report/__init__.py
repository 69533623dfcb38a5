"""Pictures of what was found, and pages that hold them. Each is loaded when it is first used: figures take a while."""

from typing import TYPE_CHECKING

from sottovoce._lazy import lazily

if TYPE_CHECKING:  # what is written here for readers and type checkers happens below
    from sottovoce.report._reproduction_page import write_reproduction
    from sottovoce.report._statement import Statement, statement
    from sottovoce.report.figures._audits import audit_figure
    from sottovoce.report.figures._decision_panels import decision_figure
    from sottovoce.report.figures._plan import plan_figure
    from sottovoce.report.figures._regret import regret_figure
    from sottovoce.report.html._ab_test_page import ab_test_report
    from sottovoce.report.html._run_page import run_report
    from sottovoce.report.html._statement_page import statement_page
    from sottovoce.report.html._study_page import study_report
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
    "study_report",
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
    "statement": "_statement",
    "statement_page": "html._statement_page",
    "study_report": "html._study_page",
    "sweep_report": "html._sweep_page",
    "write_reproduction": "_reproduction_page",
}

__getattr__, __dir__ = lazily(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()}, ())
