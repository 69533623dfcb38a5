"""What the dashboard takes from the reports, so that both look alike: parts, templates, colours, the script."""

from sottovoce.report._numbers import short
from sottovoce.report.html._learned import Histories, Learned, look_learned
from sottovoce.report.html._page import script, style, templates
from sottovoce.report.html._pieces import Mark, Tile

__all__ = [
    "Histories",
    "Learned",
    "Mark",
    "Tile",
    "look_learned",
    "script",
    "short",
    "style",
    "templates",
]
