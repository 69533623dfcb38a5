"""Figures as images: regret, plans, decisions, audits."""

from sottovoce.report.figures._audits import audit_figure
from sottovoce.report.figures._decision_panels import decision_figure
from sottovoce.report.figures._plan import plan_figure
from sottovoce.report.figures._regret import regret_figure

__all__ = ["audit_figure", "decision_figure", "plan_figure", "regret_figure"]
