"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce.report.figures._reproduction import write_reproduction as write_reproduction
from sottovoce.report._statement import (
    Statement as Statement,
    statement as statement,
)
from sottovoce.report.figures._audits import audit_figure as audit_figure
from sottovoce.report.figures._plan import plan_figure as plan_figure
from sottovoce.report.figures._regret import regret_figure as regret_figure
from sottovoce.report.html._ab_test_page import ab_test_report as ab_test_report
from sottovoce.report.html._run_page import run_report as run_report
from sottovoce.report.html._statement_page import statement_page as statement_page
from sottovoce.report.html.study_page import study_report as study_report
from sottovoce.report.html._sweep_page import sweep_report as sweep_report
