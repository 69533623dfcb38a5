"""What other pages take from the reports, so that all look alike: charts, drawings, templates, colours, the script."""

from sottovoce.report._charts import Axis, Curve, line_chart
from sottovoce.report._numbers import joined, short, significant
from sottovoce.report.html._beliefs import ShownBelief, show_belief
from sottovoce.report.html._drawings import Drawing, draw_decision
from sottovoce.report.html._page import script, style, templates
from sottovoce.report.html._pieces import Chart, ColumnHead, Table, TableCell, Tile, heads, number, text
from sottovoce.report.html._segments import ShownSegments, show_segments

__all__ = [
    "Axis",
    "Chart",
    "ColumnHead",
    "Curve",
    "Drawing",
    "ShownBelief",
    "ShownSegments",
    "Table",
    "TableCell",
    "Tile",
    "draw_decision",
    "heads",
    "joined",
    "line_chart",
    "number",
    "script",
    "short",
    "show_belief",
    "show_segments",
    "significant",
    "style",
    "templates",
    "text",
]
