"""Pictures of what was found."""

from sottovoce.report.figures import regret_figure

__all__ = ["regret_figure"]
