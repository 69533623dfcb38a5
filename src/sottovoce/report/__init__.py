"""Pictures of what was found, and pages that hold them."""

from sottovoce.report.audits import audit_figure
from sottovoce.report.decision_panels import decision_figure
from sottovoce.report.figures import regret_figure
from sottovoce.report.run_page import run_report
from sottovoce.report.sweep_page import sweep_report

__all__ = ["audit_figure", "decision_figure", "regret_figure", "run_report", "sweep_report"]
