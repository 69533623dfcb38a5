"""Pictures of what was found, and pages that hold them."""

from sottovoce.report._reproduction_page import write_reproduction
from sottovoce.report.figures import audit_figure, decision_figure, plan_figure, regret_figure
from sottovoce.report.html import run_report, statement, statement_page, sweep_report

__all__ = [
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
