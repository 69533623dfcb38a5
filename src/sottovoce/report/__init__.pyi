"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce.report._reproduction import write_reproduction as write_reproduction
from sottovoce.report._statement import (
    Statement as Statement,
    statement as statement,
)
from sottovoce.report._regret_figure import regret_figure as regret_figure
from sottovoce.report.html._run_page import run_report as run_report
from sottovoce.report.html._statement_page import statement_page as statement_page
from sottovoce.report.html.study_page import study_report as study_report
from sottovoce.report.html._sweep_page import sweep_report as sweep_report
