"""`sottovoce domains`: the feasible sets that there are."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sottovoce.domains import all_domains


def domains_command() -> None:
    """Show the feasible sets that can be optimised over, and how they are written."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("domain", style="bold")
    table.add_column("written", no_wrap=True)
    table.add_column("")
    for family in all_domains():
        table.add_row(family.__name__, family.written or "in Python", family.summary())
    Console().print(table)
