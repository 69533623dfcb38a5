"""`sottovoce domains`: the feasible sets that there are."""

from rich.console import Console

from sottovoce.cli import tables


def show_domains() -> None:
    """Show the feasible sets that can be optimised over, with the geometry of an example."""
    console = Console()
    console.print(tables.domain_table())
    console.print(tables.domain_words(), soft_wrap=True)
