"""`sottovoce domains`: the feasible sets that there are."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sottovoce._parsing import written_domain
from sottovoce.domains import Domain, all_domains


def show_domains() -> None:
    """Show the feasible sets that can be optimised over, with the geometry of an example."""
    console = Console()
    console.print(domain_table())
    console.print(domain_words(), soft_wrap=True)


def domain_table() -> Table:
    """Return a table of all domains, with the geometry of an example of each."""
    table = Table(title="Domains, and the geometry of an example", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("domain", style="bold")
    table.add_column("example", no_wrap=True)
    for name in ("dimension", "affine", "inner\nradius", "outer\nradius"):
        table.add_column(name, justify="right")
    for family in all_domains():
        written, example = _example(family)
        table.add_row(
            family.__name__,
            written,
            str(example.dimension),
            str(example.affine_dimension),
            f"{example.inner_radius:.4g}",
            f"{example.outer_radius:.4g}",
        )
    return table


def domain_words() -> Text:
    """Return what each domain is, one line each."""
    families = all_domains()
    width = max(len(family.__name__) for family in families) + 2
    lines = [Text.assemble((f"{family.__name__:{width}}", "bold"), family.summary()) for family in families]
    return Text("\n").join(lines)


def _example(family: type[Domain]) -> tuple[str, Domain]:
    """Return a domain of the family, as it is written on the command line if it can be."""
    if family.written:
        return family.written, written_domain(family.written)
    return "in Python", family.examples()[0]
