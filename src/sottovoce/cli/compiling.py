"""`sottovoce compile`: machine code for this machine, beforehand."""

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from sottovoce._extras import load
from sottovoce.domains import Domain, all_domains


def compile_command() -> None:
    """Compile what is compiled on first use, once for this machine, so that no first call has to wait for it."""
    load("numba", "`sottovoce compile`")
    console = Console()
    families = all_domains()
    with Progress(TextColumn("compiling {task.description}"), BarColumn(bar_width=24), console=console) as bar:
        task = bar.add_task("", total=len(families))
        for family in families:
            bar.update(task, description=family.__name__)
            for domain in family.examples():
                use(domain)
            bar.advance(task)
        bar.update(task, description="done")


def use(domain: Domain) -> None:
    """Ask a set for all that kernels compute."""
    rng = np.random.default_rng(0)
    vertex = domain.extreme_point(np.abs(rng.standard_normal(domain.dimension)))
    domain.round(vertex, rng, 2)
    domain.round(domain.center, rng, 2)
