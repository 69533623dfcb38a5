"""Pictures of what was found."""

from sottovoce.report.audits import audit_figure
from sottovoce.report.figures import regret_figure

__all__ = ["audit_figure", "regret_figure"]
